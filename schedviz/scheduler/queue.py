"""Pods on their way to a node: activeQ, podBackoffQ, unschedulablePods and the gated ones.

Filled by `event_handlers`, popped and refilled by `schedule_one`, touched by operators' commands; every change of place
comes out as a Move with its cause. Mirrors pkg/scheduler/backend/queue (v1.36). Left out on purpose: locks, metrics.

                 +--------- gates gone ----------+
                 |                               v
    add ---> [gated]        add ------------> [active] --- pop ---> [scheduling] ---> binding ---> bound
                                                ^  ^                    |    (the two last are the scheduler's)
               retry, timeout, event (no wait)  |  | time is up         | rejected: waits for an event or 5 minutes
                 +------------------------------+  |                    | error, or an event came meanwhile: backoff
                 |                                 |                    |
         [unschedulable] --- event, still waiting -> [backoff] <--------+

Assumption: `now` never goes back. The order in `active` is the profile's QueueSort key, then arrival.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sortedcontainers import SortedKeyList

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import ClusterEvent
from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.status import Status
from schedviz.scheduler.framework.steps import Lane, Move, PodRef

QUEUED = (Lane.GATED, Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.ACTIVE)
# Where a pod may go from where it is; None: it is not in the queue.
TRANSITIONS: dict[Lane | None, frozenset[Lane]] = {
    None: frozenset({Lane.ACTIVE, Lane.GATED}),
    Lane.GATED: frozenset({Lane.ACTIVE, Lane.GATED, Lane.GONE}),
    Lane.UNSCHEDULABLE: frozenset({Lane.ACTIVE, Lane.BACKOFF, Lane.GATED, Lane.GONE}),
    Lane.BACKOFF: frozenset({Lane.ACTIVE, Lane.GATED, Lane.SCHEDULING, Lane.GONE}),
    Lane.ACTIVE: frozenset({Lane.SCHEDULING, Lane.GATED, Lane.GONE}),
    Lane.SCHEDULING: frozenset(
        {Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.ACTIVE, Lane.GATED, Lane.GONE}
    ),
}
FLUSH_LEFTOVERS_SECONDS = 30.0


@dataclass(slots=True)
class _InFlight:
    queued: QueuedPodInfo
    events: list[ClusterEvent] = field(default_factory=list)


class SchedulingQueue:
    """Pods are known by uid. queue_key, pre_enqueue: the profile's; events_of: plugin -> what may help its pods."""

    def __init__(
        self,
        *,
        queue_key: Callable[[QueuedPodInfo], Any],
        pre_enqueue: Callable[[Pod], Status],
        events_of: Mapping[str, tuple[ClusterEvent, ...]],
        config: QueueConfig,
    ) -> None:
        self._queue_key = queue_key
        self._pre_enqueue = pre_enqueue
        self._events_of = events_of
        self._config = config
        self._arrivals = itertools.count()
        self._keys: dict[str, Any] = {}
        self._where: dict[str, Lane] = {}
        self._lanes: dict[Lane, dict[str, None]] = {lane: {} for lane in (*QUEUED, Lane.SCHEDULING)}
        self._pods: dict[str, QueuedPodInfo] = {}
        self._active: Any = SortedKeyList(key=lambda uid: self._keys[uid])
        self._backoff: Any = SortedKeyList(key=lambda uid: (self._pods[uid].retry_at or 0.0, uid))
        self._in_flight: dict[str, _InFlight] = {}
        self._next_leftovers: float | None = None

    # ---- reading ---------------------------------------------------------------------------------------------------

    def lane(self, uid: str) -> Lane | None:
        return self._where.get(uid)

    def get(self, uid: str) -> QueuedPodInfo | None:
        return self._pods.get(uid)

    def __len__(self) -> int:
        return len(self._pods)

    def uids(self, lane: Lane) -> Iterator[str]:
        if lane is Lane.ACTIVE:
            return iter(self._active)
        return iter(self._lanes[lane])

    def counts(self) -> dict[Lane, int]:
        return {lane: len(uids) for lane, uids in self._lanes.items()}

    def position(self, uid: str) -> tuple[int, int]:
        """(place among the pods of its priority in activeQ, from 1; how many they are)."""
        start, end = self._band(self._pods[uid])
        return self._active.index(uid) - start + 1, end - start

    def next_due(self) -> float | None:
        """When `flush` next has something to do."""
        due = [self._next_leftovers] if self._next_leftovers is not None else []
        if self._backoff:
            due.append(self._pods[self._backoff[0]].retry_at or 0.0)
        return min(due, default=None)

    # ---- the world -------------------------------------------------------------------------------------------------

    def add(self, pod: Pod, now: float, *, known: QueuedPodInfo | None = None) -> list[Move]:
        """A pending pod arrived. `known`: what a takeover remembers of it."""
        if pod.uid in self._pods:
            return self.update(pod, now)
        queued = known or QueuedPodInfo(pod, timestamp=now, rank=now)
        queued.pod = pod
        self._pods[pod.uid] = queued
        return self._enqueue(queued, now, "PodAdd")

    def update(self, pod: Pod, now: float, events: Iterable[ClusterEvent] = ()) -> list[Move]:
        """The pod changed. `events`: what in it changed; a waiting pod moves only if that may help it."""
        queued = self._pods[pod.uid]
        where = self._where[pod.uid]
        before, queued.pod = queued.pod, pod
        if where is Lane.SCHEDULING:
            self._in_flight[pod.uid].events.extend(events)
            return []
        if where is Lane.GATED:
            return (
                self._enqueue(queued, now, "PodUpdate")
                if pod.scheduling_gates != before.scheduling_gates
                else []
            )
        if where is Lane.ACTIVE and pod.priority != before.priority:
            self._leave(queued)
            return [self._enter(queued, Lane.ACTIVE, now, "PodUpdate", source=None)]
        if where is Lane.UNSCHEDULABLE:
            event = next((e for e in events if self._may_help(queued, e)), None)
            return [] if event is None else [self._wake(queued, now, event.label, pod.key)]
        return []

    def delete(self, uid: str, now: float, cause: str = "PodDelete") -> list[Move]:
        """The pod is gone (or needs no scheduling any more)."""
        queued = self._pods.get(uid)
        if queued is None:
            return []
        source = self._leave(queued)
        self._drop(uid)
        return [Move(now, PodRef.of(queued.pod), source, Lane.GONE, cause)]

    def move_all(self, event: ClusterEvent, now: float, detail: str = "") -> list[Move]:
        """Wake the unschedulable pods that this event may help; pods in flight remember it."""
        for flight in self._in_flight.values():
            flight.events.append(event)
        waiting = [self._pods[uid] for uid in self.uids(Lane.UNSCHEDULABLE)]
        return [
            self._wake(queued, now, event.label, detail)
            for queued in waiting
            if self._may_help(queued, event)
        ]

    # ---- time ------------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> list[Move]:
        """Backoffs that are over; every 30 s the pods that waited 5 minutes for an event."""
        moves = []
        while self._backoff and (self._pods[self._backoff[0]].retry_at or 0.0) <= now:
            moves.append(self._activate(self._pods[self._backoff[0]], now, "BackoffComplete"))
        if self._next_leftovers is None or now < self._next_leftovers:
            return moves
        limit = now - self._config.max_in_unschedulable_seconds
        for uid in list(self.uids(Lane.UNSCHEDULABLE)):
            if self._pods[uid].timestamp <= limit:
                moves.append(self._wake(self._pods[uid], now, "UnschedulableTimeout", ""))
        left = self._lanes[Lane.UNSCHEDULABLE]
        self._next_leftovers = now + FLUSH_LEFTOVERS_SECONDS if left else None
        return moves

    # ---- the cycle -------------------------------------------------------------------------------------------------

    def pop(self, now: float) -> tuple[QueuedPodInfo, Move] | None:
        """The next pod to schedule; with nothing active, the rejected pod whose backoff ends first."""
        queued = self._first()
        if queued is None:
            return None
        queued.attempts += 1
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = now
        move = self._move(queued, Lane.SCHEDULING, now, "Popped")
        self._in_flight[queued.uid] = _InFlight(queued)
        queued.unschedulable_plugins = set()
        queued.pending_plugins = set()
        queued.moved_by = ""
        return queued, move

    def _first(self) -> QueuedPodInfo | None:
        if self._active:
            return self._pods[self._active[0]]
        for uid in self._backoff:
            if not self._pods[uid].consecutive_errors_count:
                return self._pods[uid]
        return None

    def add_unschedulable(self, queued: QueuedPodInfo, now: float) -> list[Move]:
        """A cycle ended without a node. Rejected (unschedulable_plugins says by whom): wait for an event, unless one
        came meanwhile; an error: backoff."""
        if queued.uid not in self._in_flight or self._pods.get(queued.uid) is not queued:
            return []
        events = self._in_flight.pop(queued.uid).events
        queued.timestamp = queued.rank = now
        is_rejected = bool(queued.unschedulable_plugins or queued.pending_plugins)
        if is_rejected:
            queued.unschedulable_count += 1
            queued.consecutive_errors_count = 0
        else:
            queued.consecutive_errors_count += 1
        queued.retry_at = now + self.backoff_seconds(queued)
        if not is_rejected:
            return [self._move(queued, Lane.BACKOFF, now, "ScheduleAttemptFailure", "error")]
        event = next((e for e in events if self._may_help(queued, e)), None)
        if event is not None:
            return [
                self._move(
                    queued, Lane.BACKOFF, now, event.label, "while the pod was being scheduled"
                )
            ]
        return [self._move(queued, Lane.UNSCHEDULABLE, now, "ScheduleAttemptFailure")]

    def done(self, uid: str) -> None:
        """The pod left the queue for good: it is assumed on a node, or its cycle was for nothing."""
        self._in_flight.pop(uid, None)
        if self._where.get(uid) is Lane.SCHEDULING:
            self._drop(uid)

    def readmit(self, queued: QueuedPodInfo, now: float) -> None:
        """A pod whose binding failed is in flight again, so that `add_unschedulable` takes it."""
        self._pods[queued.uid] = queued
        self._put(queued.uid, Lane.SCHEDULING)
        self._in_flight.setdefault(queued.uid, _InFlight(queued))

    def backoff_seconds(self, queued: QueuedPodInfo) -> float:
        """Doubling from the initial to the maximum; errors in a row count by themselves."""
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if not count:
            return 0.0
        seconds = self._config.initial_backoff_seconds * 2.0 ** min(count - 1, 62)
        return min(seconds, self._config.max_backoff_seconds)

    # ---- operators -------------------------------------------------------------------------------------------------

    def retry(self, uid: str, now: float, by: str) -> Move:
        """From backoff or unschedulable to active at once."""
        return self._activate(self._pods[uid], now, "Command/retry", by)

    def move(self, uid: str, to: int, by: str, now: float) -> Move:
        """To position `to` (from 1) among the active pods of its priority."""
        queued = self._pods[uid]
        start, end = self._band(queued)
        self._leave(queued)
        last = end - 1
        index = start + max(1, min(to, last - start + 1)) - 1
        queued.rank = self._rank_at(index, start, last)
        queued.moved_by = by
        return self._enter(queued, Lane.ACTIVE, now, "Command/move", by, source=Lane.ACTIVE)

    def _band(self, queued: QueuedPodInfo) -> tuple[int, int]:
        """[start, end) of the pod's priority in activeQ."""
        priority = queued.pod.priority
        low = self._active.bisect_key_left(((-priority, float("-inf")), -1))
        return low, self._active.bisect_key_left(((-priority, float("inf")), -1))

    def _rank_at(self, index: int, start: int, end: int) -> float:
        """A rank that sorts before the pod now at `index` and after the one before it, within [start, end)."""
        ranks = [self._pods[self._active[i]].rank for i in (index - 1, index) if start <= i < end]
        if start == end:
            return 0.0
        if index == start:
            return ranks[0] - 1.0
        if index == end:
            return ranks[-1] + 1e-6
        middle = (ranks[0] + ranks[1]) / 2
        if ranks[0] < middle < ranks[1]:
            return middle
        self._spread(start, index)
        return ranks[1] - 0.5

    def _spread(self, start: int, index: int) -> None:
        """Make room before `index`: pods in front of it move a second forward each, keeping their order."""
        front = [self._pods[self._active[i]] for i in range(start, index)]
        base = self._pods[self._active[index]].rank
        for queued in front:
            self._active.remove(queued.uid)
        for n, queued in enumerate(front):
            queued.rank = base - (len(front) - n)
            self._sort_in(queued)

    # ---- places ----------------------------------------------------------------------------------------------------

    def _may_help(self, queued: QueuedPodInfo, event: ClusterEvent) -> bool:
        for plugin in queued.unschedulable_plugins | queued.pending_plugins:
            registered = self._events_of.get(plugin, ())
            if not registered or any(event.matches(one) for one in registered):
                return True
        return False

    def _wake(self, queued: QueuedPodInfo, now: float, cause: str, detail: str) -> Move:
        if queued.retry_at is not None and queued.retry_at > now:
            return self._move(queued, Lane.BACKOFF, now, cause, detail)
        return self._activate(queued, now, cause, detail)

    def _activate(self, queued: QueuedPodInfo, now: float, cause: str, detail: str = "") -> Move:
        return self._enqueue(queued, now, cause, detail)[-1]

    def _enqueue(
        self, queued: QueuedPodInfo, now: float, cause: str, detail: str = ""
    ) -> list[Move]:
        """To active, or to gated when PreEnqueue says so."""
        status = self._pre_enqueue(queued.pod)
        if status.is_success:
            queued.gating_plugin = ""
            return [self._move(queued, Lane.ACTIVE, now, cause, detail)]
        is_same = self._where.get(queued.uid) is Lane.GATED and queued.message == status.message
        queued.gating_plugin, queued.message = status.plugin, status.message
        return [] if is_same else [self._move(queued, Lane.GATED, now, cause, status.message)]

    def _move(
        self, queued: QueuedPodInfo, target: Lane, now: float, cause: str, detail: str = ""
    ) -> Move:
        source = self._leave(queued)
        return self._enter(queued, target, now, cause, detail, source=source)

    def _leave(self, queued: QueuedPodInfo) -> Lane | None:
        where = self._where.get(queued.uid)
        if where is Lane.ACTIVE:
            self._active.remove(queued.uid)
        elif where is Lane.BACKOFF:
            self._backoff.remove(queued.uid)
        elif where is Lane.SCHEDULING:
            self._in_flight.pop(queued.uid, None)
        return where

    def _enter(
        self,
        queued: QueuedPodInfo,
        target: Lane,
        now: float,
        cause: str,
        detail: str = "",
        *,
        source: Lane | None,
    ) -> Move:
        if source is not target and target not in TRANSITIONS[source]:
            raise ValueError(f"{queued.pod.key}: {source} to {target} is not a transition")
        self._put(queued.uid, target)
        if target is not Lane.SCHEDULING:
            queued.timestamp = (
                now if target is not Lane.ACTIVE or source is None else queued.timestamp
            )
        if target in (Lane.ACTIVE, Lane.SCHEDULING):
            queued.retry_at = None
        if target is Lane.ACTIVE:
            self._sort_in(queued)
        elif target is Lane.BACKOFF:
            self._backoff.add(queued.uid)
        elif target is Lane.UNSCHEDULABLE and self._next_leftovers is None:
            self._next_leftovers = now + FLUSH_LEFTOVERS_SECONDS
        return Move(now, PodRef.of(queued.pod), source, target, cause, detail)

    def _put(self, uid: str, lane: Lane) -> None:
        before = self._where.get(uid)
        if before is not None:
            del self._lanes[before][uid]
        self._where[uid] = lane
        self._lanes[lane][uid] = None

    def _drop(self, uid: str) -> None:
        del self._lanes[self._where.pop(uid)][uid]
        del self._pods[uid]
        self._keys.pop(uid, None)

    def _sort_in(self, queued: QueuedPodInfo) -> None:
        self._keys[queued.uid] = (self._queue_key(queued), next(self._arrivals))
        self._active.add(queued.uid)

    def check_invariants(self) -> None:
        """Raises AssertionError when a pod is lost, in two places, or out of order."""
        assert self._where.keys() == self._pods.keys()
        assert set(self._active) == set(self.uids(Lane.ACTIVE)) and len(set(self._active)) == len(
            self._active
        )
        assert {u for u, w in self._where.items() if w is Lane.ACTIVE} == set(self._active)
        assert {u for u, w in self._where.items() if w is Lane.BACKOFF} == set(self._backoff)
        assert {u for u, w in self._where.items() if w is Lane.SCHEDULING} == set(self._in_flight)
        keys = [self._queue_key(self._pods[uid]) for uid in self._active]
        assert keys == sorted(keys), "activeQ is out of order"
        assert all(self._pods[uid].retry_at is not None for uid in self._backoff)
