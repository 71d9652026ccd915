"""activeQ: the pods that are ready to be scheduled, in the profile's QueueSort order, then in order of arrival.

Used by `scheduling_queue`. Mirrors pkg/scheduler/backend/queue/active_queue.go (v1.36); what is ours is that a pod can
be put at a place among the pods of its priority. Everything costs O(log n).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from sortedcontainers import SortedKeyList

from schedviz.scheduler.framework.node_info import QueuedPodInfo

QueueKey = Callable[[QueuedPodInfo], Any]


class ActiveQueue:
    """A pod's key is taken when it is added: to change what it depends on, remove the pod first."""

    def __init__(self, queue_key: QueueKey) -> None:
        self._queue_key = queue_key
        self._arrivals = itertools.count()
        self._keys: dict[str, Any] = {}
        self._pods: dict[str, QueuedPodInfo] = {}
        self._order: Any = SortedKeyList(key=self._keys.__getitem__)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        """Uids, the next one to be scheduled first."""
        return iter(self._order)

    def add(self, queued: QueuedPodInfo) -> None:
        self._keys[queued.uid] = (self._queue_key(queued), next(self._arrivals))
        self._pods[queued.uid] = queued
        self._order.add(queued.uid)

    def remove(self, queued: QueuedPodInfo) -> None:
        self._order.remove(queued.uid)
        del self._keys[queued.uid], self._pods[queued.uid]

    def first(self) -> QueuedPodInfo | None:
        return self._pods[self._order[0]] if self._order else None

    # ---- places among the pods of one priority ---------------------------------------------------------------------

    def can_place(self, queued: QueuedPodInfo) -> bool:
        """Whether the order within a priority is by rank (PrioritySort), so that a rank can change it."""
        return bool(self._queue_key(queued) == (-queued.pod.priority, queued.rank))

    def position(self, queued: QueuedPodInfo) -> tuple[int, int]:
        """(place from 1, how many pods of this priority there are)."""
        start, end = self._band(queued.pod.priority)
        return self._order.index(queued.uid) - start + 1, end - start

    def place(self, queued: QueuedPodInfo, position: int) -> list[QueuedPodInfo]:
        """Put the pod at this place; gives the other pods whose rank had to change for it."""
        self.remove(queued)
        start, end = self._band(queued.pod.priority)
        index = start + max(1, min(position, end - start + 1)) - 1
        queued.rank, changed = self._rank_at(index, start, end, queued.rank)
        self.add(queued)
        return changed

    def _band(self, priority: int) -> tuple[int, int]:
        """[start, end) of a priority."""
        below, above = float("-inf"), float("inf")
        return (
            self._order.bisect_key_left(((-priority, below), -1)),
            self._order.bisect_key_left(((-priority, above), -1)),
        )

    def _rank_at(
        self, index: int, start: int, end: int, rank: float
    ) -> tuple[float, list[QueuedPodInfo]]:
        """A rank between the pods now at `index - 1` and at `index`."""
        if start == end:
            return rank, []
        if index == start:
            return self._pods[self._order[start]].rank - 1.0, []
        before = self._pods[self._order[index - 1]].rank
        if index == end:
            return before + 1e-3, []
        after = self._pods[self._order[index]].rank
        middle = (before + after) / 2
        if before < middle < after:
            return middle, []
        return self._make_room(start, index, after)

    def _make_room(self, start: int, index: int, after: float) -> tuple[float, list[QueuedPodInfo]]:
        """Spread the pods in front of `index`, keeping their order: as few of them as have room enough together."""
        n, tight = 1, 16 * math.ulp(after)
        while True:
            first = max(start, index - n)
            front = [self._pods[self._order[i]] for i in range(first, index)]
            before = after - len(front) - 2.0
            if first > start:
                before = self._pods[self._order[first - 1]].rank
            gap = (after - before) / (len(front) + 2)
            if gap >= tight or first == start:
                break
            n *= 2
        for queued in front:
            self.remove(queued)
        for n, queued in enumerate(front, 1):
            queued.rank = before + n * gap
            self.add(queued)
        return after - gap, front

    def check_invariants(self) -> None:
        assert len(set(self._order)) == len(self._order), "a pod is active twice"
        assert set(self._order) == self._pods.keys() == self._keys.keys()
        keys = [self._queue_key(self._pods[uid]) for uid in self._order]
        assert keys == sorted(keys), "activeQ is out of order"
