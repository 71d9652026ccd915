"""Where a pod wants to be by its node selector and node affinity, and where its scheduler's configuration wants it.

Mirrors pkg/scheduler/framework/plugins/nodeaffinity (v1.36). A term is judged on dictionary-encoded label columns and
remembered per shape of pod until something about the nodes changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import NodeSelector, NodeSelectorTerm, Requirement
from schedviz.kube.objects import Pod
from schedviz.kube.pod_spec import WeightedTerm, read_node_affinity
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    PreFilterResult,
    Skip,
    Snapshot,
    Status,
    UnschedulableAndUnresolvable,
    default_normalize_score,
)
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent

ERR_REASON_POD = "node(s) didn't match Pod's node affinity/selector"
ERR_REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
ERR_REASON_CONFLICT = "pod affinity terms conflict"
_REMEMBERED = 512

Mask = NDArray[np.bool_]


def requirement_mask(one: Requirement, nodes: Snapshot) -> Mask:
    column = nodes.label(one.key)
    return column.select([one.accepts(value) for value in column.values], absent=one.accepts(None))


def term_mask(term: NodeSelectorTerm, nodes: Snapshot) -> Mask:
    """bool [node]: where the term matches; an empty term matches nowhere."""
    mask = np.full(len(nodes), not term.is_empty, dtype=np.bool_)
    for one in term.expressions:
        mask &= requirement_mask(one, nodes)
    for one in term.fields:
        named = np.zeros(len(nodes), dtype=np.bool_)
        named[[nodes.rows[name] for name in one.values if name in nodes.rows]] = True
        mask &= named if one.operator == "In" else ~named
    return mask


def selector_mask(selector: NodeSelector, nodes: Snapshot) -> Mask:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.terms:
        mask |= term_mask(term, nodes)
    return mask


def required_mask(pod: Pod, nodes: Snapshot) -> Mask:
    """bool [node]: node selector and required node affinity together."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key, value in pod.node_selector.items():
        mask &= requirement_mask(Requirement(key, "In", (value,)), nodes)
    if pod.required_node_affinity is not None:
        mask &= selector_mask(pod.required_node_affinity, nodes)
    return mask


def pinned_names(term: NodeSelectorTerm) -> frozenset[str] | None:
    """The node names that a term's matchFields leave; None when it names none."""
    names: frozenset[str] | None = None
    for one in term.fields:
        if one.operator == "In":
            names = frozenset(one.values) if names is None else names & frozenset(one.values)
    return names


class NodeAffinity(Plugin):
    """Refuse nodes that the pod's selector and required affinity exclude; score its preferences."""

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

    def __init__(self, args: NodeAffinity.Args | None = None) -> None:
        super().__init__(args)
        self._masks: dict[Hashable, Mask] = {}
        self._of: tuple[int, int] = (0, -1)

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
        shape = (tuple(pod.node_selector.items()), pod.required_node_affinity)
        self._keep_up(nodes)
        mask = self._masks.get(shape)
        if mask is None:
            mask = self._remember(shape, required_mask(pod, nodes))
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
        self._keep_up(nodes)
        for one in (*self.args.preferred, *pod.preferred_node_affinity):
            mask = self._masks.get(one.term)
            if mask is None:
                mask = self._remember(one.term, term_mask(one.term, nodes))
            scores[mask] += one.weight
        return scores[rows]

    def normalize_score(
        self, state: CycleState, pod: Pod, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return default_normalize_score(scores)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL),)

    def _keep_up(self, nodes: Snapshot) -> None:
        if self._of != (id(nodes), nodes.version) or len(self._masks) > _REMEMBERED:
            self._masks.clear()
            self._of = (id(nodes), nodes.version)

    def _remember(self, shape: Hashable, mask: Mask) -> Mask:
        self._masks[shape] = mask
        return mask
