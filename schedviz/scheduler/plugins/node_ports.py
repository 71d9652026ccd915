"""Ports of the node itself are given out once.

Mirrors pkg/scheduler/framework/plugins/nodeports (v1.36).
"""

from __future__ import annotations

from schedviz.kube.objects import KubeObject, Pod
from schedviz.kube.pod_spec import HostPort
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Skip,
    Snapshot,
    Status,
    Unschedulable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)

ERR_REASON = "node(s) didn't have free ports for the requested pod ports"
STATE_KEY = "PreFilterNodePorts"
EVERY_ADDRESS = "0.0.0.0"


def is_taken(wanted: HostPort, addresses: frozenset[str]) -> bool:
    """Whether `wanted` collides with the same port taken on these addresses."""
    return wanted.ip == EVERY_ADDRESS or EVERY_ADDRESS in addresses or wanted.ip in addresses


class NodePorts(Plugin):
    """Refuse nodes where a host port that the pod wants is taken."""

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        if not pod.host_ports:
            return Skip()
        state.write(STATE_KEY, pod.host_ports)
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        for wanted in state.read(STATE_KEY):
            for row, addresses in nodes.port_users(wanted.protocol, wanted.port).items():
                if is_taken(wanted, addresses):
                    statuses.reject(row, Unschedulable(ERR_REASON))
        return statuses

    def events_to_register(self) -> tuple[Registration, ...]:
        deleted = ClusterEvent("Pod", ActionType.DELETE)
        return Hinted(deleted, _held_a_port), ClusterEvent("Node", ActionType.ADD)


def _held_a_port(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the deleted pod had a port that this one wants."""
    if not isinstance(old, Pod) or not (old.node_name or old.nominated_node_name):
        return False
    return any(
        (mine.protocol, mine.port) == (theirs.protocol, theirs.port)
        and is_taken(mine, frozenset({theirs.ip}))
        for mine in pod.host_ports
        for theirs in old.host_ports
    )
