"""A pod that uses a new feature of nodes goes only where the node declares that it has it.

Mirrors pkg/scheduler/framework/plugins/nodedeclaredfeatures (v1.36). What a pod needs is worked out when it is read
(`Pod.required_features`).
"""

from __future__ import annotations

from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeInfo,
    Plugin,
    Reads,
    Skip,
    Snapshot,
    Status,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
    itself,
)

ERR_REASON = "node(s) didn't match Pod's required features"
FEATURE = "NodeDeclaredFeatures"
STATE_KEY = "PreFilterNodeDeclaredFeatures"


class NodeDeclaredFeatures(Plugin):
    """Refuse nodes that do not declare a feature that the pod uses."""

    filter_reads = Reads.NODE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        if FEATURE not in self.features or not pod.required_features:
            return Skip()
        state.write(STATE_KEY, pod.required_features)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if FEATURE not in self.features:
            return None
        declared = node.node.declared_features if node.node else ()
        if state.read(STATE_KEY) <= set(declared):
            return None
        return UnschedulableAndUnresolvable(ERR_REASON)

    def events_to_register(self) -> tuple[Registration, ...]:
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE)
        own = ClusterEvent("UnscheduledPod", ActionType.UPDATE)
        return Hinted(node, _declares_now), Hinted(own, itself)


def _declares_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    return _declares(new, pod.required_features) and not _declares(old, pod.required_features)


def _declares(node: KubeObject | None, wanted: frozenset[str]) -> bool:
    return isinstance(node, Node) and wanted <= set(node.declared_features)
