"""One cycle's record in the shape of its page: the strip, why, the funnel, the matrix, the scores.

Called by the cycle's view. Everything is read off the record; nothing is computed anew but sums and counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from schedviz.scheduler.framework.status import Code
from schedviz.web.board import PLAIN_POINTS

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord, Step
    from schedviz.web.readers import CycleDetail

MAX_TABLE = 200
"""With more nodes than this the matrix is drawn on a canvas."""
MAX_SCORES = 25
MARKS = {"ok": "●", "first": "▲", "never": "◆", "also": "△"}


@dataclass(slots=True)
class CycleView:
    record: CycleRecord
    points: list[dict[str, Any]]
    why: str
    funnel: list[dict[str, Any]] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    matrix: list[dict[str, Any]] = field(default_factory=list)
    is_large: bool = False
    names: list[str] = field(default_factory=list)
    score_plugins: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    n_scored: int = 0


def of(detail: CycleDetail) -> CycleView:
    record = detail.record
    view = CycleView(record, _points(record), _why(record))
    filters = [step for step in record.steps if step.point == "Filter" and step.nodes is not None]
    if record.first_failure is not None and filters:
        view.filters = [step.plugin for step in filters]
        view.funnel = _funnel(record, filters)
        view.is_large = len(record.node_names) > MAX_TABLE
        if view.is_large:
            view.names = list(record.node_names)
        else:
            view.matrix = _matrix(record, filters)
    scored = [step for step in record.steps if step.scores is not None]
    if scored and record.totals is not None:
        view.score_plugins = [
            {"name": s.plugin, "weight": s.scores.weight} for s in scored if s.scores
        ]
        view.scores = _scores(record, scored)
        view.n_scored = len(record.totals)
    return view


def _points(record: CycleRecord) -> list[dict[str, Any]]:
    """Every extension point in order, with each plugin's answer and time."""
    seconds = [*record.step_durations, *[0.0] * (len(record.steps) - len(record.step_durations))]
    later = [
        *record.binding_durations,
        *[0.0] * (len(record.binding_steps) - len(record.binding_durations)),
    ]
    timed = [
        *zip(record.steps, seconds, strict=True),
        *zip(record.binding_steps, later, strict=False),
    ]
    points = []
    for name in PLAIN_POINTS:
        own = [(step, took) for step, took in timed if step.point == name]
        points.append(
            {
                "point": name,
                "seconds": sum(took for _, took in own),
                "n_ran": sum(step.status.code is not Code.SKIP for step, _ in own),
                "n_skipped": sum(step.status.code is Code.SKIP for step, _ in own),
                "steps": [_step(step, took) for step, took in own],
            }
        )
    return points


def _step(step: Step, took: float) -> dict[str, Any]:
    text = ", ".join(step.status.reasons)
    if step.nodes is not None:
        n_refused = int((step.nodes.codes != 0).sum())
        text = (
            f"refused {n_refused} of {len(step.nodes)} nodes"
            if n_refused
            else f"all {len(step.nodes)} nodes pass"
        )
    elif step.scores is not None:
        text = f"weight {step.scores.weight}"
    elif step.node_names is not None:
        text = f"only {len(step.node_names)} nodes are worth filtering"
    return {"plugin": step.plugin, "code": step.status.code.title, "text": text, "seconds": took}


def _why(record: CycleRecord) -> str:
    n_nodes = len(record.node_names)
    if not record.chosen:
        return record.message
    n_feasible = 0 if record.feasible is None else len(record.feasible)
    if record.feasible is None:
        return f"{record.chosen} was chosen."
    if n_feasible == 1:
        return f"1 of {n_nodes} nodes could run it: {record.chosen}. A single node needs no scores."
    if record.totals is None:
        return f"{n_feasible} of {n_nodes} nodes could run it; {record.chosen} was chosen."
    best = int(record.totals.max())
    words = f"{n_feasible} of {n_nodes} nodes could run it; {record.chosen} won with {best}"
    if record.ties:
        return f"{words}, a tie of {len(record.ties)} nodes, picked at random."
    second = int(np.sort(record.totals)[-2])
    runner_up = record.node_names[
        record.feasible[int(np.argsort(-record.totals, kind="stable")[1])]
    ]
    return f"{words}, {best - second} ahead of {runner_up}."


