"""How preemption decided, arranged as a tree for a cycle's page: nodes, dry runs, candidates, criteria, choice.

Called by `views.cycle`. All of it is read from the record; nothing is run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedviz.scheduler.framework.status import Code

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import Candidate, CycleRecord, Step

SHOWN = 8
VICTIMS_NAMED = 6
EACH_VICTIM = 1 << 31
"""kube-scheduler adds so much for each victim to the sum of priorities, so that negative ones count as well."""
CRITERIA = (
    "budgets violated",
    "highest victim priority",
    "sum of priorities",
    "victims",
    "earliest start",
)
DECIDED = (
    "it violates the fewest disruption budgets",
    "its most important victim has the lowest priority",
    "the priorities of its victims add up to the least",
    "it has the fewest victims",
    "its most important victims started latest",
)
NOT_STARTED = float("inf")


@dataclass(frozen=True, slots=True)
class Cell:
    """A criterion's value for one candidate. standing: `even` with the best so far, `out` here, or `unasked`: it was
    out before. `moment`: the value is a point in time."""

    value: int | float | None
    standing: str
    is_moment: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """A node where preemption would make room."""

    node: str
    is_chosen: bool
    is_tied: bool
    victims: tuple[str, ...]  # the first of them
    n_victims: int
    cells: list[Cell]

    @property
    def n_more(self) -> int:
        return self.n_victims - len(self.victims)


@dataclass(frozen=True, slots=True)
class Tree:
    """never: nodes where removing pods does not help; n_failed: dry runs that made no room; said: the plugin's answer
    when it chose no node. decided: why the chosen node is ahead of the next, "" with one candidate or a draw."""

    plugin: str
    n_nodes: int
    n_never: int
    n_potential: int
    n_tried: int
    n_candidates: int
    branches: list[Branch]
    chosen: str = ""
    n_ties: int = 0
    decided: str = ""
    said: str = ""

    @property
    def n_failed(self) -> int:
        return max(0, self.n_tried - self.n_candidates)

    @property
    def n_untried(self) -> int:
        return max(0, self.n_potential - self.n_tried)

    @property
    def n_more(self) -> int:
        return self.n_candidates - len(self.branches)


def tree(record: CycleRecord) -> Tree | None:
    """None when no preemption was asked for, or when its detail is not kept any more."""
    spoken = [one for one in record.steps if one.point == "PostFilter" and one.call is None]
    if not spoken or record.feasible is None:
        return None
    step = next((one for one in spoken if one.preemption is not None), spoken[-1])
    told = step.preemption
    candidates = told.candidates if told else ()
    chosen = told.chosen if told else ""
    codes = _codes(record)
    keys = {one.node_name: _key(one) for one in candidates}
    ties = told.ties if told else ()
    order = sorted(candidates, key=lambda one: (one.node_name != chosen, keys[one.node_name]))
    best = keys.get(chosen)
    return Tree(
        plugin=step.plugin,
        n_nodes=len(codes),
        n_never=int((codes != int(Code.UNSCHEDULABLE)).sum()),
        n_potential=int((codes == int(Code.UNSCHEDULABLE)).sum()),
        n_tried=told.n_tried if told else 0,
        n_candidates=len(candidates),
        branches=[_branch(one, chosen, ties, best) for one in order[:SHOWN]],
        chosen=chosen,
        n_ties=len(ties) if len(ties) > 1 else 0,
        decided=_decided(list(keys.values()), best, len(ties)),
        said="" if chosen else step.status.message,
    )


def _codes(record: CycleRecord) -> np.ndarray:
    """[node]: the code of its first failure. Nodes that no filter was asked about have what PreFilter said."""
    n_nodes = len(record.node_names)
    before: list[Step] = [one for one in record.steps if one.point == "PreFilter"]
    refused = [one.status.code for one in before if one.status.is_rejected]
    said = refused[-1] if refused else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    codes = np.full(n_nodes, int(said), dtype=np.uint8)
    if record.first_failure is None:
        return codes
    for number, step in enumerate(one for one in record.steps if one.point == "Filter"):
        rows = record.first_failure == number
        if step.nodes is not None and rows.any():
            codes[rows] = step.nodes.codes[rows]
    return codes


Key = tuple[int, int, int, int, float]


def _key(one: Candidate) -> Key:
    """Smaller is better, in the order in which kube-scheduler asks."""
    since = NOT_STARTED if one.earliest_start is None else one.earliest_start
    n_victims = len(one.victims)
    return (one.n_pdb_violations, one.highest_priority, one.priority_sum, n_victims, -since)


def _branch(one: Candidate, chosen: str, ties: tuple[str, ...], best: Key | None) -> Branch:
    key = _key(one)
    n_victims = len(one.victims)
    out_at = _parting(key, best) if best is not None else len(CRITERIA)
    values = (
        *(one.n_pdb_violations, one.highest_priority, one.priority_sum - n_victims * EACH_VICTIM),
        *(n_victims, one.earliest_start),
    )
    cells = [
        Cell(value, "even" if at < out_at else "out" if at == out_at else "unasked", at == 4)
        for at, value in enumerate(values)
    ]
    return Branch(
        node=one.node_name,
        is_chosen=one.node_name == chosen,
        is_tied=len(ties) > 1 and one.node_name in ties,
        victims=one.victims[:VICTIMS_NAMED],
        n_victims=n_victims,
        cells=cells,
    )


def _parting(key: Key, best: Key) -> int:
    """The criterion at which the two part; behind the last one when they do not."""
    pairs = zip(key, best, strict=True)
    return next((at for at, (mine, its) in enumerate(pairs) if mine != its), len(CRITERIA))


def _decided(keys: list[Key], best: Key | None, n_ties: int) -> str:
    """The criterion at which the last of the others went out."""
    if best is None or n_ties > 1 or len(keys) < 2:
        return ""
    partings = [at for key in keys if (at := _parting(key, best)) < len(CRITERIA)]
    return DECIDED[max(partings)] if partings else ""
