"""What required affinity terms come to: counts by domain, where they rule a node out, and how that changes when one
node's pods come and go.

The part of InterPodAffinity that filters; mirrors preFilterState and its updateWithPod of
pkg/scheduler/framework/plugins/interpodaffinity/filtering.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.kube.pod_spec import PodAffinityTerm
from schedviz.scheduler.framework import NodeInfo
from schedviz.scheduler.framework.pod_index import Sort
from schedviz.scheduler.framework.trials import Room

IntColumn = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Rules:
    """Where the pod may not be, by what is told first to last; None: nothing to say. [node]"""

    affinity: Mask | None
    anti_affinity: Mask | None
    existing: Mask | None
    tally: Tally

    def at(self, row: int) -> NodeRules:
        return NodeRules.of(self.tally, row)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many pods a term means: slots [node]: the node's domain + 1, 0 without the label; sums by slot."""

    term: PodAffinityTerm
    slots: NDArray[np.int32]
    sums: IntColumn

    @property
    def inside(self) -> Mask:
        """[node]: whether the node's domain has such a pod."""
        found: Mask = (self.sums > 0)[self.slots] & (self.slots > 0)
        return found


@dataclass(frozen=True, slots=True)
class Tally:
    """The pod's required terms and the ones that repel it, counted; is_own_company: the pod means itself. kin: the
    pods that all its affinity terms mean; apart: for each anti-affinity term, the pods it means."""

    affinity: tuple[Counted, ...]
    anti_affinity: tuple[Counted, ...]
    existing: tuple[Counted, ...]
    is_own_company: bool
    kin: Sort
    apart: tuple[Sort, ...]
    labels_of_namespace: Mapping[str, str]


@dataclass(slots=True)
class NodeRules:
    """The rules of one node, kept up while its pods come and go. Counts by topology key, as upstream counts pairs;
    keys that the node lacks are not there. elsewhere: whether other domains have kin."""

    tally: Tally
    affinity_counts: dict[str, int]
    anti_affinity_counts: dict[str, int]
    existing_counts: dict[str, int]
    elsewhere: bool

    @classmethod
    def of(cls, tally: Tally, row: int) -> NodeRules:
        elsewhere = any(_is_elsewhere(one, row) for one in tally.affinity)
        return cls(
            tally,
            _counts_at(tally.affinity, row),
            _counts_at(tally.anti_affinity, row),
            _counts_at(tally.existing, row),
            elsewhere,
        )

    def at(self, row: int) -> NodeRules:
        """A copy: there is one row only."""
        return replace(
            self,
            affinity_counts=self.affinity_counts.copy(),
            anti_affinity_counts=self.anti_affinity_counts.copy(),
            existing_counts=self.existing_counts.copy(),
        )

    def count(self, pod: Pod, other: Pod, node: NodeInfo, sign: int) -> None:
        """Another pod comes to the node, or leaves it."""
        tally = self.tally
        kin = [one.term for one in tally.affinity] if _means(tally.kin, other) else []
        apart = [
            one.term
            for one, sort in zip(tally.anti_affinity, tally.apart, strict=True)
            if _means(sort, other)
        ]
        existing = [
            term
            for term in other.anti_affinity.required
            if is_wanted(term, pod, tally.labels_of_namespace)
        ]
        for counts, terms in (
            (self.affinity_counts, kin),
            (self.anti_affinity_counts, apart),
            (self.existing_counts, existing),
        ):
            for key in (term.topology_key for term in terms):
                if key in node.labels:
                    counts[key] = counts.get(key, 0) + sign

    @property
    def affinity(self) -> Mask | None:
        tally, counts = self.tally, self.affinity_counts
        if not tally.affinity:
            return None
        keys = {one.term.topology_key for one in tally.affinity}
        met = keys <= counts.keys() and all(counts[key] > 0 for key in keys)
        if not met and keys <= counts.keys() and not self.elsewhere and not any(counts.values()):
            met = tally.is_own_company
        return np.array([not met])

    @property
    def anti_affinity(self) -> Mask:
        return np.array([any(n > 0 for n in self.anti_affinity_counts.values())])

    @property
    def existing(self) -> Mask:
        return np.array([any(n > 0 for n in self.existing_counts.values())])


def is_wanted(term: PodAffinityTerm, pod: Pod, labels_of_namespace: Mapping[str, str]) -> bool:
    """Whether another pod's term means this pod."""
    if term.selector is None or not term.selector.matches(pod.labels):
        return False
    if pod.namespace in term.namespaces:
        return True
    selector = term.namespace_selector
    return selector is not None and selector.matches(labels_of_namespace)


def meant(sort: Sort, other: Pod) -> int:
    return int(_means(sort, other))


def repelling(pod: Pod, key: str, labels: Mapping[str, str], other: Pod) -> int:
    """How many of the other's terms with this topology key keep the pod away."""
    terms = other.anti_affinity.required
    return sum(term.topology_key == key and is_wanted(term, pod, labels) for term in terms)


def crowded(room: Room, key: str, terms: Iterable[Counted], change: IntColumn | int) -> Mask:
    """[row]: whether the terms, all with this topology key, count a pod in the row's domain after the change."""
    slots = room.slots(key)
    sums = np.zeros(len(room), dtype=np.int64) + change
    for one in terms:
        sums += one.sums[slots]
    found: Mask = (sums > 0) & (slots > 0)
    return found


def _means(sort: Sort, other: Pod) -> bool:
    is_terminating = other.deletion_timestamp is not None
    return sort.has(other.namespace, other.labels, is_terminating=is_terminating)


def _is_elsewhere(one: Counted, row: int) -> bool:
    """Whether the term counts a pod in another domain than this node's."""
    slot = int(one.slots[row])
    here = int(slot > 0 and one.sums[slot] != 0)
    return int(np.count_nonzero(one.sums[1:])) > here


def _counts_at(terms: Iterable[Counted], row: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in terms:
        slot = int(one.slots[row])
        if slot:
            key = one.term.topology_key
            counts[key] = counts.get(key, 0) + int(one.sums[slot])
    return counts
