"""A cycle's record arranged for its page: the sentence, the funnel, the scores, the steps. (See also `matrix`.)

Called by `views.cycle` with the record that `readers` read back. Nothing is recomputed but sums and orders: what the
page says is what the plugins answered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from schedviz.scheduler.framework.sampling import NOT_LOOKED_AT
from schedviz.scheduler.framework.status import Code
from schedviz.web import words

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord, Step

STACKED = 5
TIES_NAMED = 8


# ---- the sentence --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Why:
    """Parts of one sentence: the page sets the names in bold."""

    n_nodes: int
    n_feasible: int
    chosen: str
    total: int | None = None
    n_ties: int = 0
    ties: tuple[str, ...] = ()  # the first of them
    second: str = ""
    ahead: int = 0
    because: str = ""

    @property
    def is_only_one(self) -> bool:
        return bool(self.chosen) and self.total is None


def why(record: CycleRecord) -> Why:
    n_feasible = 0 if record.feasible is None else len(record.feasible)
    plain = Why(len(record.node_names), n_feasible, record.chosen)
    if record.totals is None or record.feasible is None or not record.chosen or n_feasible < 2:
        return plain
    names = [record.node_names[row] for row in record.feasible]
    at = names.index(record.chosen)
    total = int(record.totals[at])
    if record.n_ties:
        ties = tuple(record.node_names[row] for row in record.tied[:TIES_NAMED])
        return replace(plain, total=total, n_ties=record.n_ties, ties=ties)
    others = record.totals.copy()
    others[at] = np.iinfo(np.int64).min
    second = int(others.argmax())
    return Why(
        plain.n_nodes,
        n_feasible,
        record.chosen,
        total,
        second=names[second],
        ahead=total - int(record.totals[second]),
        because=_decisive(record, at, second),
    )


def _decisive(record: CycleRecord, first: int, second: int) -> str:
    """The plugin that gave the winner the most points over the runner-up."""
    gains = {
        step.plugin: int(step.scores.normalized[first] - step.scores.normalized[second])
        * step.scores.weight
        for step in record.steps
        if step.scores is not None
    }
    best = max(gains, key=lambda name: gains[name], default="")
    return best if gains.get(best, 0) > 0 else ""


# ---- the funnel ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stage:
    """`n` nodes are left after this filter; `part`: of all, in percent."""

    label: str
    plugin: str
    n: int
    lost: int
    part: float


def filters(record: CycleRecord) -> list[Step]:
    return [step for step in record.steps if step.point == "Filter"]


def funnel(record: CycleRecord) -> list[Stage]:
    """How the set of nodes shrank, filter by filter; filters that took none away are left out."""
    if record.first_failure is None:
        return []
    n_all = len(record.node_names)
    left = n_all
    stages = [Stage("all nodes", "", n_all, 0, 100.0)]
    unseen = int((record.first_failure == NOT_LOOKED_AT).sum())
    if unseen:
        left -= unseen
        stages.append(
            Stage("looked at until enough were found", "", left, unseen, 100.0 * left / n_all)
        )
    for index, step in enumerate(filters(record)):
        lost = int((record.first_failure == index).sum())
        if lost:
            left -= lost
            label = words.FILTERS.get(step.plugin, "")
            stages.append(Stage(label, step.plugin, left, lost, 100.0 * left / n_all))
    return stages


# ---- the scores ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a stacked bar, in percent of the widest one."""

    index: int
    plugin: str
    weighted: int
    x: float
    width: float

    @property
    def text_x(self) -> float:
        return self.x + self.width / 2

    @property
    def has_room(self) -> bool:
        return self.width >= 4


@dataclass(frozen=True, slots=True)
class ScoreRow:
    node: str
    total: int
    is_chosen: bool
    is_tied: bool
    parts: list[Part]
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scoring:
    plugins: list[tuple[str, int]]  # name, weight
    rows: list[ScoreRow]
    n_rows: int

    @property
    def stacked(self) -> list[ScoreRow]:
        return self.rows[:STACKED]


