"""A column that is worked out once per shape of pod and afterwards only where nodes changed.

Used by plugins whose answer for a node depends on that node and on the pod's shape alone: pods of one template come in
hundreds, and between two of them a node or two change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from schedviz.scheduler.framework.snapshot import Snapshot

Column = NDArray[np.int64]
Rows = NDArray[np.intp]


FEW = 4
"""So few rows are worked out one by one: a dozen calls of NumPy cost more."""


def picked(column: Column, rows: Rows) -> Column:
    """A copy of these rows: of all of them when they are as many (rows never come twice)."""
    return column.copy() if len(rows) == len(column) else column[rows]


class RowMemo:
    """Remembers at most `limit` shapes, the longest unused is forgotten."""

    def __init__(self, limit: int = 128) -> None:
        self._limit = limit
        self._columns: dict[Hashable, tuple[int, Column]] = {}
        self._of: tuple[int, int] = (0, -1)

    def column(self, shape: Hashable, nodes: Snapshot, compute: Callable[[Rows], Column]) -> Column:
        """int64 [node]; `compute` answers for the rows it is given. Never write to it, nor keep it."""
        if nodes.is_trial:
            return compute(np.arange(len(nodes), dtype=np.intp))
        if self._of != (id(nodes), nodes.layout):
            self._columns.clear()
            self._of = (id(nodes), nodes.layout)
        known = self._columns.pop(shape, None)
        if known is None:
            column = compute(np.arange(len(nodes), dtype=np.intp))
            if len(self._columns) >= self._limit:
                del self._columns[next(iter(self._columns))]
        else:
            stamp, column = known
            rows = nodes.changed_since(stamp)
            if len(rows):
                column[rows] = compute(rows)
        self._columns[shape] = (nodes.stamp, column)
        return column
