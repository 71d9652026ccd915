"""A node with the pods on it, and a pod in the queue.

NodeInfo is kept by the cache, cloned into the snapshot and read by plugins; QueuedPodInfo is the queue's. Mirrors
pkg/scheduler/framework/types.go (v1.36). Left out on purpose: PodInfo (our Pod carries its parsed terms itself).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schedviz.kube.objects import Node, Pod
from schedviz.kube.pod_spec import HostPort


class NodeInfo:
    """requested: what the pods here ask for (cpu in milli-CPU, others in whole units); non_zero_*: the same as scoring
    counts it. `node` is None while pods are known here before their node is."""

    __slots__ = (
        "name",
        "node",
        "non_zero_memory",
        "non_zero_milli_cpu",
        "pods",
        "requested",
        "used_ports",
    )

    def __init__(self, name: str, node: Node | None = None) -> None:
        self.name = name
        self.node = node
        self.pods: dict[str, Pod] = {}
        self.requested: dict[str, int] = {}
        self.non_zero_milli_cpu = 0
        self.non_zero_memory = 0
        self.used_ports: dict[HostPort, int] = {}

    @property
    def labels(self) -> dict[str, str]:
        return self.node.labels if self.node else {}

    @property
    def allocatable(self) -> dict[str, int]:
        return self.node.allocatable if self.node else {}

    def add_pod(self, pod: Pod) -> None:
        self._count(pod, 1)
        self.pods[pod.uid] = pod

    def remove_pod(self, uid: str) -> None:
        """Raises KeyError when the pod is not here."""
        self._count(self.pods.pop(uid), -1)

    def _count(self, pod: Pod, sign: int) -> None:
        requested = self.requested
        for resource, n in pod.requests.items():
            requested[resource] = requested.get(resource, 0) + sign * n
        self.non_zero_milli_cpu += sign * pod.non_zero["cpu"]
        self.non_zero_memory += sign * pod.non_zero["memory"]
        for port in pod.host_ports:
            n = self.used_ports.get(port, 0) + sign
            if n:
                self.used_ports[port] = n
            else:
                del self.used_ports[port]

    def clone(self) -> NodeInfo:
        """A still picture: later changes of this one do not reach it."""
        other = NodeInfo(self.name, self.node)
        other.pods = self.pods.copy()
        other.requested = self.requested.copy()
        other.non_zero_milli_cpu = self.non_zero_milli_cpu
        other.non_zero_memory = self.non_zero_memory
        other.used_ports = self.used_ports.copy()
        return other


@dataclass(frozen=True, slots=True)
class Hold:
    """An operator keeps the pod from being tried: who, since when, why."""

    by: str
    since: float
    reason: str = ""

    @property
    def said(self) -> str:
        return f"held by {self.by}" + (f": {self.reason}" if self.reason else "")


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod on its way. timestamp: when it entered its present place; rank: its place among pods of one priority
    (it starts as the timestamp of its first arrival; a move sets it); hold: None for a pod that nobody holds."""

    pod: Pod
    timestamp: float
    rank: float
    initial_attempt_timestamp: float | None = None
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors_count: int = 0
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    message: str = ""
    moved_by: str = ""
    retry_at: float | None = None
    cycle: int = 0
    hold: Hold | None = None

    @property
    def uid(self) -> str:
        return self.pod.uid


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """How long pods wait, in seconds; upstream's defaults."""

    initial_backoff_seconds: float = 1.0
    max_backoff_seconds: float = 10.0
    max_in_unschedulable_seconds: float = 300.0
