"""A node must have room for what the pod asks; fuller or emptier nodes are liked more, as the strategy says.

Mirrors pkg/scheduler/framework/plugins/noderesources: fit.go, least_allocated.go,
most_allocated.go and requested_to_capacity_ratio.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.framework import (
    Code,
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
    RowMemo,
    Snapshot,
    Status,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)
from schedviz.scheduler.framework.row_memo import FEW, picked
from schedviz.scheduler.framework.shape_score import broken_linear

IntColumn = NDArray[np.int64]
Rows = NDArray[np.intp]
STATE_KEY = "PreFilterNodeResourcesFit"
NATIVE = ("cpu", "memory", "ephemeral-storage")
ERR_REASON_PODS = "Too many pods"
_HOPELESS = 1 << 62


@dataclass(frozen=True)
class ResourceWeight:
    name: str
    weight: int


CPU_AND_MEMORY = (ResourceWeight("cpu", 1), ResourceWeight("memory", 1))
Scorer = Callable[[IntColumn, IntColumn], IntColumn]


def least_allocated(requested: IntColumn, allocatable: IntColumn) -> IntColumn:
    """0..100 [node]: the freer, the higher; 0 where it does not fit."""
    free: IntColumn = np.maximum(allocatable - requested, 0)
    return free * 100 // np.maximum(allocatable, 1)


def most_allocated(requested: IntColumn, allocatable: IntColumn) -> IntColumn:
    """0..100 [node]: the fuller, the higher; more than all counts as all."""
    return np.minimum(requested, allocatable) * 100 // np.maximum(allocatable, 1)


def requested_to_capacity_ratio(shape: tuple[tuple[int, int], ...]) -> Scorer:
    """0..100 [node]: the score that the shape gives to the node's utilisation."""
    table = broken_linear((at, score * 10) for at, score in shape)
    return lambda requested, allocatable: table[most_allocated(requested, allocatable)]


def is_extended(resource: str) -> bool:
    """Whether ignoredResources may name it."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


class NodeResourcesFit(Plugin):
    """Refuse nodes without room; score by how much is left."""

    filter_reads = Reads.SUMS

    @dataclass(frozen=True)
    class Args:
        """NodeResourcesFitArgs: ignored extended resources and groups, and the scoring strategy. shape: the points
        of RequestedToCapacityRatio, (utilisation, score 0..10)."""

        ignored_resources: frozenset[str] = frozenset()
        ignored_resource_groups: frozenset[str] = frozenset()
        strategy: str = "LeastAllocated"
        resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY
        shape: tuple[tuple[int, int], ...] = ()

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> NodeResourcesFit.Args:
            strategy = raw.get("scoringStrategy") or {}
            resources = tuple(
                ResourceWeight(one["name"], one.get("weight") or 1)
                for one in strategy.get("resources") or ()
            )
            ratio = strategy.get("requestedToCapacityRatio") or {}
            return cls(
                frozenset(raw.get("ignoredResources") or ()),
                frozenset(raw.get("ignoredResourceGroups") or ()),
                strategy.get("type") or "LeastAllocated",
                resources or CPU_AND_MEMORY,
                tuple(
                    (one.get("utilization") or 0, one.get("score") or 0)
                    for one in ratio.get("shape") or ()
                ),
            )

    args: NodeResourcesFit.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: NodeResourcesFit.Args | None = None) -> None:
        super().__init__(args)
        self._is_ratio = self.args.strategy == "RequestedToCapacityRatio"
        strategies: dict[str, Scorer] = {
            "LeastAllocated": least_allocated,
            "MostAllocated": most_allocated,
        }
        self._score = (
            requested_to_capacity_ratio(self.args.shape)
            if self._is_ratio
            else strategies[self.args.strategy]
        )
        self._shortages = RowMemo()
        self._scores = RowMemo()

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        state.write(STATE_KEY, self._counted(pod))
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        """All shortages of a node are told together; one that exceeds even its allocatable is unresolvable."""
        wanted: tuple[tuple[str, int], ...] = state.read(STATE_KEY)
        shortages = self._shortages.column(
            wanted, nodes, lambda rows: _shortages(wanted, nodes, rows)
        )
        statuses = NodeStatuses(len(nodes))
        if shortages.any():
            _tell(statuses, shortages, wanted)
        return statuses

    def pre_score(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> Status | None:
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> IntColumn:
        wanted = {one.name: pod.score_requests.get(one.name, 0) for one in self.args.resources}
        shape = tuple(wanted.values())
        column = self._scores.column(shape, nodes, lambda some: self._scored(wanted, nodes, some))
        return picked(column, rows)

    def events_to_register(self) -> tuple[Registration, ...]:
        pod = ClusterEvent("Pod", ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        return Hinted(pod, _frees), Hinted(node, self._has_more_room)

    def _has_more_room(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
        """Whether the pod would fit the node were it empty, and could not before."""
        wanted = self._counted(pod)
        if not isinstance(new, Node) or new.allocatable.get("pods", 0) < 1:
            return False
        if any(n > new.allocatable.get(resource, 0) for resource, n in wanted):
            return False
        if not isinstance(old, Node):
            return True
        names = ("pods", *(resource for resource, _ in wanted))
        return any(new.allocatable.get(r, 0) > old.allocatable.get(r, 0) for r in names)

    def _scored(self, wanted: Mapping[str, int], nodes: Snapshot, rows: Rows) -> IntColumn:
        total = np.zeros(len(rows), dtype=np.int64)
        weights = np.zeros(len(rows), dtype=np.int64)
        for resource in self.args.resources:
            if resource.name not in NATIVE and not wanted[resource.name]:
                continue
            allocatable = nodes.allocatable(resource.name)[rows]
            requested = _counted_use(nodes, resource.name)[rows] + wanted[resource.name]
            counts = allocatable > 0
            scores = np.where(counts, self._score(requested, allocatable), 0)
            if self._is_ratio:
                counts = scores > 0
            total += scores * resource.weight
            weights += counts * resource.weight
        if self._is_ratio:  # rounded to the nearest, a half up
            return (2 * total + weights) // np.maximum(2 * weights, 1)
        return total // np.maximum(weights, 1)

    def _counted(self, pod: Pod) -> tuple[tuple[str, int], ...]:
        """What the filter looks at: requests above zero, native ones first, ignored ones left out."""
        native = [(name, pod.requests[name]) for name in NATIVE if pod.requests.get(name, 0) > 0]
        others = [
            (name, n)
            for name, n in pod.requests.items()
            if n > 0 and name not in NATIVE and not self._is_ignored(name)
        ]
        return (*native, *others)

    def _is_ignored(self, resource: str) -> bool:
        if not is_extended(resource):
            return False
        group = resource.partition("/")[0]
        return resource in self.args.ignored_resources or group in self.args.ignored_resource_groups


def _frees(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether a pod left its node, or asks for less there of what this one wants; or this one itself does."""
    if not isinstance(old, Pod):
        return False
    if not isinstance(new, Pod):
        return bool(old.node_name or old.nominated_node_name)
    if new.uid == pod.uid:
        return True
    is_less = any(
        n > 0 and old.requests.get(resource, 0) > new.requests.get(resource, 0)
        for resource, n in pod.requests.items()
    )
    return bool(new.node_name) and is_less


