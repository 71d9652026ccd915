"""How many feasible nodes are enough, and which ones: percentageOfNodesToScore.

Used by `filtering` where a session is told to sample; without that every node is looked at, so that the record is
whole. Mirrors numFeasibleNodesToFind and findNodesThatPassFilters of schedule_one.go, and the order of
pkg/scheduler/backend/cache/node_tree.go (v1.36). Every filter speaks of every node here as well, at once; what is cut
off is what counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from schedviz.scheduler.framework.snapshot import Snapshot

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5
NOT_LOOKED_AT = -3
"""In a cycle's first_failure: enough nodes had been found before this one's turn."""
ZONE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")

Rows = NDArray[np.intp]


def num_feasible_nodes_to_find(percentage: int, num_all_nodes: int) -> int:
    """percentage 0: adaptive, from 50 % of a small cluster down to 5 % of one with 5,625 nodes and more."""
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


class Sampling:
    """One scheduler's search, all profiles' together: each cycle begins where the last one stopped."""

    def __init__(self) -> None:
        self._start = 0

    def cut(self, percentage: int, nodes: Snapshot, first_failure: NDArray[np.int16]) -> None:
        """Marks the nodes after the last one that was needed as NOT_LOOKED_AT. Nodes outside of the cycle (-2) are
        passed over."""
        order = nodes.remembered("round robin over zones", lambda: _by_zones(nodes))
        order = order[first_failure[order] != -2]
        if not len(order):
            return
        start = self._start % len(order)
        order = np.roll(order, -start)
        wanted = num_feasible_nodes_to_find(percentage, len(order))
        found = np.cumsum(first_failure[order] == -1)
        n_looked_at = int(np.searchsorted(found, wanted)) + 1
        first_failure[order[n_looked_at:]] = NOT_LOOKED_AT
        self._start = (start + min(n_looked_at, len(order))) % len(nodes)


def _by_zones(nodes: Snapshot) -> Rows:
    """The nodes of each zone in their order, a node of each zone in turn."""
    zones: dict[tuple[str, ...], list[int]] = {}
    for row, info in enumerate(nodes.infos):
        zone = tuple(info.labels.get(label, "") for label in ZONE_LABELS)
        zones.setdefault(zone, []).append(row)
    return np.fromiter(_in_turn(list(zones.values())), np.intp, len(nodes))


def _in_turn(zones: list[list[int]]) -> Iterator[int]:
    for turn in range(max(map(len, zones), default=0)):
        yield from (rows[turn] for rows in zones if turn < len(rows))
