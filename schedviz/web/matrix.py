"""The node x plugin matrix of one cycle: every filter's verdict on every node, as a table or as a binary frame.

Made of the record by `views.cycle`; the frame is drawn by the page's script when there are many nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from schedviz.scheduler import plugins
from schedviz.scheduler.framework.sampling import NOT_LOOKED_AT
from schedviz.scheduler.framework.status import Code
from schedviz.web.cycle_page import filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedviz.scheduler.framework.steps import CycleRecord, Step

PASSED, FIRST, FIRST_NEVER, TOO, SKIPPED, TOO_NEVER, ERROR = range(7)
ENOUGH = "not looked at: enough nodes had been found"
SYMBOLS = "●▲◆△–◇!"
MEANINGS = (
    "passed",
    "rejected it first, not yet: a change may help",
    "rejected it first, never: removing pods does not help",
    "would reject it too",
    "had nothing to do for this pod",
    "would reject it too, never",
    "failed with an error",
)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Every filter's verdict on every node, the chosen one first, then by total, then by what rejected it."""

    plugins: list[str]
    names: list[str]
    cells: NDArray[np.uint8]  # [node, plugin], codes as in SYMBOLS
    outcomes: list[tuple[int | None, str]]  # total, reason

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "node": name,
                "cells": [int(cell) for cell in self.cells[i]],
                "total": self.outcomes[i][0],
                "reason": self.outcomes[i][1],
            }
            for i, name in enumerate(self.names)
        ]

    def frame(self, chosen: str) -> bytes:
        """u32 length, JSON {plugins, names, reasons, totals, chosen}, then the cells row by row."""
        head = orjson.dumps(
            {
                "plugins": self.plugins,
                "names": self.names,
                "reasons": [reason for _, reason in self.outcomes],
                "totals": [total for total, _ in self.outcomes],
                "chosen": chosen,
                "meanings": MEANINGS,
            }
        )
        return len(head).to_bytes(4, "little") + head + self.cells.tobytes()


def matrix(record: CycleRecord) -> Matrix | None:
    """None: no filter ran, or the detail was dropped."""
    steps = filters(record)
    if record.first_failure is None or not steps:
        return None
    columns = _columns(record, steps)
    n_nodes = len(record.node_names)
    cells = np.full((n_nodes, len(columns)), SKIPPED, dtype=np.uint8)
    for index, step in enumerate(steps):
        if step.nodes is not None:
            cells[:, columns.index(step.plugin)] = _verdicts(
                step.nodes.codes, record.first_failure == index
            )
    cells[record.first_failure == NOT_LOOKED_AT] = SKIPPED
    outcomes = _outcomes(record, steps)
    order = sorted(range(n_nodes), key=lambda row: _rank(record, row, outcomes[row]))
    return Matrix(
        columns,
        [record.node_names[row] for row in order],
        cells[np.array(order, dtype=np.intp)],
        [outcomes[row] for row in order],
    )


def _columns(record: CycleRecord, steps: list[Step]) -> list[str]:
    """The filters that ran and, at their places, those that had nothing to do."""
    ran = list(dict.fromkeys(step.plugin for step in steps))  # an extender may be asked twice
    idle = [
        step.plugin
        for step in record.steps
        if step.point == "PreFilter"
        and step.status.code is Code.SKIP
        and step.plugin not in ran
        and _can_filter(step.plugin)
    ]
    places = {name: place for place, name in enumerate(plugins.IN_TREE)}
    return sorted([*ran, *idle], key=lambda name: places.get(name, len(places)))


def _can_filter(plugin: str) -> bool:
    kind = plugins.IN_TREE.get(plugin)
    return hasattr(kind, "filter") or hasattr(kind, "filter_nodes")


def _verdicts(codes: NDArray[np.uint8], is_first: NDArray[np.bool_]) -> NDArray[np.uint8]:
    never = codes == int(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    failed = codes != 0
    verdicts = np.zeros(len(codes), dtype=np.uint8)
    verdicts[failed] = TOO
    verdicts[failed & never] = TOO_NEVER
    verdicts[failed & is_first] = FIRST
    verdicts[failed & is_first & never] = FIRST_NEVER
    verdicts[codes == int(Code.ERROR)] = ERROR
    verdicts[codes == int(Code.SKIP)] = SKIPPED
    return verdicts


def _outcomes(record: CycleRecord, steps: list[Step]) -> list[tuple[int | None, str]]:
    outcomes: list[tuple[int | None, str]] = [(None, "")] * len(record.node_names)
    if record.totals is not None and record.feasible is not None:
        for row, total in zip(record.feasible, record.totals, strict=True):
            outcomes[row] = (int(total), "")
    assert record.first_failure is not None
    for row in np.flatnonzero(record.first_failure == NOT_LOOKED_AT):
        outcomes[row] = (None, ENOUGH)
    for row in np.flatnonzero(record.first_failure >= 0):
        nodes = steps[record.first_failure[row]].nodes
        outcomes[row] = (None, nodes.status(row).message if nodes is not None else "")
    return outcomes


def _rank(record: CycleRecord, row: int, outcome: tuple[int | None, str]) -> tuple[Any, ...]:
    assert record.first_failure is not None
    failed = int(record.first_failure[row])
    is_chosen = record.node_names[row] == record.chosen
    return (
        not is_chosen,
        failed >= 0 or failed == NOT_LOOKED_AT,
        -(outcome[0] or 0),
        -failed,
        outcome[1],
        row,
    )
