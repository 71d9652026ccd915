"""Binds a pod to its node through the API server.

Mirrors pkg/scheduler/framework/plugins/defaultbinder (v1.36).
"""

from __future__ import annotations

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import CycleState, Plugin
from schedviz.scheduler.framework.steps import Bind, PodRef


class DefaultBinder(Plugin):
    """Write the chosen node to the API server."""

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Bind:
        return Bind(PodRef(pod.namespace, pod.name, pod.uid, pod.resource_version), node_name)
