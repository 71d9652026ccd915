"""A node must have room for what the pod asks; fuller or emptier nodes are liked more, as the strategy says.

Mirrors pkg/scheduler/framework/plugins/noderesources/{fit,least_allocated,most_allocated}.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import (
    Code,
    CycleState,
    NodeStatuses,
    Plugin,
    Snapshot,
    Status,
)
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent

IntColumn = NDArray[np.int64]
STATE_KEY = "PreFilterNodeResourcesFit"
NATIVE = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True)
class ResourceWeight:
    name: str
    weight: int


CPU_AND_MEMORY = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))


def least_allocated(requested: IntColumn, allocatable: IntColumn) -> IntColumn:
    """0..100 [node]: the freer, the higher; 0 where it does not fit."""
    safe = np.maximum(allocatable, 1)
    return np.where(requested > allocatable, 0, (allocatable - requested) * 100 // safe)


def most_allocated(requested: IntColumn, allocatable: IntColumn) -> IntColumn:
    """0..100 [node]: the fuller, the higher; more than all counts as all."""
    safe = np.maximum(allocatable, 1)
    return np.minimum(requested, allocatable) * 100 // safe


STRATEGIES: dict[str, Callable[[IntColumn, IntColumn], IntColumn]] = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
}


def is_extended(resource: str) -> bool:
    """Whether ignoredResources may name it."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


class NodeResourcesFit(Plugin):
    """Refuse nodes without room; score by how much is left."""

    @dataclass(frozen=True)
    class Args:
        """NodeResourcesFitArgs: ignored extended resources and groups, and the scoring strategy."""

        ignored_resources: frozenset[str] = frozenset()
        ignored_resource_groups: frozenset[str] = frozenset()
        strategy: str = "LeastAllocated"
        resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY

    args: NodeResourcesFit.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        state.write(STATE_KEY, self._counted(pod))
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        """All shortages of a node are told together; one that exceeds even its allocatable is unresolvable."""
        statuses = NodeStatuses(len(nodes))
        shortages: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_] | None]] = []
        short = nodes.n_pods + 1 > nodes.allocatable("pods")
        if short.any():
            shortages.append(("Too many pods", short, None))
        for resource, n in state.read(STATE_KEY).items():
            allocatable = nodes.allocatable(resource)
            short = n > allocatable - nodes.requested(resource)
            if short.any():
                shortages.append((f"Insufficient {resource}", short, n > allocatable))
        if shortages:
            _tell(statuses, shortages)
        return statuses

    def pre_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> Status | None:
        return None

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        score = STRATEGIES[self.args.strategy]
        total = np.zeros(len(rows), dtype=np.int64)
        weights = np.zeros(len(rows), dtype=np.int64)
        for resource in self.args.resources:
            wanted = pod.score_requests.get(resource.name, 0)
            if resource.name not in NATIVE and not wanted:
                continue
            allocatable = nodes.allocatable(resource.name)[rows]
            has_any = allocatable > 0
            requested = _counted_use(nodes, resource.name)[rows] + wanted
            total += np.where(has_any, score(requested, allocatable) * resource.weight, 0)
            weights += np.where(has_any, resource.weight, 0)
        return np.where(weights > 0, total // np.maximum(weights, 1), 0)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent("Pod", ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN),
            ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
        )

    def _counted(self, pod: Pod) -> dict[str, int]:
        """What the filter looks at: requests above zero, native ones first, ignored ones left out."""
        wanted = {name: pod.requests[name] for name in NATIVE if pod.requests.get(name, 0) > 0}
        for name, n in pod.requests.items():
            if n > 0 and name not in NATIVE and not self._is_ignored(name):
                wanted[name] = n
        return wanted

    def _is_ignored(self, resource: str) -> bool:
        if not is_extended(resource):
            return False
        group = resource.partition("/")[0]
        return resource in self.args.ignored_resources or group in self.args.ignored_resource_groups


def _counted_use(nodes: Snapshot, resource: str) -> IntColumn:
    """What scoring counts as requested on each node: with defaults for containers that ask for nothing."""
    if resource == "cpu":
        return nodes.non_zero_milli_cpu
    if resource == "memory":
        return nodes.non_zero_memory
    return nodes.requested(resource)


def _tell(
    statuses: NodeStatuses, shortages: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_] | None]]
) -> None:
    """Turn the shortages' masks into codes and interned sets of reasons."""
    which = np.zeros(len(statuses), dtype=np.int64)
    hopeless = np.zeros(len(statuses), dtype=np.bool_)
    for bit, (_, short, beyond) in enumerate(shortages):
        which |= short.astype(np.int64) << bit
        if beyond is not None:
            hopeless |= short & beyond
    rows = np.flatnonzero(which)
    combinations, inverse = np.unique(which[rows], return_inverse=True)
    ids = [
        statuses.reason_id(
            tuple(reason for bit, (reason, _, _) in enumerate(shortages) if combination >> bit & 1)
        )
        for combination in combinations.tolist()
    ]
    statuses.reason_ids[rows] = np.array(ids, dtype=np.uint16)[inverse]
    statuses.codes[rows] = np.where(
        hopeless[rows], int(Code.UNSCHEDULABLE_AND_UNRESOLVABLE), int(Code.UNSCHEDULABLE)
    )
