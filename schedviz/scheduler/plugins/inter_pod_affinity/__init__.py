"""Pods that want to be near other pods, or away from them; and pods that others want near or away.

Mirrors pkg/scheduler/framework/plugins/interpodaffinity (v1.36). Counts come from the snapshot's pod index: a term is
one column of counts, summed by the domains of its topology key, however many pods run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.kube.pod_spec import PodAffinityTerm
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
from schedviz.scheduler.framework.pod_index import Carried, Sort
from schedviz.scheduler.framework.trials import Room
from schedviz.scheduler.plugins.inter_pod_affinity import hints
from schedviz.scheduler.plugins.inter_pod_affinity.rules import (
    Counted,
    NodeRules,
    Rules,
    Tally,
    crowded,
    is_wanted,
    meant,
    repelling,
)

ERR_REASON_AFFINITY = "node(s) didn't match pod affinity rules"
ERR_REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
ERR_REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
FILTER_KEY, SCORE_KEY = "PreFilterInterPodAffinity", "PreScoreInterPodAffinity"
_REMEMBERED = 4096

IntColumn = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Terms = tuple[PodAffinityTerm, ...]


class InterPodAffinity(Plugin):
    """Keep required company and distance; favour nodes where preferences for and of other pods are met."""

    @dataclass(frozen=True)
    class Args:
        """InterPodAffinityArgs. The second matters for pods without preferences of their own only, as upstream."""

        hard_pod_affinity_weight: int = 1
        ignore_preferred_terms_of_existing_pods: bool = False

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> InterPodAffinity.Args:
            weight = raw.get("hardPodAffinityWeight")
            return cls(
                1 if weight is None else weight,
                bool(raw.get("ignorePreferredTermsOfExistingPods")),
            )

    args: InterPodAffinity.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: InterPodAffinity.Args | None = None) -> None:
        super().__init__(args)
        self._wanting: dict[Hashable, tuple[Carried, ...]] = {}
        self._wanting_of: tuple[int, int, int] = (0, -1, -1)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        existing = [
            one for one in self._carried(pod, nodes) if one.role == "anti" and one.weight == 0
        ]
        affinity, anti_affinity = pod.affinity.required, pod.anti_affinity.required
        carried = nodes.pod_index.carried
        repelling = tuple(_counted(one.term, carried[one], nodes) for one in existing)
        repelled = _any_inside(repelling)
        if repelled is not None and not repelled.any():
            repelled = None
        if repelled is None and not affinity and not anti_affinity:
            return Skip()
        kin, apart = _sort(nodes, *affinity), tuple(_sort(nodes, term) for term in anti_affinity)
        matching = nodes.pod_index.matching
        tally = Tally(
            tuple(_counted(term, matching(kin), nodes) for term in affinity),
            tuple(
                _counted(term, matching(sort), nodes)
                for term, sort in zip(anti_affinity, apart, strict=True)
            ),
            repelling,
            bool(affinity) and kin.has(pod.namespace, pod.labels, is_terminating=False),
            kin,
            apart,
            _labels_of_namespace(pod, nodes),
        )
        away = _away_from_company(tally) if affinity else None
        state.write(FILTER_KEY, Rules(away, _any_inside(tally.anti_affinity), repelled, tally))
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        state.read(FILTER_KEY).count(pod, other, node, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        state.read(FILTER_KEY).count(pod, other, node, -1)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        """Only the first reason of a node is told: so the last is written first."""
        rules: Rules | NodeRules = state.read(FILTER_KEY)
        statuses = NodeStatuses(len(nodes))
        if rules.existing is not None and rules.existing.any():
            statuses.reject(rules.existing, Unschedulable(ERR_REASON_EXISTING))
        if rules.anti_affinity is not None and rules.anti_affinity.any():
            statuses.reject(rules.anti_affinity, Unschedulable(ERR_REASON_ANTI_AFFINITY))
        if rules.affinity is not None and rules.affinity.any():
            statuses.reject(rules.affinity, UnschedulableAndUnresolvable(ERR_REASON_AFFINITY))
        return statuses

    def reads_now(self, state: CycleState) -> Reads:
        """More pods never help, unless the pod asks for company."""
        rules: Rules = state.read(FILTER_KEY)
        return Reads.PODS if rules.affinity is not None else Reads.SUMS

    def filter_room(self, state: CycleState, pod: Pod, room: Room) -> NodeStatuses:
        """As `filter_nodes`, without affinity."""
        tally: Tally = state.read(FILTER_KEY).tally
        statuses = NodeStatuses(len(room))
        keys = [one.term.topology_key for one in tally.existing]
        keys += [term.topology_key for _, one in room.beside for term in one.anti_affinity.required]
        labels = tally.labels_of_namespace
        about = (pod.namespace, frozenset(pod.labels.items()), frozenset(labels.items()))
        for key in dict.fromkeys(keys):
            change = room.change(("existing", key, about), partial(repelling, pod, key, labels))
            terms = [one for one in tally.existing if one.term.topology_key == key]
            full = crowded(room, key, terms, change)
            statuses.reject(full, Unschedulable(ERR_REASON_EXISTING))
        pairs = list(zip(tally.anti_affinity, tally.apart, strict=True))
        for key in dict.fromkeys(one.term.topology_key for one, _ in pairs):
            alike = [(one, sort) for one, sort in pairs if one.term.topology_key == key]
            changes = [room.change(sort, partial(meant, sort)) for _, sort in alike]
            full = crowded(room, key, [one for one, _ in alike], np.sum(changes, axis=0))
            statuses.reject(full, Unschedulable(ERR_REASON_ANTI_AFFINITY))
        return statuses

    def pre_score(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> Status | None:
        own = bool(pod.affinity.preferred or pod.anti_affinity.preferred)
        if self.args.ignore_preferred_terms_of_existing_pods and not own:
            return Skip()
        scores = np.zeros(len(nodes), dtype=np.int64)
        contributed = False
        for weight, term, counts in self._contributions(pod, nodes):
            slots = _slots(term, nodes)
            sums = _sums(slots, counts)
            contributed = contributed or bool(sums[1:].any())
            scores += np.where(slots > 0, sums[slots] * weight, 0)
        if not contributed:
            return Skip()
        state.write(SCORE_KEY, scores)
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> IntColumn:
        scores: IntColumn = state.read(SCORE_KEY)
        return scores[rows]

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntColumn) -> IntColumn:
        least, most = int(scores.min(initial=2**62)), int(scores.max(initial=-(2**62)))
        if most <= least:
            return np.zeros(len(scores), dtype=np.int64)
        scaled: IntColumn = (100.0 * ((scores - least) / float(most - least))).astype(np.int64)
        return scaled

    def events_to_register(self) -> tuple[Registration, ...]:
        other = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (
            Hinted(ClusterEvent("Pod", other), hints.is_better_company),
            Hinted(ClusterEvent("Node", node), hints.has_other_neighbours),
        )

    def _carried(self, pod: Pod, nodes: Snapshot) -> tuple[Carried, ...]:
        """The terms of existing pods that mean this pod; remembered while terms and namespaces stay."""
        index = nodes.pod_index
        if not index.carried:
            return ()
        now = (id(index), index.carried_version, nodes.listers.version("Namespace"))
        if self._wanting_of != now or len(self._wanting) > _REMEMBERED:
            self._wanting.clear()
            self._wanting_of = now
        key = (pod.namespace, frozenset(pod.labels.items()))
        found = self._wanting.get(key)
        if found is None:
            labels = _labels_of_namespace(pod, nodes)
            found = tuple(one for one in index.carried if is_wanted(one.term, pod, labels))
            self._wanting[key] = found
        return found

    def _contributions(
        self, pod: Pod, nodes: Snapshot
    ) -> Iterator[tuple[int, PodAffinityTerm, IntColumn]]:
        """(weight, term, pods it counts): the pod's own preferences, then those of existing pods about it."""
        for sign, preferred in ((1, pod.affinity.preferred), (-1, pod.anti_affinity.preferred)):
            for weight, term in preferred:
                yield sign * weight, term, nodes.pod_index.matching(_sort(nodes, term))
        for one in self._carried(pod, nodes):
            weight = one.weight if one.role == "affinity" else -one.weight
            if one.weight == 0:
                weight = self.args.hard_pod_affinity_weight if one.role == "affinity" else 0
            if weight:
                yield weight, one.term, nodes.pod_index.carried[one]


