"""The pods of each node in the order in which preemption would spare them, as columns.

Used by preemption to dry-run many nodes at once. Kept up to date row by row, and only for rows that are asked for.
Mirrors MoreImportantPod and GetPodStartTime of pkg/scheduler/util/utils.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.snapshot import IntColumn, Snapshot

NOT_STARTED = float("inf")
NOBODY = 1 << 40
"""A priority above all: no pod stands here, so nobody preempts it."""
MOST_MEASURES = 32
Rows = NDArray[np.intp]
Table = NDArray[np.int64]


def started(pod: Pod) -> float:
    """A pod that has not started counts as starting now, after all others."""
    return NOT_STARTED if pod.start_time is None else pod.start_time


def by_importance(pods: Iterable[Pod]) -> list[Pod]:
    """The most important first: by priority, then by how long they have run. Of pods that have not started the later
    one comes first: upstream asks the clock for each, and the one asked first started "earlier"."""
    numbered = [
        (-pod.priority, started(pod), -n if pod.start_time is None else n, pod)
        for n, pod in enumerate(pods)
    ]
    numbered.sort(key=lambda one: one[:3])
    return [one[3] for one in numbered]


@dataclass(slots=True)
class _Measure:
    """of(pod) as a table, and which state of each row it shows."""

    of: Callable[[Pod], int]
    table: Table
    built: IntColumn


class PodTable:
    """pods [node][place], priority int64 [node, place] (NOBODY behind the last), n int64 [node]."""

    def __init__(self) -> None:
        self._of: tuple[Snapshot | None, int] = (None, -1)
        self._measures: dict[Hashable, _Measure] = {}

    def refresh(self, nodes: Snapshot, rows: Rows) -> None:
        """Bring these rows up to date; others may be old."""
        if self._of[0] is not nodes or self._of[1] != nodes.layout:
            self._of = (nodes, nodes.layout)
            self._forget(len(nodes))
        for row in rows[self._built[rows] < nodes.stamps[rows]].tolist():
            self._fill(row, by_importance(nodes.infos[row].pods.values()))
            self._built[row] = nodes.stamps[row]

    def measure(self, key: Hashable, of: Callable[[Pod], int], rows: Rows, width: int) -> Table:
        """int64 [row, place]: of(pod). `key` says which function it is; the longest unused is forgotten."""
        known = self._measures.pop(key, None)
        if known is None:
            if len(self._measures) >= MOST_MEASURES:
                del self._measures[next(iter(self._measures))]
            table = np.zeros_like(self.priority)
            known = _Measure(of, table, np.full(len(table), -1, dtype=np.int64))
        self._measures[key] = known
        for row in rows[known.built[rows] != self._built[rows]].tolist():
            pods = self.pods[row]
            known.table[row] = 0
            known.table[row, : len(pods)] = [known.of(pod) for pod in pods]
            known.built[row] = self._built[row]
        return known.table[rows, :width]

    def _forget(self, n_nodes: int) -> None:
        self._built: IntColumn = np.full(n_nodes, -1, dtype=np.int64)
        self.n: IntColumn = np.zeros(n_nodes, dtype=np.int64)
        self.pods: list[list[Pod]] = [[] for _ in range(n_nodes)]
        self.priority: Table = np.full((n_nodes, 8), NOBODY, dtype=np.int64)
        self._measures.clear()

    def _fill(self, row: int, pods: list[Pod]) -> None:
        if len(pods) > self.priority.shape[1]:
            self._widen(2 * len(pods))
        self.pods[row] = pods
        self.n[row] = len(pods)
        self.priority[row] = NOBODY
        self.priority[row, : len(pods)] = [pod.priority for pod in pods]

    def _widen(self, width: int) -> None:
        more = ((0, 0), (0, width - self.priority.shape[1]))
        self.priority = np.pad(self.priority, more, constant_values=NOBODY)
        for one in self._measures.values():
            one.table = np.pad(one.table, more)
