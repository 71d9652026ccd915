"""How many pods of which sort stand on each node, kept up to date as pods come and go.

Built by the snapshot, read by plugins that look at other pods: for them a cycle must not cost more when more pods run.
Two questions are answered in columns: how many pods here match this (`matching`), and how many pods here carry this
affinity term themselves (`carried`). Upstream walks over all pods in each cycle instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import LabelSelector
from schedviz.kube.objects import Pod
from schedviz.kube.pod_spec import PodAffinityTerm
from schedviz.kube.volumes import claim_names

if TYPE_CHECKING:
    from schedviz.scheduler.framework.node_info import NodeInfo

IntColumn = NDArray[np.int64]
_MOST_TABLES = 1024


@dataclass(frozen=True, slots=True)
class Sort:
    """Which pods: in these namespaces (None: in any) and matching all selectors; terminating ones, if they count."""

    namespaces: frozenset[str] | None
    selectors: tuple[LabelSelector | None, ...]
    with_terminating: bool = True

    def has(self, namespace: str, labels: Mapping[str, str], *, is_terminating: bool) -> bool:
        if is_terminating and not self.with_terminating:
            return False
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return all(one is not None and one.matches(labels) for one in self.selectors)


@dataclass(frozen=True, slots=True)
class Carried:
    """A term that pods carry. role: "affinity" or "anti"; weight 0: required."""

    role: str
    weight: int
    term: PodAffinityTerm


class _Kind:
    """Pods of one namespace with the same labels: rows they stand on, and the tables that count them."""

    __slots__ = ("is_terminating", "labels", "namespace", "rows", "tables")

    def __init__(self, pod: Pod) -> None:
        self.namespace = pod.namespace
        self.labels = pod.labels
        self.is_terminating = pod.deletion_timestamp is not None
        self.rows: dict[int, int] = {}
        self.tables: list[IntColumn] = []

    def is_of(self, sort: Sort) -> bool:
        return sort.has(self.namespace, self.labels, is_terminating=self.is_terminating)


class PodIndex:
    """The rows are the snapshot's; a snapshot whose rows come or go builds a new one."""

    def __init__(self, infos: Iterable[NodeInfo], n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        self._tables: dict[Sort, IntColumn] = {}
        self.carried: dict[Carried, IntColumn] = {}
        """The terms that pods carry -> how many pods of each node [node]."""
        self.with_volumes: dict[int, dict[str, Pod]] = {}
        """row -> the pods there that have volumes, by uid."""
        self._claims: Counter[str] = Counter()
        self._carriers: dict[Carried, int] = {}
        self.carried_version = 0
        """Grows when a term is carried for the first time or no more."""
        for row, info in enumerate(infos):
            for pod in info.pods.values():
                self._count(row, pod, 1)

    def matching(self, sort: Sort) -> IntColumn:
        """int64 [node]: how many pods of this sort. It stays up to date; never write to it."""
        table = self._tables.get(sort)
        if table is None:
            if len(self._tables) >= _MOST_TABLES:
                self._forget_tables()
            table = self._tables[sort] = np.zeros(self._n_nodes, dtype=np.int64)
            for kind in self._kinds.values():
                if kind.is_of(sort):
                    kind.tables.append(table)
                    for row, n in kind.rows.items():
                        table[row] += n
        return table

    def uses_claim(self, key: str) -> bool:
        """Whether some pod on some node uses this claim ("namespace/name")."""
        return self._claims[key] > 0

    def change(self, row: int, before: Mapping[str, Pod], after: Mapping[str, Pod]) -> None:
        """The pods of a node are other ones now."""
        for uid, pod in before.items():
            if after.get(uid) is not pod:
                self._count(row, pod, -1)
        for uid, pod in after.items():
            if before.get(uid) is not pod:
                self._count(row, pod, 1)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        kind = self._kind(pod)
        n = kind.rows.get(row, 0) + sign
        if n:
            kind.rows[row] = n
        else:
            del kind.rows[row]
        for table in kind.tables:
            table[row] += sign
        if pod.volumes:
            self._count_volumes(row, pod, sign)
        if pod.affinity.is_empty and pod.anti_affinity.is_empty:
            return
        for term in _terms(pod):
            self._carry(row, term, sign)

    def _count_volumes(self, row: int, pod: Pod, sign: int) -> None:
        there = self.with_volumes.setdefault(row, {})
        if sign > 0:
            there[pod.uid] = pod
        else:
            there.pop(pod.uid, None)
            if not there:
                del self.with_volumes[row]
        for one in claim_names(pod):
            if not one.is_ephemeral:
                self._claims[one.key(pod)] += sign

    def _kind(self, pod: Pod) -> _Kind:
        key = (pod.namespace, pod.deletion_timestamp is None, frozenset(pod.labels.items()))
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind(pod)
            kind.tables = [table for sort, table in self._tables.items() if kind.is_of(sort)]
        return kind

    def _carry(self, row: int, term: Carried, sign: int) -> None:
        table = self.carried.get(term)
        if table is None:
            table = self.carried[term] = np.zeros(self._n_nodes, dtype=np.int64)
            self._carriers[term] = 0
            self.carried_version += 1
        table[row] += sign
        self._carriers[term] += sign
        if not self._carriers[term]:
            del self.carried[term], self._carriers[term]
            self.carried_version += 1

    def _forget_tables(self) -> None:
        self._tables.clear()
        for key in [key for key, kind in self._kinds.items() if not kind.rows]:
            del self._kinds[key]
        for kind in self._kinds.values():
            kind.tables = []


def _terms(pod: Pod) -> Iterable[Carried]:
    for role, part in (("affinity", pod.affinity), ("anti", pod.anti_affinity)):
        for term in part.required:
            yield Carried(role, 0, term)
        for weight, term in part.preferred:
            yield Carried(role, weight, term)
