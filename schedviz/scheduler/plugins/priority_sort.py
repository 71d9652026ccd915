"""The queue's order: higher priority first, then whoever came first.

Mirrors pkg/scheduler/framework/plugins/queuesort/priority_sort.go (v1.36); the time is the pod's rank, which an
operator's move may set.
"""

from __future__ import annotations

from schedviz.scheduler.framework import Plugin, QueuedPodInfo


class PrioritySort(Plugin):
    """Sort by priority, then by arrival."""

    def queue_sort(self, queued: QueuedPodInfo) -> tuple[int, float]:
        return (-queued.pod.priority, queued.rank)
