"""How many feasible nodes are enough: percentageOfNodesToScore, and what it means when it is 0.

For whoever searches nodes with sampling; a recorded run looks at all of them. Mirrors schedule_one.go
numFeasibleNodesToFind (v1.36).
"""

from __future__ import annotations

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5


def num_feasible_nodes_to_find(percentage: int, num_all_nodes: int) -> int:
    """percentage 0: adaptive, from 50 % of a small cluster down to 5 % of one with 5,625 nodes and more."""
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)
