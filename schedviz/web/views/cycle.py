"""One cycle: what every plugin said, how the nodes were crossed out and scored, and why the chosen one won."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.scheduler.framework.steps import Outcome
from schedviz.web import cycle_page, explanation, extender_calls, frames, preemption, readers
from schedviz.web import matrix as matrices
from schedviz.web.strip import strip
from schedviz.web.views.parts import digest, is_known, nothing_new, session_page

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import Session
    from schedviz.web.readers import CycleDetail

HTML_NODES = 200
"""Up to so many nodes the matrix is a table, beyond it is drawn."""
SCORE_ROWS = 20
ALL_SCORE_ROWS = 5000


@session_page("session.view")
@require_safe
def cycle(request: HttpRequest, session: Session, number: int) -> HttpResponse:
    detail = _find(session, number)
    row, record = detail.row, detail.record
    version = digest(row.outcome, row.message, detail.has_detail)
    if is_known(request, version):
        return nothing_new()
    show_all = request.GET.get("scores") == "all"
    before, after = readers.attempts_beside(session, row)
    matrix = matrices.matrix(record)
    context = {
        "session": session,
        "tab": "cycles",
        "row": row,
        "record": record,
        "detail": detail,
        "version": version,
        "is_open": row.outcome == Outcome.SCHEDULED,
        "before": before,
        "after": after,
        "strip": strip(frames.cycle_in_short(record)),
        "linked": True,
        "why": cycle_page.why(record),
        "rejections": explanation.rejections(record),
        "funnel": cycle_page.funnel(record),
        "preemption": preemption.tree(record),
        "criteria": preemption.CRITERIA,
        "extenders": extender_calls.asked(record),
        "kept_room": list(record.nominated_there.items()),
        "scoring": cycle_page.scoring(record, limit=ALL_SCORE_ROWS if show_all else SCORE_ROWS),
        "groups": cycle_page.groups(record),
        "matrix": matrix,
        "is_drawn": matrix is not None and len(matrix.names) > HTML_NODES,
        "symbols": list(zip(matrices.SYMBOLS, matrices.MEANINGS, strict=True)),
    }
    return render(request, "cycle/page.html", context)


@session_page("session.view")
@require_safe
def matrix(request: HttpRequest, session: Session, number: int) -> HttpResponse:
    """The matrix as a binary frame, for the canvas."""
    record = _find(session, number).record
    found = matrices.matrix(record)
    if found is None:
        raise Http404(f"Cycle {number} has no filter verdicts.")
    return HttpResponse(found.frame(record.chosen), content_type="application/octet-stream")


def _find(session: Session, number: int) -> CycleDetail:
    detail = readers.cycle_detail(session, number)
    if detail is None:
        ring = readers.ring_state(session)
        raise Http404(
            f"Cycle {number} is not in the record. It keeps {ring.kept_from} to {ring.last_cycle}."
        )
    return detail
