"""The score of a utilisation along a line with corners, as configurations give it.

Used by plugins whose arguments have a `shape`. Mirrors pkg/scheduler/framework/plugins/helper/shape_score.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def broken_linear(shape: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """The score of each utilisation 0..100 along the points (utilisation, score); Go's division truncates."""
    points = list(shape)
    table = np.full(101, points[-1][1], dtype=np.int64)
    for utilization in range(101):
        for n, (at, score) in enumerate(points):
            if utilization <= at:
                before, base = points[n - 1] if n else (at, score)
                rise = (score - base) * (utilization - before)
                width = max(at - before, 1)
                table[utilization] = base + (abs(rise) // width) * (1 if rise >= 0 else -1)
                break
    return table
