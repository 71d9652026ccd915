"""A pod that names its node fits there only.

Mirrors pkg/scheduler/framework/plugins/nodename (v1.36).
"""

from __future__ import annotations

import numpy as np

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
    Snapshot,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent

ERR_REASON = "node(s) didn't match the requested node name"


class NodeName(Plugin):
    """Refuse every node but spec.nodeName's."""

    filter_reads = Reads.NODE

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        if pod.node_name:
            others = np.ones(len(nodes), dtype=np.bool_)
            if pod.node_name in nodes.rows:
                others[nodes.rows[pod.node_name]] = False
            statuses.reject(others, UnschedulableAndUnresolvable(ERR_REASON))
        return statuses

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent("Node", ActionType.ADD),)
