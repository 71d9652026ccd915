"""podBackoffQ and podErrorBackoffQ: pods that must wait before they are tried again.

Used by `scheduling_queue`. Mirrors pkg/scheduler/backend/queue/backoff_queue.go (v1.36): a wait ends with a whole
second, pods whose waits end together come out in the order of activeQ, and only pods without an error may be popped
before their time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from sortedcontainers import SortedKeyList

from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.queue.active_queue import QueueKey

WINDOW_SECONDS = 1.0


class BackoffQueue:
    """`retry_at` of every pod here is when its wait ends."""

    def __init__(self, queue_key: QueueKey, *, initial_seconds: float, max_seconds: float) -> None:
        self._queue_key = queue_key
        self._initial, self._max = initial_seconds, max_seconds
        self._arrivals = itertools.count()
        self._keys: dict[str, Any] = {}
        self._pods: dict[str, QueuedPodInfo] = {}
        self._rejected: Any = SortedKeyList(key=self._keys.__getitem__)
        self._errors: Any = SortedKeyList(key=self._keys.__getitem__)

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._rejected, self._errors)

    def start(self, queued: QueuedPodInfo) -> None:
        """An attempt failed at `queued.timestamp`: set when it may be repeated. Errors in a row count by themselves."""
        count = queued.consecutive_errors_count or queued.unschedulable_count
        if not count:
            queued.retry_at = None
            return
        ends = math.floor(queued.timestamp + self.seconds(count)) // WINDOW_SECONDS * WINDOW_SECONDS
        queued.retry_at = ends + WINDOW_SECONDS

    def seconds(self, count: int) -> float:
        """How long to wait after so many failures: doubling from the initial to the maximum."""
        seconds = self._initial
        for _ in range(count - 1):
            if seconds > self._max - seconds:
                return self._max
            seconds += seconds
        return seconds

    @staticmethod
    def is_backing_off(queued: QueuedPodInfo, now: float) -> bool:
        return queued.retry_at is not None and queued.retry_at > now

    def add(self, queued: QueuedPodInfo) -> None:
        if queued.retry_at is None:
            raise ValueError(f"{queued.pod.key} waits for nothing")
        self._pods[queued.uid] = queued
        arrival = next(self._arrivals)
        if _is_rejected(queued):
            self._keys[queued.uid] = (queued.retry_at, self._queue_key(queued), arrival)
            self._rejected.add(queued.uid)
        else:
            self._keys[queued.uid] = (queued.retry_at, arrival)
            self._errors.add(queued.uid)

    def remove(self, queued: QueuedPodInfo) -> None:
        is_rejected = len(self._keys[queued.uid]) == 3  # as it was when it came
        (self._rejected if is_rejected else self._errors).remove(queued.uid)
        del self._keys[queued.uid], self._pods[queued.uid]

    def first_rejected(self) -> QueuedPodInfo | None:
        """The pod to take when nothing is active."""
        return self._pods[self._rejected[0]] if self._rejected else None

    def completed(self, now: float) -> list[QueuedPodInfo]:
        """Pods whose wait is over; they stay here."""
        over = []
        for one in (self._rejected, self._errors):
            for uid in one:
                if self.is_backing_off(self._pods[uid], now):
                    break
                over.append(self._pods[uid])
        return over

    def next_due(self) -> float | None:
        firsts = [self._pods[one[0]] for one in (self._rejected, self._errors) if one]
        return min((queued.retry_at or 0.0 for queued in firsts), default=None)

    def check_invariants(self) -> None:
        assert set(self) == self._pods.keys() and len(list(self)) == len(self._pods)
        assert all(queued.retry_at is not None for queued in self._pods.values())
        assert all(_is_rejected(self._pods[uid]) for uid in self._rejected)
        assert not any(_is_rejected(self._pods[uid]) for uid in self._errors)


def _is_rejected(queued: QueuedPodInfo) -> bool:
    return bool(queued.unschedulable_plugins or queued.pending_plugins)