def _counted_use(nodes: Snapshot, resource: str) -> IntColumn:
    """What scoring counts as requested on each node: with defaults for containers that ask for nothing."""
    if resource == "cpu":
        return nodes.non_zero_milli_cpu
    if resource == "memory":
        return nodes.non_zero_memory
    return nodes.requested(resource)


def _shortages(wanted: tuple[tuple[str, int], ...], nodes: Snapshot, rows: Rows) -> IntColumn:
    """Bits [row]: 0 too many pods, n the n-th wanted resource, _HOPELESS more than the node ever has."""
    if len(rows) <= FEW:
        return np.array(
            [_shortages_of(wanted, nodes, row) for row in rows.tolist()], dtype=np.int64
        )
    found = (nodes.n_pods[rows] + 1 > nodes.allocatable("pods")[rows]).astype(np.int64)
    for bit, (resource, n) in enumerate(wanted, start=1):
        allocatable = nodes.allocatable(resource)[rows]
        found |= (n > allocatable - nodes.requested(resource)[rows]).astype(np.int64) << bit
        found |= np.where(n > allocatable, _HOPELESS, 0)
    return found


def _shortages_of(wanted: tuple[tuple[str, int], ...], nodes: Snapshot, row: int) -> int:
    """`_shortages` for one node."""
    found = int(nodes.n_pods[row] + 1 > nodes.allocatable("pods")[row])
    for bit, (resource, n) in enumerate(wanted, start=1):
        allocatable = int(nodes.allocatable(resource)[row])
        found |= int(n > allocatable - int(nodes.requested(resource)[row])) << bit
        found |= _HOPELESS if n > allocatable else 0
    return found


def _tell(
    statuses: NodeStatuses, shortages: IntColumn, wanted: tuple[tuple[str, int], ...]
) -> None:
    """Turn the bits into codes and interned sets of reasons."""
    reasons = (ERR_REASON_PODS, *(f"Insufficient {resource}" for resource, _ in wanted))
    rows = np.flatnonzero(shortages)
    combinations, inverse = np.unique(shortages[rows], return_inverse=True)
    ids = [
        statuses.reason_id(tuple(r for bit, r in enumerate(reasons) if combination >> bit & 1))
        for combination in combinations.tolist()
    ]
    codes = np.where(
        combinations & _HOPELESS,
        int(Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        int(Code.UNSCHEDULABLE),
    )
    statuses.reason_ids[rows] = np.array(ids, dtype=np.uint16)[inverse]
    statuses.codes[rows] = codes[inverse]
