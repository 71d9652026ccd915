"""How one cycle's extenders were asked and what they said, as rows of its page.

Called by `views.cycle`. All of it is read from the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedviz.scheduler.framework.status import Code
from schedviz.web import words

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import Call, CycleRecord, Step

VERBS = {"Filter": "filter", "Score": "prioritize", "PostFilter": "preempt", "Bind": "bind"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One call. said: its answer in short, "" when there is none that counts; is_ignored: the cycle went on without."""

    extender: str
    verb: str
    call: Call
    said: str
    is_ignored: bool


def asked(record: CycleRecord) -> list[Asked]:
    """In the order in which they were asked."""
    return [
        Asked(
            step.plugin,
            VERBS.get(step.point, step.point),
            step.call,
            "" if step.call.error else _said(step),
            bool(step.call.error) and step.status.code is Code.SKIP,
        )
        for step in (*record.steps, *record.binding_steps)
        if step.call is not None
    ]


def _said(step: Step) -> str:
    if step.nodes is not None:
        codes = step.nodes.codes
        n_asked = int((codes != int(Code.SKIP)).sum())
        return f"passed {int((codes == 0).sum())} of {words.plural(n_asked, 'node')}"
    if step.scores is not None:
        raw = step.scores.raw
        n_scored = int(np.count_nonzero(raw))
        return f"scores {int(raw.min())} to {int(raw.max())}, {n_scored} of {len(raw)} above 0"
    return "bound it, it says" if step.point == "Bind" else "agreed"
