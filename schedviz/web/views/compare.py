"""Two attempts of one pod beside each other: what changed between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.web import comparison, readers
from schedviz.web.views.parts import session_page

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import Session


@session_page("session.view")
@require_safe
def compare(request: HttpRequest, session: Session, number: int, other: int) -> HttpResponse:
    first, second = (
        readers.cycle_detail(session, one) for one in (min(number, other), max(number, other))
    )
    if first is None or second is None:
        missing = min(number, other) if first is None else max(number, other)
        raise Http404(f"Cycle {missing} is not in the record (any more).")
    if first.row.pod_uid != second.row.pod_uid:
        raise Http404(f"Cycles {number} and {other} are not about the same pod.")
    context = {
        "session": session,
        "tab": "cycles",
        "first": first.row,
        "second": second.row,
        "both": (first.row, second.row),
        "found": comparison.compare(first.record, second.record),
    }
    return render(request, "cycle/compare.html", context)
