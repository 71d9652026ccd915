"""Pods of one sort are spread evenly over zones, hosts or whatever label a constraint names.

Mirrors pkg/scheduler/framework/plugins/podtopologyspread (v1.36). Counts come from the snapshot's pod index, so that a
cycle costs the same however many pods run.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import LabelSelector, Requirement, label_selector
from schedviz.kube.objects import KubeObject, Node, Other, Pod
from schedviz.kube.pod_spec import TopologySpreadConstraint, spread_constraint
from schedviz.scheduler.framework import (
    CycleState,
    NodeInfo,
    NodeStatuses,
    Plugin,
    Reads,
    Skip,
    Snapshot,
    Status,
    Unschedulable,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_masks import required_mask, tolerated_mask
from schedviz.scheduler.framework.pod_index import Sort
from schedviz.scheduler.framework.trials import Room
from schedviz.scheduler.plugins.pod_topology_spread.spreads import Spread, Spreads, counts

ERR_REASON_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
ERR_REASON = "node(s) didn't match pod topology spread constraints"
FILTER_KEY, SCORE_KEY = "PreFilterPodTopologySpread", "PreScorePodTopologySpread"
HOSTNAME = "kubernetes.io/hostname"
GATES = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
_OWNERS = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}
_SELECTING = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_REMEMBERED = 4096

Constraints = tuple[TopologySpreadConstraint, ...]
IntColumn = NDArray[np.int64]
Rows = NDArray[np.intp]


def _soft(key: str, max_skew: int) -> TopologySpreadConstraint:
    raw = {"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": "ScheduleAnyway"}
    return spread_constraint(raw, {})


SYSTEM_DEFAULTS = (_soft(HOSTNAME, 3), _soft("topology.kubernetes.io/zone", 5))


@dataclass(slots=True)
class Leaning:
    """Soft constraints, summed: scores and whether ignored, over the feasible rows."""

    scores: IntColumn
    ignored: NDArray[np.bool_]


def default_selector(pod: Pod, listers: Listers) -> LabelSelector:
    """What the services and the controller that select the pod select, all together."""
    labels: dict[str, str] = {}
    for service in listers.of("Service").values():
        wanted = _spec(service).get("selector")
        if service.namespace != pod.namespace or not wanted:
            continue
        if wanted.items() <= pod.labels.items():
            labels.update(wanted)
    owner, more = pod.owner, LabelSelector()
    if owner is not None and (owner.api_version, owner.kind) in _OWNERS:
        controller = listers.get(owner.kind, f"{pod.namespace}/{owner.name}")
        wanted = _spec(controller).get("selector") if controller else None
        if owner.kind == "ReplicationController":
            labels.update(wanted or {})
        else:
            more = label_selector(wanted) or more
    own = tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))
    return LabelSelector(own + more.requirements)


def _spec(thing: Other) -> Mapping[str, Any]:
    return thing.raw.get("spec") or {}


class PodTopologySpread(Plugin):
    """Refuse nodes that would make the spread too uneven; favour those that even it out."""

    filter_reads = Reads.SUMS

    @dataclass(frozen=True)
    class Args:
        """PodTopologySpreadArgs: constraints for pods that have none; is_system: the built-in ones."""

        default_constraints: Constraints = SYSTEM_DEFAULTS
        is_system: bool = True

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> PodTopologySpread.Args:
            if raw.get("defaultingType", "System") == "System":
                return cls()
            given = raw.get("defaultConstraints") or ()
            return cls(tuple(spread_constraint(one, {}) for one in given), False)

    args: PodTopologySpread.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: PodTopologySpread.Args | None = None) -> None:
        super().__init__(args)
        self._selectors: dict[Hashable, LabelSelector] = {}
        self._selectors_of = -1

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        constraints = self._constraints(pod, nodes, hard=True)
        if not constraints:
            return Skip()
        spreads = tuple(self._spread(one, constraints, pod, nodes) for one in constraints)
        state.write(FILTER_KEY, Spreads(spreads))
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        if other.namespace == pod.namespace:
            state.read(FILTER_KEY).count(other, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        if other.namespace == pod.namespace:
            state.read(FILTER_KEY).count(other, -1)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        """A node's first failing constraint decides."""
        spreads: Spreads = state.read(FILTER_KEY)
        statuses = NodeStatuses(len(nodes))
        pending = np.ones(len(nodes), dtype=np.bool_)
        for one in spreads.each:
            missing = pending & (one.slots == 0)
            limit = one.one.max_skew - one.is_own + one.least
            uneven = pending & ~missing & (one.counts > limit)[one.slots]
            if missing.any():
                statuses.reject(missing, UnschedulableAndUnresolvable(ERR_REASON_LABEL))
            if uneven.any():
                statuses.reject(uneven, Unschedulable(ERR_REASON))
            pending &= ~(missing | uneven)
        return statuses

    def filter_room(self, state: CycleState, pod: Pod, room: Room) -> NodeStatuses:
        spreads: Spreads = state.read(FILTER_KEY)
        statuses = NodeStatuses(len(room))
        pending = np.ones(len(room), dtype=np.bool_)
        for one in spreads.each:
            key = ("spread", pod.namespace, one.one.selector)
            change = room.change(key, partial(counts, one, pod.namespace))
            missing = pending & (one.slots[room.of_rows] == 0)
            uneven = pending & ~missing & one.is_uneven(room, change)
            statuses.reject(missing, UnschedulableAndUnresolvable(ERR_REASON_LABEL))
            statuses.reject(uneven, Unschedulable(ERR_REASON))
            pending &= ~(missing | uneven)
        return statuses

    def pre_score(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> Status | None:
        constraints = self._constraints(pod, nodes, hard=False)
        if not constraints:
            return Skip()
        state.write(SCORE_KEY, self._leaning(constraints, pod, nodes, rows))
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> IntColumn:
        leaning: Leaning = state.read(SCORE_KEY)
        return leaning.scores

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntColumn) -> IntColumn:
        ignored = state.read(SCORE_KEY).ignored
        counted = scores[~ignored]
        if not len(counted):
            return np.zeros(len(scores), dtype=np.int64)
        least, most = int(counted.min()), int(counted.max())
        if most == 0:
            return np.where(ignored, 0, 100)
        return np.where(ignored, 0, 100 * (most + least - scores) // most)

    def events_to_register(self) -> tuple[Registration, ...]:
        come_and_go = ActionType.ADD | ActionType.DELETE
        told = ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATIONS
        node = ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return (
            Hinted(ClusterEvent("Pod", come_and_go | told), _counts_differently),
            Hinted(ClusterEvent("Node", come_and_go | node), _has_other_domains),
        )

    # ---- which constraints -----------------------------------------------------------------------------------------

    def _constraints(self, pod: Pod, nodes: Snapshot, *, hard: bool) -> Constraints:
        if pod.topology_spread:
            own = tuple(one for one in pod.topology_spread if one.is_hard == hard)
            if not any(gate in self.features for gate in GATES):
                own = tuple(replace(one, selector=one.bare_selector) for one in own)
            return own
        defaults = tuple(one for one in self.args.default_constraints if one.is_hard == hard)
        if not defaults:
            return ()
        selector = self._default_selector(pod, nodes.listers)
        if not selector.requirements:
            return ()
        return tuple(replace(one, selector=selector) for one in defaults)

    def _default_selector(self, pod: Pod, listers: Listers) -> LabelSelector:
        version = listers.version(*_SELECTING)
        if self._selectors_of != version or len(self._selectors) > _REMEMBERED:
            self._selectors.clear()
            self._selectors_of = version
        key = (pod.namespace, frozenset(pod.labels.items()), pod.owner)
        selector = self._selectors.get(key)
        if selector is None:
            selector = self._selectors[key] = default_selector(pod, listers)
        return selector

    # ---- counting --------------------------------------------------------------------------------------------------

    def _spread(
        self, one: TopologySpreadConstraint, among: Constraints, pod: Pod, nodes: Snapshot
    ) -> Spread:
        keys = tuple(other.topology_key for other in among)
        counted, is_domain = self._domains(one, keys, pod, nodes)
        counts = np.bincount(
            counted, weights=_matching(one, pod, nodes), minlength=len(is_domain)
        ).astype(np.int64)
        is_own = one.selector is not None and one.selector.matches(pod.labels)
        slots = _slots(one.topology_key, nodes)
        return Spread(one, slots, counted, counts, is_domain, int(is_own))

    def _leaning(self, constraints: Constraints, pod: Pod, nodes: Snapshot, rows: Rows) -> Leaning:
        keys = tuple(one.topology_key for one in constraints)
        needs_all = bool(pod.topology_spread) or not self.args.is_system
        ignored = np.zeros(len(rows), dtype=np.bool_)
        if needs_all:
            ignored = ~_has_all(keys, nodes)[rows]
        n_scored = len(rows) - int(ignored.sum())
        total = np.zeros(len(rows), dtype=np.float64)
        for one in constraints:
            slots = _slots(one.topology_key, nodes)
            own = slots[rows]
            matching = _matching(one, pod, nodes)
            if one.topology_key == HOSTNAME:
                size, counts = n_scored, matching[rows]
            else:
                counted, is_domain = self._domains(one, keys if needs_all else (), pod, nodes)
                in_use = np.bincount(own[~ignored], minlength=len(is_domain)) > 0
                size = int(in_use.sum())
                sums = np.bincount(counted, weights=matching, minlength=len(is_domain))
                counts = sums[own].astype(np.int64)
            total += np.where(own > 0, counts * math.log(size + 2) + (one.max_skew - 1), 0.0)
        whole = np.trunc(total)
        scores = (whole + (total - whole >= 0.5)).astype(np.int64)  # a half goes up
        return Leaning(np.where(ignored, 0, scores), ignored)

    def _domains(
        self, one: TopologySpreadConstraint, keys: tuple[str, ...], pod: Pod, nodes: Snapshot
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """slots [node], 0 where the constraint does not count the node; whether a slot is a domain [slot]."""
        shape = (
            "spread",
            one.topology_key,
            keys,
            (tuple(pod.node_selector.items()), pod.required_node_affinity)
            if one.honors_affinity
            else None,
            pod.tolerations if one.honors_taints else None,
        )
        return nodes.remembered(shape, lambda: self._find_domains(one, keys, pod, nodes))

    def _find_domains(
        self, one: TopologySpreadConstraint, keys: tuple[str, ...], pod: Pod, nodes: Snapshot
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        eligible = _has_all(keys, nodes)
        if one.honors_affinity:
            eligible = eligible & required_mask(pod, nodes)
        if one.honors_taints:
            comparing = "TaintTolerationComparisonOperators" in self.features
            eligible = eligible & tolerated_mask(pod.tolerations, nodes, comparing=comparing)
        counted = np.where(eligible, _slots(one.topology_key, nodes), 0)
        n_slots = len(nodes.label(one.topology_key).values) + 1
        is_domain = np.bincount(counted, minlength=n_slots) > 0
        is_domain[0] = False
        return counted, is_domain


def _hard(pod: Pod) -> Constraints:
    return tuple(one for one in pod.topology_spread if one.is_hard)


def _counts_differently(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether a constraint of the pod counts the other one now and did not, or the other way round. A pod without
    constraints of its own was refused by default ones, whose selectors are not known here: anything may help it."""
    other = new or old
    if other is None or other.namespace != pod.namespace:
        return False
    hard = _hard(pod)
    if not hard or (new is not None and new.uid == pod.uid):
        return True
    return any(_means(one, old) != _means(one, new) for one in hard)


def _means(one: TopologySpreadConstraint, pod: KubeObject | None) -> bool:
    return pod is not None and one.selector is not None and one.selector.matches(pod.labels)


def _has_other_domains(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the node joined or left a domain, or is one that counts now."""
    hard = _hard(pod)
    if not hard:
        return True
    keys = [one.topology_key for one in hard]
    before, now = (_domains_of(node, keys) for node in (old, new))
    if before != now:
        return True
    if not now or not isinstance(old, Node) or not isinstance(new, Node):
        return False
    return old.taints != new.taints and any(one.honors_taints for one in hard)


def _domains_of(node: KubeObject | None, keys: list[str]) -> tuple[str, ...]:
    """The node's values, or nothing when it lacks one of the keys."""
    labels = {} if node is None else node.labels
    return tuple(labels[key] for key in keys) if all(key in labels for key in keys) else ()


def _slots(key: str, nodes: Snapshot) -> NDArray[np.int32]:
    return nodes.remembered(("slots", key), lambda: nodes.label(key).codes + 1)


def _has_all(keys: tuple[str, ...], nodes: Snapshot) -> NDArray[np.bool_]:
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key in keys:
        mask &= _slots(key, nodes) > 0
    return mask


def _matching(one: TopologySpreadConstraint, pod: Pod, nodes: Snapshot) -> IntColumn:
    """int64 [node]: existing pods that count; an empty selector counts none."""
    if one.selector is None or not one.selector.requirements:
        return np.zeros(len(nodes), dtype=np.int64)
    sort = Sort(frozenset((pod.namespace,)), (one.selector,), with_terminating=False)
    return nodes.pod_index.matching(sort)
