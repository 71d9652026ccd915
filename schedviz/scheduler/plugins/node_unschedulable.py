"""Cordoned nodes take no new pods.

Mirrors pkg/scheduler/framework/plugins/nodeunschedulable (v1.36).
"""

from __future__ import annotations

from schedviz.kube.matching import Taint
from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
    Snapshot,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
    itself,
)

ERR_REASON_UNSCHEDULABLE = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable(Plugin):
    """Refuse nodes with spec.unschedulable, unless the pod tolerates that taint."""

    filter_reads = Reads.NODE

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        if nodes.unschedulable.any() and not any(
            t.tolerates(UNSCHEDULABLE_TAINT) for t in pod.tolerations
        ):
            statuses.reject(
                nodes.unschedulable, UnschedulableAndUnresolvable(ERR_REASON_UNSCHEDULABLE)
            )
        return statuses

    def events_to_register(self) -> tuple[Registration, ...]:
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        own = ClusterEvent("Pod", ActionType.UPDATE_POD_TOLERATIONS)
        return Hinted(node, _opened), Hinted(own, _tolerates_now)


def _opened(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    return isinstance(new, Node) and not new.unschedulable


def _tolerates_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    if not itself(pod, old, new) or not isinstance(new, Pod):
        return False
    return any(one.tolerates(UNSCHEDULABLE_TAINT) for one in new.tolerations)
