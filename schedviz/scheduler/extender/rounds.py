"""The rounds in which a scheduling cycle asks its extenders: one after the other what passes, all at once for scores.

Called by `schedule_one`. Mirrors findNodesThatPassExtenders and the extenders' part of prioritizeNodes of
pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.extender.asking import ask
from schedviz.scheduler.framework.extending import Extender, Filtered, Rows
from schedviz.scheduler.framework.filtering import FilterVerdict
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import Code, Status
from schedviz.scheduler.framework.steps import Cycle, Step

EXTENDER_NAME = "Extender"
"""What refused a pod, for the queue: any event may help it (framework.ExtenderName)."""


def passing(
    extenders: Sequence[Extender], pod: Pod, nodes: Snapshot, verdict: FilterVerdict, rows: Rows
) -> Cycle[Rows | Status]:
    """What is left of these rows, or the error that ends the cycle. Each is asked about what the one before let pass;
    the verdict is told who refused which node."""
    for extender in extenders:
        if not len(rows):
            break
        if not extender.filters(pod):
            continue
        said = yield from _noted(extender.filter(pod, nodes, rows), verdict)
        if isinstance(said, Filtered):
            codes = said.statuses.codes
            refused = (codes != int(Code.SUCCESS)) & (codes != int(Code.SKIP))
            verdict.first_failure[refused] = len(verdict.steps) + len(verdict.extended) - 1
            verdict.strangers.update(said.strangers)
            rows = said.rows
        elif said.code is Code.ERROR:
            return said
    return rows


def _noted(filtering: Cycle[Filtered | Status], verdict: FilterVerdict) -> Cycle[Filtered | Status]:
    """Keep the step in the verdict, too."""
    sent = None
    while True:
        try:
            one = filtering.send(sent)
        except StopIteration as end:
            said: Filtered | Status = end.value
            return said
        if isinstance(one, Step):
            verdict.extended.append(one)
        sent = yield one


def scored(
    extenders: Sequence[Extender], pod: Pod, nodes: Snapshot, rows: Rows
) -> Cycle[NDArray[np.int64]]:
    """What they add to the totals, int64 [feasible]."""
    totals = np.zeros(len(rows), dtype=np.int64)
    asked = [one for one in extenders if one.prioritizes(pod)]
    if not asked:
        return totals
    calls = [one.prioritize_call(pod, nodes, rows) for one in asked]
    answers = yield from ask(pod, calls)
    for extender, call, answer in zip(asked, calls, answers, strict=True):
        step = extender.prioritized(call, answer, nodes, rows)
        if step.scores is not None:
            totals += step.scores.normalized * step.scores.weight
        yield step
    return totals
