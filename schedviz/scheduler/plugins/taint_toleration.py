"""Taints that a pod does not tolerate keep it off a node, or make the node less liked.

Mirrors pkg/scheduler/framework/plugins/tainttoleration (v1.36). Nodes are judged by distinct set of taints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import Taint, Toleration
from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
    Snapshot,
    Status,
    UnschedulableAndUnresolvable,
    default_normalize_score,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
    itself,
)

ERR_REASON = "node(s) had untolerated taint(s)"
STATE_KEY = "PreScoreTaintToleration"


Taints = tuple[Taint, ...]
Tolerations = tuple[Toleration, ...]


def is_untolerated(taints: Taints, tolerations: Tolerations, *, comparing: bool = False) -> bool:
    """Whether a NoSchedule or NoExecute taint is left over."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(t.tolerates(taint, comparing=comparing) for t in tolerations)
        for taint in taints
    )


def intolerable_count(taints: Taints, tolerations: Tolerations, *, comparing: bool = False) -> int:
    """How many PreferNoSchedule taints are left over."""
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(t.tolerates(taint, comparing=comparing) for t in tolerations)
        for taint in taints
    )


class TaintToleration(Plugin):
    """Refuse nodes with untolerated taints; prefer those with few PreferNoSchedule ones."""

    filter_reads = Reads.NODE

    @property
    def _comparing(self) -> bool:
        return "TaintTolerationComparisonOperators" in self.features

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        refused = [
            is_untolerated(taints, pod.tolerations, comparing=self._comparing)
            for taints in nodes.taint_sets
        ]
        if any(refused):
            rows = np.array(refused, dtype=np.bool_)[nodes.taint_set_ids]
            statuses.reject(rows, UnschedulableAndUnresolvable(ERR_REASON))
        return statuses

    def pre_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> Status | None:
        state.write(
            STATE_KEY, tuple(t for t in pod.tolerations if t.effect in ("", "PreferNoSchedule"))
        )
        return None

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        tolerations = state.read(STATE_KEY)
        counts = [
            intolerable_count(t, tolerations, comparing=self._comparing) for t in nodes.taint_sets
        ]
        if not any(counts):
            return np.zeros(len(rows), dtype=np.int64)
        return np.array(counts, dtype=np.int64)[nodes.taint_set_ids[rows]]

    def normalize_score(
        self, state: CycleState, pod: Pod, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return default_normalize_score(scores, reverse=True)

    def events_to_register(self) -> tuple[Registration, ...]:
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        own = ClusterEvent("Pod", ActionType.UPDATE_POD_TOLERATIONS)
        return Hinted(node, self._is_tolerated_now), Hinted(own, itself)

    def _is_tolerated_now(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
        return not self._refuses(pod, new) and (old is None or self._refuses(pod, old))

    def _refuses(self, pod: Pod, node: KubeObject | None) -> bool:
        if not isinstance(node, Node):
            return True
        return is_untolerated(node.taints, pod.tolerations, comparing=self._comparing)
