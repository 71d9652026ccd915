"""Pods with scheduling gates stay outside the queues until the last gate is gone.

Mirrors pkg/scheduler/framework/plugins/schedulinggates (v1.36).
"""

from __future__ import annotations

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import Plugin, Status, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
    itself,
)


class SchedulingGates(Plugin):
    """Hold a pod back while it carries scheduling gates."""

    def pre_enqueue(self, pod: Pod) -> Status | None:
        if not pod.scheduling_gates:
            return None
        return UnschedulableAndUnresolvable(
            f"waiting for scheduling gates: [{' '.join(pod.scheduling_gates)}]"
        )

    def events_to_register(self) -> tuple[Registration, ...]:
        own = ClusterEvent("Pod", ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (Hinted(own, itself),)
