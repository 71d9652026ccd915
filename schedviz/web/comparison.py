"""Two attempts of one pod beside each other: what became of the nodes, the demands and the scores between them.

Called by `views.compare` with two records, the earlier first. Nothing is recomputed but differences.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedviz.scheduler.explain import clauses
from schedviz.scheduler.framework.status import Code

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord

NODES_NAMED = 6
SCORES_TOLD = 12
OUTSIDE = "left out by PreFilter"
Plugins = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Nodes whose failing plugins changed alike; no plugins: the node passed."""

    before: Plugins
    after: Plugins
    n_nodes: int
    nodes: tuple[str, ...]  # the first of them

    @property
    def n_more(self) -> int:
        return self.n_nodes - len(self.nodes)


@dataclass(frozen=True, slots=True)
class Demand:
    """How many nodes failed a demand, whatever else they failed."""

    plugin: str
    reason: str
    before: int
    after: int

    @property
    def gain(self) -> int:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A node that passed both times. parts: by how much each plugin's weighted score changed, in the order of
    `Comparison.scorers`."""

    node: str
    before: int
    after: int
    parts: tuple[int, ...]

    @property
    def gain(self) -> int:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """came, went: nodes that only one of the two knew. is_whole: both still have their columns."""

    is_whole: bool
    came: list[str]
    went: list[str]
    turns: list[Turn]
    n_same: int
    demands: list[Demand]
    scorers: list[str]
    scores: list[ScoreChange]
    n_scores: int

    @property
    def is_equal(self) -> bool:
        is_same_nodes = not (self.came or self.went or self.turns)
        return self.is_whole and is_same_nodes and not self.scores


def compare(earlier: CycleRecord, later: CycleRecord) -> Comparison:
    before, after = set(earlier.node_names), set(later.node_names)
    turns, n_same = _turns(earlier, later)
    scorers, scores = _scores(earlier, later)
    return Comparison(
        is_whole=earlier.feasible is not None and later.feasible is not None,
        came=[name for name in later.node_names if name not in before],
        went=[name for name in earlier.node_names if name not in after],
        turns=turns,
        n_same=n_same,
        demands=_demands(earlier, later),
        scorers=scorers,
        scores=scores[:SCORES_TOLD],
        n_scores=len(scores),
    )


# ---- nodes ---------------------------------------------------------------------------------------------------------


def _turns(earlier: CycleRecord, later: CycleRecord) -> tuple[list[Turn], int]:
    """(what changed, the most frequent first; how many nodes answered as before)."""
    before, after = _failing(earlier), _failing(later)
    names: dict[tuple[Plugins, Plugins], list[str]] = defaultdict(list)
    for node, plugins in after.items():
        if node in before:
            names[before[node], plugins].append(node)
    n_same = sum(len(nodes) for (old, new), nodes in names.items() if old == new)
    turns = [
        Turn(old, new, len(nodes), tuple(nodes[:NODES_NAMED]))
        for (old, new), nodes in names.items()
        if old != new
    ]
    return sorted(turns, key=lambda turn: (-turn.n_nodes, turn.before, turn.after)), n_same


def _failing(record: CycleRecord) -> dict[str, Plugins]:
    """node -> the filters that refused it, all of them. Empty when they were not asked or are not kept."""
    if record.first_failure is None:
        return {}
    plugins: list[list[str]] = [
        [OUTSIDE] if first == -2 else [] for first in record.first_failure.tolist()
    ]
    for step in record.steps:
        if step.point == "Filter" and step.nodes is not None:
            codes = step.nodes.codes
            failed = (codes != int(Code.SUCCESS)) & (codes != int(Code.SKIP))
            for row in np.flatnonzero(failed).tolist():
                plugins[row].append(step.plugin)
    return dict(zip(record.node_names, map(tuple, plugins), strict=True))


def _demands(earlier: CycleRecord, later: CycleRecord) -> list[Demand]:
    """Every demand that some node failed in one of the two, in the filters' order."""
    before = {(one.plugin, one.reason): one.n_fail for one in clauses(earlier)}
    after = {(one.plugin, one.reason): one.n_fail for one in clauses(later)}
    keys = [*after, *(key for key in before if key not in after)]
    return [Demand(*key, before.get(key, 0), after.get(key, 0)) for key in keys]


# ---- scores --------------------------------------------------------------------------------------------------------


def _scores(earlier: CycleRecord, later: CycleRecord) -> tuple[list[str], list[ScoreChange]]:
    """The nodes whose total changed, the largest change first."""
    before, after = _weighted(earlier), _weighted(later)
    scorers = list(dict.fromkeys([*after, *before]))
    totals_before, totals_after = _totals(earlier), _totals(later)
    found = []
    for node, total in totals_after.items():
        old = totals_before.get(node)
        if old is None or old == total:
            continue
        parts = tuple(
            after.get(name, {}).get(node, 0) - before.get(name, {}).get(node, 0) for name in scorers
        )
        found.append(ScoreChange(node, old, total, parts))
    return scorers, sorted(found, key=lambda one: (-abs(one.gain), one.node))


def _totals(record: CycleRecord) -> dict[str, int]:
    if record.totals is None or record.feasible is None:
        return {}
    names = (record.node_names[row] for row in record.feasible.tolist())
    return dict(zip(names, record.totals.tolist(), strict=True))


def _weighted(record: CycleRecord) -> dict[str, dict[str, int]]:
    """plugin -> node -> its weighted score."""
    return {
        step.plugin: {
            record.node_names[row]: score * step.scores.weight
            for row, score in zip(
                step.scores.rows.tolist(), step.scores.normalized.tolist(), strict=True
            )
        }
        for step in record.steps
        if step.scores is not None
    }
