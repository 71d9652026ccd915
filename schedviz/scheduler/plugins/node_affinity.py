"""Where a pod wants to be by its node selector and node affinity, and where its scheduler's configuration wants it.

Mirrors pkg/scheduler/framework/plugins/nodeaffinity (v1.36). A term is judged on dictionary-encoded label columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import NodeSelector, NodeSelectorTerm
from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.kube.pod_spec import WeightedTerm, read_node_affinity
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    PreFilterResult,
    Reads,
    Skip,
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
)
from schedviz.scheduler.framework.node_masks import required_mask, selector_mask, term_mask

ERR_REASON_POD = "node(s) didn't match Pod's node affinity/selector"
ERR_REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
ERR_REASON_CONFLICT = "pod affinity terms conflict"


def pinned_names(term: NodeSelectorTerm) -> frozenset[str] | None:
    """The node names that a term's matchFields leave; None when it names none."""
    names: frozenset[str] | None = None
    for one in term.fields:
        if one.operator == "In":
            names = frozenset(one.values) if names is None else names & frozenset(one.values)
    return names


class NodeAffinity(Plugin):
    """Refuse nodes that the pod's selector and required affinity exclude; score its preferences."""

    filter_reads = Reads.NODE

    @dataclass(frozen=True)
    class Args:
        """addedAffinity of the configuration: as if every pod of the profile carried it."""

        required: NodeSelector | None = None
        preferred: tuple[WeightedTerm, ...] = ()

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> NodeAffinity.Args:
            return cls(*read_node_affinity(raw.get("addedAffinity") or {}))

    args: NodeAffinity.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def pre_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot
    ) -> Status | PreFilterResult | None:
        required = pod.required_node_affinity
        if required is None and not pod.node_selector and self.args.required is None:
            return Skip()
        if required is None or not required.terms:
            return None
        union: frozenset[str] = frozenset()
        for term in required.terms:
            names = pinned_names(term)
            if names is None:
                return None
            union |= names
        if not union:
            return UnschedulableAndUnresolvable(ERR_REASON_CONFLICT)
        return PreFilterResult(union)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        mask = required_mask(pod, nodes)
        if not mask.all():
            statuses.reject(~mask, UnschedulableAndUnresolvable(ERR_REASON_POD))
        if self.args.required is not None:
            enforced = selector_mask(self.args.required, nodes)
            statuses.reject(~enforced, UnschedulableAndUnresolvable(ERR_REASON_ENFORCED))
        return statuses

    def pre_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> Status | None:
        return None if pod.preferred_node_affinity or self.args.preferred else Skip()

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        scores = np.zeros(len(nodes), dtype=np.int64)
        for one in (*self.args.preferred, *pod.preferred_node_affinity):
            scores[term_mask(one.term, nodes)] += one.weight
        return scores[rows]

    def normalize_score(
        self, state: CycleState, pod: Pod, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return default_normalize_score(scores)

    def events_to_register(self) -> tuple[Registration, ...]:
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (Hinted(node, self._matches_now),)

    def _matches_now(self, pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
        return self._lets(pod, new) and not self._lets(pod, old)

    def _lets(self, pod: Pod, node: KubeObject | None) -> bool:
        """Whether pod and configuration accept this node."""
        if not isinstance(node, Node):
            return False
        labels = node.labels
        wanted = [
            one for one in (self.args.required, pod.required_node_affinity) if one is not None
        ]
        return all(labels.get(key) == value for key, value in pod.node_selector.items()) and all(
            one.matches(labels, node.name) for one in wanted
        )