def scoring(record: CycleRecord, *, limit: int) -> Scoring | None:
    """The best nodes, the winner first. None: nothing was scored."""
    steps = [step for step in record.steps if step.scores is not None]
    if record.totals is None or record.feasible is None or not steps:
        return None
    names = [record.node_names[row] for row in record.feasible]
    chosen = names.index(record.chosen) if record.chosen in names else -1
    order = sorted(range(len(names)), key=lambda i: (i != chosen, -int(record.totals[i])))  # type: ignore[index]
    best = int(record.totals.max())
    widest = max(1, best)
    rows: list[ScoreRow] = []
    for i in order[:limit]:
        parts = [_part(step, i) for step in steps]
        segments = _segments(steps, parts, widest) if len(rows) < STACKED else []
        rows.append(
            ScoreRow(
                names[i],
                int(record.totals[i]),
                i == chosen,
                record.n_ties > 0 and int(record.totals[i]) == best,
                parts,
                segments,
            )
        )
    weights = [(step.plugin, step.scores.weight) for step in steps if step.scores]
    return Scoring(weights, rows, len(names))


def _part(step: Step, i: int) -> Part:
    assert step.scores is not None
    normalized = int(step.scores.normalized[i])
    return Part(int(step.scores.raw[i]), normalized, normalized * step.scores.weight)


def _segments(steps: list[Step], parts: list[Part], widest: int) -> list[Segment]:
    segments, x = [], 0.0
    for index, (step, part) in enumerate(zip(steps, parts, strict=True)):
        width = 100.0 * max(0, part.weighted) / widest
        segments.append(Segment(index % 8, step.plugin, part.weighted, x, width))
        x += width
    return segments


# ---- the steps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one plugin said at one extension point."""

    plugin: str
    code: Code
    reasons: tuple[str, ...]
    seconds: float
    note: str = ""

    @property
    def symbol(self) -> str:
        if self.code is Code.SUCCESS:
            return "●"
        return {Code.SKIP: "–", Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "◆", Code.ERROR: "!"}.get(
            self.code, "▲"
        )

    @property
    def tone(self) -> str:
        return {"●": "ok", "–": "soft", "◆": "never", "!": "never"}.get(self.symbol, "no")


@dataclass(frozen=True, slots=True)
class Group:
    """An extension point with what its plugins said."""

    point: str
    spoken: list[Spoken]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.spoken)


def groups(record: CycleRecord) -> list[Group]:
    steps = [*record.steps, *record.binding_steps]
    seconds = [*_padded(record.step_durations, record.steps)]
    seconds += _padded(record.binding_durations, record.binding_steps)
    firsts = _first_rejections(record)
    spoken = [
        (
            step.point,
            Spoken(step.plugin, step.status.code, step.status.reasons, s, _note(step, firsts)),
        )
        for step, s in zip(steps, seconds, strict=True)
    ]
    return [
        Group(point, [one for _, one in found])
        for point, found in groupby(spoken, key=lambda pair: pair[0])
    ]


def _padded(seconds: list[float], steps: list[Step]) -> list[float]:
    return [*seconds, *[0.0] * (len(steps) - len(seconds))]


def _first_rejections(record: CycleRecord) -> Counter[str]:
    if record.first_failure is None:
        return Counter()
    names = [step.plugin for step in filters(record)]
    return Counter(names[index] for index in record.first_failure if index >= 0)


def _note(step: Step, firsts: Counter[str]) -> str:
    if step.call is not None and step.call.error:
        return "no answer that counts"
    if step.nodes is not None:
        n_passed = int(step.nodes.passed.sum())
        n_asked = int((step.nodes.codes != int(Code.SKIP)).sum())
        first = firsts[step.plugin]
        more = f", first to reject {first}" if first else ""
        return f"passed {n_passed} of {n_asked}{more}"
    if step.scores is not None:
        return f"weight {step.scores.weight}"
    if step.node_names is not None:
        return f"narrowed down to {words.plural(len(step.node_names), 'node')}"
    return ""
