"""Nodes whose cpu, memory and the rest would be used evenly are liked more.

Mirrors pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go (v1.36): how much better or worse
balanced the node is with the pod than without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import (
    CycleState,
    Plugin,
    RowMemo,
    Skip,
    Snapshot,
    Status,
)
from schedviz.scheduler.framework.row_memo import FEW, picked

NATIVE = ("cpu", "memory", "ephemeral-storage")


def balance(fractions: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """0..100 [node] from fractions [resource, node]: 100 when all are used alike. `counted`: which take part."""
    n = counted.sum(axis=0)
    used = np.where(counted, fractions, 0.0)
    mean = used.sum(axis=0) / np.maximum(n, 1)
    squares = np.where(counted, (fractions - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(n, 1))
    if len(fractions) == 2:
        deviation = np.where(n == 2, np.abs((fractions[0] - fractions[1]) / 2), deviation)
    elif (n == 2).any():
        deviation = np.where(n == 2, _half_difference(fractions, counted), deviation)
    deviation = np.where(n < 2, 0.0, deviation)
    return ((1.0 - deviation) * 100.0).astype(np.int64)


def _half_difference(
    fractions: NDArray[np.float64], counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    largest = np.where(counted, fractions, -np.inf).max(axis=0)
    smallest = np.where(counted, fractions, np.inf).min(axis=0)
    half: NDArray[np.float64] = np.abs((largest - smallest) / 2)
    return half


class NodeResourcesBalancedAllocation(Plugin):
    """Favour nodes that the pod leaves evenly used."""

    @dataclass(frozen=True)
    class Args:
        """NodeResourcesBalancedAllocationArgs: the resources compared (their weights are always 1)."""

        resources: tuple[str, ...] = ("cpu", "memory")

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> NodeResourcesBalancedAllocation.Args:
            named = tuple(one["name"] for one in raw.get("resources") or ())
            return cls(named or cls.resources)

    args: NodeResourcesBalancedAllocation.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: NodeResourcesBalancedAllocation.Args | None = None) -> None:
        super().__init__(args)
        self._scores = RowMemo()

    def pre_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> Status | None:
        return None if any(pod.requests.get(name, 0) for name in self.args.resources) else Skip()

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        wanted = tuple(
            (name, pod.requests.get(name, 0))
            for name in self.args.resources
            if name in NATIVE or pod.requests.get(name, 0)
        )
        column = self._scores.column(wanted, nodes, lambda some: _scored(wanted, nodes, some))
        return picked(column, rows)


def _scored(
    wanted: tuple[tuple[str, int], ...], nodes: Snapshot, rows: NDArray[np.intp]
) -> NDArray[np.int64]:
    if len(rows) <= FEW:
        return np.array([_score_of(wanted, nodes, row) for row in rows.tolist()], dtype=np.int64)
    shape = (len(wanted), len(rows))
    before = np.zeros(shape)
    after = np.zeros(shape)
    counted = np.zeros(shape, dtype=np.bool_)
    for i, (name, n) in enumerate(wanted):
        allocatable = nodes.allocatable(name)[rows]
        requested = nodes.requested(name)[rows]
        counted[i] = allocatable > 0
        safe = np.maximum(allocatable, 1)
        before[i] = np.minimum(requested / safe, 1.0)
        after[i] = np.minimum((requested + n) / safe, 1.0)
    change = 50 + balance(after, counted) - balance(before, counted)
    # Go's division truncates toward zero.
    halved: NDArray[np.int64] = 50 + np.sign(change) * (np.abs(change) // 2)
    return halved


def _score_of(wanted: tuple[tuple[str, int], ...], nodes: Snapshot, row: int) -> int:
    """`_scored` for one node."""
    before, after = [], []
    for name, n in wanted:
        room, used = int(nodes.allocatable(name)[row]), int(nodes.requested(name)[row])
        if room > 0:
            before.append(min(used / room, 1.0))
            after.append(min((used + n) / room, 1.0))
    change = 50 + _balance_of(after) - _balance_of(before)
    return 50 + int(change / 2)


def _balance_of(fractions: list[float]) -> int:
    """`balance` for one node."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = math.sqrt(sum((f - mean) ** 2 for f in fractions) / len(fractions))
    return int((1.0 - deviation) * 100.0)
