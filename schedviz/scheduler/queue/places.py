"""The places of the queue: which pod is in which lane, and each lane's own order.

Used by `scheduling_queue` only, which decides who goes where. A pod is in one place at most; everything costs O(log n).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.queue.active_queue import ActiveQueue, QueueKey
from schedviz.scheduler.queue.backoff_queue import BackoffQueue
from schedviz.scheduler.queue.lanes import QUEUED
from schedviz.scheduler.queue.waiting_pods import WaitingPods


class Places:
    """active, backoff, unschedulable, gated: what is there may be asked; it is put there and taken only by `put` and
    `take`. A held pod is among the gated ones, and no event concerns it."""

    def __init__(self, queue_key: QueueKey, config: QueueConfig) -> None:
        self.active = ActiveQueue(queue_key)
        self.backoff = BackoffQueue(
            queue_key,
            initial_seconds=config.initial_backoff_seconds,
            max_seconds=config.max_backoff_seconds,
        )
        self.unschedulable = WaitingPods()
        self.gated = WaitingPods()
        self.scheduling: dict[str, None] = {}
        self._where: dict[str, Lane] = {}

    def lane(self, uid: str) -> Lane | None:
        return self._where.get(uid)

    def uids(self, lane: Lane) -> Iterator[str]:
        """In the order of the lane; active: the next one first."""
        return iter(self._all()[lane])

    def counts(self) -> dict[Lane, int]:
        return {
            Lane.GATED: len(self.gated),
            Lane.UNSCHEDULABLE: len(self.unschedulable),
            Lane.BACKOFF: len(self.backoff),
            Lane.ACTIVE: len(self.active),
            Lane.SCHEDULING: len(self.scheduling),
        }

    def put(self, queued: QueuedPodInfo, lane: Lane) -> None:
        self._where[queued.uid] = lane
        if lane is Lane.ACTIVE:
            self.active.add(queued)
        elif lane is Lane.BACKOFF:
            self.backoff.add(queued)
        elif lane is Lane.GATED:
            self.gated.add(queued, set() if queued.hold else {queued.gating_plugin})
        elif lane is Lane.UNSCHEDULABLE:
            self.unschedulable.add(queued, queued.unschedulable_plugins | queued.pending_plugins)
        else:
            self.scheduling[queued.uid] = None

    def take(self, queued: QueuedPodInfo) -> Lane | None:
        """Where it was; None: nowhere."""
        where = self._where.pop(queued.uid, None)
        if where is Lane.ACTIVE:
            self.active.remove(queued)
        elif where is Lane.BACKOFF:
            self.backoff.remove(queued)
        elif where is Lane.GATED:
            self.gated.remove(queued)
        elif where is Lane.UNSCHEDULABLE:
            self.unschedulable.remove(queued)
        elif where is Lane.SCHEDULING:
            del self.scheduling[queued.uid]
        return where

    def check_invariants(self, pods: dict[str, QueuedPodInfo]) -> None:
        """Raises AssertionError when one of these pods is lost, in two places, or out of order."""
        assert self._where.keys() == pods.keys(), "a pod has no lane"
        for lane in (*QUEUED, Lane.SCHEDULING):
            here = list(self.uids(lane))
            assert len(here) == len(set(here)), f"a pod is twice in {lane}"
            assert set(here) == {uid for uid, where in self._where.items() if where is lane}
        for place in (self.active, self.backoff, self.gated, self.unschedulable):
            place.check_invariants()
        assert all(pods[uid].gating_plugin or pods[uid].hold for uid in self.gated)
        held = {uid for uid, queued in pods.items() if queued.hold}
        assert held <= set(self.gated), "a held pod may be popped"

    def _all(self) -> dict[Lane, Iterable[str]]:
        return {
            Lane.ACTIVE: self.active,
            Lane.BACKOFF: self.backoff,
            Lane.UNSCHEDULABLE: self.unschedulable,
            Lane.GATED: self.gated,
            Lane.SCHEDULING: self.scheduling,
        }