def _sort(nodes: Snapshot, *terms: PodAffinityTerm) -> Sort:
    """The pods that all terms mean; the namespaces that a selector means are looked up now."""
    namespaces: frozenset[str] | None = None
    for term in terms:
        meant = _namespaces(term, nodes)
        if meant is not None:
            namespaces = meant if namespaces is None else namespaces & meant
    return Sort(namespaces, tuple(term.selector for term in terms))


def _namespaces(term: PodAffinityTerm, nodes: Snapshot) -> frozenset[str] | None:
    """None: every namespace."""
    selector = term.namespace_selector
    if selector is None:
        return term.namespaces
    if not selector.requirements:
        return None
    known = nodes.listers.of("Namespace").values()
    return term.namespaces | {one.name for one in known if selector.matches(one.labels)}


def _slots(term: PodAffinityTerm, nodes: Snapshot) -> NDArray[np.int32]:
    """[node]: the node's domain + 1, 0 without the label."""
    key = term.topology_key
    return nodes.remembered(("slots", key), lambda: nodes.label(key).codes + 1)


def _sums(slots: NDArray[np.int32], counts: IntColumn) -> IntColumn:
    return np.bincount(slots, weights=counts, minlength=1).astype(np.int64)


def _labels_of_namespace(pod: Pod, nodes: Snapshot) -> Mapping[str, str]:
    namespace = nodes.listers.get("Namespace", pod.namespace)
    return namespace.labels if namespace else {}


def _counted(term: PodAffinityTerm, counts: IntColumn, nodes: Snapshot) -> Counted:
    slots = _slots(term, nodes)
    return Counted(term, slots, _sums(slots, counts))


def _any_inside(terms: Iterable[Counted]) -> Mask | None:
    """[node]: whether some term counts a pod in the node's domain."""
    found: Mask | None = None
    for one in terms:
        found = one.inside if found is None else found | one.inside
    return found


def _away_from_company(tally: Tally) -> Mask:
    """[node]: where a required affinity is not met; the first pod of a group may be its own company."""
    lonely = ~tally.affinity[0].inside
    unlabelled = tally.affinity[0].slots == 0
    for one in tally.affinity[1:]:
        lonely |= ~one.inside
        unlabelled |= one.slots == 0
    somewhere = any(bool(one.sums[1:].any()) for one in tally.affinity)
    return unlabelled if tally.is_own_company and not somewhere else lonely