def _funnel(record: CycleRecord, filters: list[Step]) -> list[dict[str, Any]]:
    """How the set of nodes shrank, filter by filter; filters that took none away are left out."""
    first = record.first_failure
    if first is None:
        return []
    n_all = len(first)
    left = n_all
    rows = [{"name": "all nodes", "n": n_all, "percent": 100}]
    outside = int((first == -2).sum())
    if outside:
        left -= outside
        rows.append({"name": "PreFilter's node set", "n": left, "percent": 100 * left // n_all})
    for number, step in enumerate(filters):
        lost = int((first == number).sum())
        if lost:
            left -= lost
            rows.append({"name": step.plugin, "n": left, "percent": 100 * left // n_all})
    return rows


def _matrix(record: CycleRecord, filters: list[Step]) -> list[dict[str, Any]]:
    totals = _total_by_row(record)
    rows = []
    for row, name in enumerate(record.node_names):
        first = int(record.first_failure[row]) if record.first_failure is not None else -1
        cells = [_cell(step, row, number == first) for number, step in enumerate(filters)]
        reasons = (
            filters[first].nodes.status(row).message if first >= 0 and filters[first].nodes else ""
        )
        if first == -2:
            reasons = "outside of PreFilter's node set"
        rows.append(
            {
                "name": name,
                "cells": cells,
                "reasons": reasons,
                "total": totals.get(row),
                "won": name == record.chosen,
            }
        )
    return sorted(
        rows, key=lambda one: (not one["won"], one["total"] is None, -(one["total"] or 0))
    )


def _cell(step: Step, row: int, is_first: bool) -> dict[str, str]:
    if step.nodes is None:
        return {"kind": "skip", "mark": "–", "title": "skipped"}
    status = step.nodes.status(row)
    if status.is_success:
        return {"kind": "ok", "mark": MARKS["ok"], "title": f"{step.plugin}: passed"}
    never = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    kind = ("never" if never else "first") if is_first else "also"
    return {"kind": kind, "mark": MARKS[kind], "title": f"{step.plugin}: {status.message}"}


def _total_by_row(record: CycleRecord) -> dict[int, int]:
    if record.totals is None or record.feasible is None:
        return {}
    return dict(zip(record.feasible.tolist(), record.totals.tolist(), strict=True))


def _scores(record: CycleRecord, scored: list[Step]) -> list[dict[str, Any]]:
    """The best nodes: raw, normalised and weighted of each plugin; bars are parts of the best total."""
    if record.totals is None or record.feasible is None:
        return []
    best = max(1, int(record.totals.max()))
    order = np.argsort(-record.totals, kind="stable")
    at = [i for i in order.tolist() if record.node_names[record.feasible[i]] == record.chosen]
    order = [*at, *[i for i in order.tolist() if i not in at]][:MAX_SCORES]
    rows = []
    for i in order:
        name = record.node_names[record.feasible[i]]
        parts, x = [], 0.0
        for number, step in enumerate(scored):
            scores = step.scores
            if scores is None:
                continue
            weighted = int(scores.normalized[i]) * scores.weight
            width = 100 * weighted / best
            parts.append(
                {
                    "plugin": step.plugin,
                    "color": number % 8,
                    "raw": int(scores.raw[i]),
                    "normalized": int(scores.normalized[i]),
                    "weighted": weighted,
                    "x": round(x, 2),
                    "width": round(width, 2),
                }
            )
            x += width
        rows.append(
            {
                "name": name,
                "total": int(record.totals[i]),
                "won": name == record.chosen,
                "parts": parts,
            }
        )
    return rows
