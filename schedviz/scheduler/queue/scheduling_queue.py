"""The scheduling queue: who may be scheduled next, who waits, for what, and until when.

Every change of place comes out as a Move with its cause; `lanes` draws the places. Mirrors
pkg/scheduler/backend/queue/scheduling_queue.go (v1.36). Left out on purpose: locks, metrics and moveRequestCycle
(upstream needs it only when QueueingHints are off). An event wakes a waiting pod when a plugin that refused it says, by
its hint, that the event may help.

Assumption: `now` never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from schedviz.kube.objects import KubeObject, Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent, Happening
from schedviz.scheduler.framework.node_info import Hold, QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.status import Status
from schedviz.scheduler.framework.steps import Lane, Move, PodRef
from schedviz.scheduler.queue import lanes
from schedviz.scheduler.queue.active_queue import QueueKey
from schedviz.scheduler.queue.hints import Hints, Registrations
from schedviz.scheduler.queue.in_flight import InFlight
from schedviz.scheduler.queue.nominator import Nominator
from schedviz.scheduler.queue.places import Places

FORCE_ACTIVATE = ClusterEvent("*", ActionType.ALL)
FLUSH_LEFTOVERS_SECONDS = 30.0
RANK_STEP = 1e-5
"""Between pods that arrive at the same moment: ranks never tie, and there is room to put a pod between two."""


@dataclass(frozen=True, slots=True)
class _Why:
    """A Move's moment and reason. source: where the pod comes from when it is in none of the queue's lanes."""

    now: float
    cause: str
    detail: str = ""
    source: Lane | None = None


class SchedulingQueue:
    """Pods are known by uid. queue_key, pre_enqueue: the profile's; registrations: what may help the pods that a plugin
    refused."""

    def __init__(
        self,
        *,
        queue_key: QueueKey,
        pre_enqueue: Callable[[Pod], Status],
        registrations: Registrations,
        config: QueueConfig,
    ) -> None:
        self._pre_enqueue = pre_enqueue
        self._hints = Hints(registrations)
        self._config = config
        self._pods: dict[str, QueuedPodInfo] = {}
        self._places = Places(queue_key, config)
        self._in_flight = InFlight()
        self._next_leftovers: float | None = None
        self._last_rank = 0.0
        self.nominator = Nominator()
        self.touched: set[str] = set()
        """Pods that changed without a Move; whoever shows pods empties it."""

    # ---- reading ---------------------------------------------------------------------------------------------------

    def lane(self, uid: str) -> Lane | None:
        return self._places.lane(uid)

    def get(self, uid: str) -> QueuedPodInfo | None:
        return self._pods.get(uid)

    def __len__(self) -> int:
        return len(self._pods)

    def uids(self, lane: Lane) -> Iterator[str]:
        """In the order of the lane; active: the next one first."""
        return self._places.uids(lane)

    def counts(self) -> dict[Lane, int]:
        return self._places.counts()

    def position(self, uid: str) -> tuple[int, int]:
        """(place among the active pods of its priority, from 1; how many they are)."""
        return self._places.active.position(self._pods[uid])

    def next_due(self) -> float | None:
        """When `flush` next has something to do."""
        due = [self._places.backoff.next_due(), self._next_leftovers]
        return min((moment for moment in due if moment is not None), default=None)

    # ---- the world -------------------------------------------------------------------------------------------------

    def add(self, pod: Pod, now: float, *, known: QueuedPodInfo | None = None) -> list[Move]:
        """A pending pod arrived. `known`: what a takeover remembers of it."""
        if pod.uid in self._pods:
            return self.update(pod, now)
        queued = known or QueuedPodInfo(pod, timestamp=now, rank=self._next_rank(now))
        queued.pod = pod
        self._pods[pod.uid] = queued
        self.nominator.add(pod)
        return [self._move_gently(queued, _Why(now, "PodAdd"))]

    def update(self, pod: Pod, now: float, events: Iterable[ClusterEvent] = ()) -> list[Move]:
        """The pod changed. `events`: what in it changed; a waiting pod moves only if that may help it."""
        queued = self._pods[pod.uid]
        where = self._places.lane(pod.uid)
        self.nominator.update(queued.pod, pod)
        if where is Lane.ACTIVE:  # its place may depend on what changed
            self._places.active.remove(queued)
            queued.pod = pod
            self._places.active.add(queued)
            return []
        before, queued.pod = queued.pod, pod
        if where is Lane.GATED and pod.scheduling_gates != before.scheduling_gates:
            return self._ungate(queued, _Why(now, "PodUpdate"))
        for event in events:
            happened = Happening(event, "the pod itself", before, pod)
            if where is Lane.SCHEDULING:
                self._in_flight.note_own(pod.uid, happened)
            elif where is Lane.UNSCHEDULABLE and (helped := self._helped(queued, happened)):
                why = _Why(now, event.label, f"{happened.detail} ({helped})")
                return [self._wake(queued, helped, why)]
        return []

    def delete(
        self,
        uid: str,
        now: float,
        cause: str = "PodDelete",
        *,
        target: Lane = Lane.GONE,
        detail: str = "",
    ) -> list[Move]:
        """The pod needs no scheduling any more: it is gone, or (`target`) bound or unreadable."""
        queued = self._pods.get(uid)
        if queued is None:
            return []
        source = self._places.take(queued)
        lanes.check(queued.pod, source, target)
        self._in_flight.end(uid)
        self.nominator.delete(uid)
        del self._pods[uid]
        return [Move(now, PodRef.of(queued.pod), source, target, cause, detail)]

    def move_all(
        self,
        event: ClusterEvent,
        now: float,
        detail: str = "",
        *,
        old: KubeObject | None = None,
        new: KubeObject | None = None,
        apart_from: str = "",
    ) -> list[Move]:
        """Wake the waiting pods that this event may help; pods in flight hear of it when they come back. old, new: what
        the event happened to, as a hint wants to see it; apart_from: uid of a pod that stays where it is."""
        happened = Happening(event, detail, old, new)
        self._in_flight.note(happened)
        plugins = self._hints.plugins_for(event)
        if not plugins:
            return []
        moves = []
        for queued in self._places.gated.of(plugins):
            if self._hints.helped(queued.pod, {queued.gating_plugin}, happened):
                moves += self._ungate(queued, _Why(now, event.label, detail))
        for queued in self._places.unschedulable.of(plugins):
            if queued.uid != apart_from and (helped := self._helped(queued, happened)):
                why = _Why(now, event.label, f"{detail} ({helped})".lstrip())
                moves.append(self._wake(queued, helped, why))
        return moves

    def activate(self, uids: Iterable[str], now: float, detail: str = "") -> list[Move]:
        """A plugin wants these pods tried, whatever they wait for; one in flight will not wait when it comes back."""
        moves = []
        for uid in sorted(uids):
            where = self._places.lane(uid)
            if uid in self._in_flight:
                self._in_flight.note_own(uid, Happening(FORCE_ACTIVATE, detail))
            elif where in (Lane.UNSCHEDULABLE, Lane.BACKOFF):
                why = _Why(now, "ForceActivate", detail)
                moves.append(self._admit(self._pods[uid], Lane.ACTIVE, why))
            elif where is Lane.GATED:
                moves += self._ungate(self._pods[uid], _Why(now, "ForceActivate", detail))
        return moves

    # ---- time ------------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> list[Move]:
        """Backoffs that are over; every 30 s the pods that waited 5 minutes for an event."""
        moves = [
            self._move(queued, Lane.ACTIVE, _Why(now, "BackoffComplete"))
            for queued in self._places.backoff.completed(now)
        ]
        if self._next_leftovers is None or now < self._next_leftovers:
            return moves
        limit = now - self._config.max_in_unschedulable_seconds
        for queued in self._places.unschedulable.since(limit):
            moves.append(self._move_gently(queued, _Why(now, "UnschedulableTimeout")))
        self._next_leftovers = now + FLUSH_LEFTOVERS_SECONDS if self._places.unschedulable else None
        return moves

    # ---- the cycle -------------------------------------------------------------------------------------------------

    def pop(self, now: float) -> tuple[QueuedPodInfo, Move] | None:
        """The next pod to schedule; with nothing active, the rejected pod whose backoff ends first."""
        queued, cause = self._places.active.first(), "Popped"
        if queued is None:
            queued, cause = self._places.backoff.first_rejected(), "PopFromBackoffQ"
        if queued is None:
            return None
        queued.attempts += 1
        move = self._move(queued, Lane.SCHEDULING, _Why(now, cause))
        self._in_flight.begin(queued.uid)
        queued.unschedulable_plugins = set()
        queued.pending_plugins = set()
        queued.gating_plugin = queued.moved_by = ""
        return queued, move

    def add_unschedulable(
        self, queued: QueuedPodInfo, now: float, *, source: Lane = Lane.SCHEDULING
    ) -> list[Move]:
        """An attempt ended without a bound pod. Rejected (`unschedulable_plugins` says by whom): wait for an event,
        unless one came meanwhile; an error: backoff. `source` BINDING: the pod had left the queue with `assume`."""
        is_here = self._pods.get(queued.uid) is queued and queued.uid in self._places.scheduling
        if is_here is not (source is Lane.SCHEDULING):
            return []
        self._pods[queued.uid] = queued
        if source is Lane.BINDING:
            self.nominator.add(queued.pod)
        happened = self._in_flight.end(queued.uid)
        queued.timestamp = now
        queued.rank = self._next_rank(now)
        if queued.unschedulable_plugins or queued.pending_plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors_count = 0
        else:
            queued.consecutive_errors_count += 1
        self._places.backoff.start(queued)
        return [self._again(queued, happened, _Why(now, "ScheduleAttemptFailure", source=source))]

    def _again(self, queued: QueuedPodInfo, meanwhile: list[Happening], why: _Why) -> Move:
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return self._move_gently(queued, replace(why, detail="no plugin refused the pod"))
        for happened in meanwhile:
            if happened.event is FORCE_ACTIVATE:
                why = replace(why, cause="ForceActivate", detail=happened.detail)
                return self._move_gently(queued, why)
            if helped := self._helped(queued, happened):
                detail = f"{happened.detail} ({helped}), while the pod was being scheduled"
                why = replace(why, cause=happened.event.label, detail=detail)
                return self._wake(queued, helped, why)
        return self._move(queued, Lane.UNSCHEDULABLE, why)

    def assume(self, uid: str) -> None:
        """The pod has its node and leaves the lanes; it stays in flight until `done`."""
        self._places.take(self._pods[uid])
        self.nominator.delete(uid)
        del self._pods[uid]

    def done(self, uid: str) -> None:
        """Nothing that happens from now on matters for this attempt."""
        self._in_flight.end(uid)

    def preempted(self, uid: str, now: float, failure: str = "") -> list[Move]:
        """The pod's victims have been asked to go. failure: why one was not; then it is tried like after an error."""
        queued, where = self._pods.get(uid), self._places.lane(uid)
        if queued is None or where not in (Lane.GATED, Lane.UNSCHEDULABLE):
            return []
        if not failure:
            return self._ungate(queued, _Why(now, "PreemptionDone")) if where is Lane.GATED else []
        queued.unschedulable_plugins, queued.message = set(), failure
        queued.consecutive_errors_count += 1
        self._places.backoff.start(queued)
        return [self._move_gently(queued, _Why(now, "PreemptionFailed", failure))]

    # ---- operators -------------------------------------------------------------------------------------------------

    def hold(self, uid: str, hold: Hold) -> Move:
        """Out of all that may be popped, until it is released."""
        queued = self._pods[uid]
        queued.hold, queued.retry_at = hold, None
        return self._move(queued, Lane.GATED, _Why(hold.since, "Command/hold", hold.said))

    def release(self, uid: str, now: float, by: str) -> Move:
        """PreEnqueue is asked again; if it has nothing against it, the pod is active."""
        queued = self._pods[uid]
        queued.hold = None
        return self._admit(queued, Lane.ACTIVE, _Why(now, "Command/release", by))

    def retry(self, uid: str, now: float, by: str, cause: str = "Command/retry") -> Move:
        """From backoff or unschedulable to active at once."""
        return self._admit(self._pods[uid], Lane.ACTIVE, _Why(now, cause, by))

    def can_place(self, uid: str) -> bool:
        return self._places.active.can_place(self._pods[uid])

    def move(self, uid: str, to: int, by: str, now: float) -> Move:
        """To position `to` (from 1) among the active pods of its priority."""
        queued = self._pods[uid]
        self.touched.update(other.uid for other in self._places.active.place(queued, to))
        queued.moved_by = by
        return Move(now, PodRef.of(queued.pod), Lane.ACTIVE, Lane.ACTIVE, "Command/move", by)

    def move_back(self, uid: str, rank: float, moved_by: str, by: str, now: float) -> Move:
        """Undo a move: the rank that the pod had before, and what was said of it."""
        queued = self._pods[uid]
        self._places.active.remove(queued)
        queued.rank, queued.moved_by = rank, moved_by
        self._places.active.add(queued)
        return Move(now, PodRef.of(queued.pod), Lane.ACTIVE, Lane.ACTIVE, "Command/undo", by)

    # ---- who hears what --------------------------------------------------------------------------------------------

    def _helped(self, queued: QueuedPodInfo, happened: Happening) -> str:
        """The plugin that refused the pod and may think otherwise now, or ""; pending ones first."""
        for refused in (queued.pending_plugins, queued.unschedulable_plugins):
            if helped := self._hints.helped(queued.pod, refused, happened):
                return helped
        return ""

    # ---- places ----------------------------------------------------------------------------------------------------

    def _wake(self, queued: QueuedPodInfo, helped: str, why: _Why) -> Move:
        """To active, or to backoff while its time is not up; a pod that the plugin holds pending need not wait."""
        if helped in queued.pending_plugins:
            return self._admit(queued, Lane.ACTIVE, why)
        return self._move_gently(queued, why)

    def _move_gently(self, queued: QueuedPodInfo, why: _Why) -> Move:
        target = (
            Lane.BACKOFF if self._places.backoff.is_backing_off(queued, why.now) else Lane.ACTIVE
        )
        return self._admit(queued, target, why)

    def _admit(self, queued: QueuedPodInfo, target: Lane, why: _Why) -> Move:
        """To `target`, or to gated when it is held or PreEnqueue says so; a pod in backoff has been asked already."""
        if queued.hold:
            return self._move(queued, Lane.GATED, replace(why, detail=queued.hold.said))
        if self._places.lane(queued.uid) is not Lane.BACKOFF:
            status = self._pre_enqueue(queued.pod)
            if not status.is_success:
                queued.gating_plugin, queued.message = status.plugin, status.message
                return self._move(queued, Lane.GATED, replace(why, detail=status.message))
            queued.gating_plugin = ""
        return self._move(queued, target, why)

    def _ungate(self, queued: QueuedPodInfo, why: _Why) -> list[Move]:
        """Ask again; nothing happens when the answer is the same, or when the pod is held."""
        if queued.hold:
            return []
        status = self._pre_enqueue(queued.pod)
        if status.plugin == queued.gating_plugin and status.message == queued.message:
            return []
        if status.is_success:
            queued.message = ""
        return [self._move_gently(queued, why)]

    def _move(self, queued: QueuedPodInfo, target: Lane, why: _Why) -> Move:
        source = self._places.take(queued) or why.source
        lanes.check(queued.pod, source, target)
        queued.timestamp = why.now
        if target in (Lane.ACTIVE, Lane.SCHEDULING):
            queued.retry_at = None
        if target is Lane.ACTIVE:
            queued.initial_attempt_timestamp = queued.initial_attempt_timestamp or why.now
        if target is Lane.UNSCHEDULABLE and self._next_leftovers is None:
            self._next_leftovers = why.now + FLUSH_LEFTOVERS_SECONDS
        self._places.put(queued, target)
        return Move(why.now, PodRef.of(queued.pod), source, target, why.cause, why.detail)

    def _next_rank(self, now: float) -> float:
        self._last_rank = max(now, self._last_rank + RANK_STEP)
        return self._last_rank

    def check_invariants(self) -> None:
        """Raises AssertionError when a pod is lost, in two places, or out of order."""
        self._places.check_invariants(self._pods)
        assert set(self._places.scheduling) <= set(self._in_flight)
        assert self._next_leftovers is not None or not self._places.unschedulable
        self.nominator.check_invariants()
        nominated = {uid for pods in self.nominator.by_node.values() for uid in pods}
        assert nominated <= self._pods.keys(), "a pod that does not wait is nominated"
