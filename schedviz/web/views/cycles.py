"""The record's cycles, newest first. New ones are announced, not pushed under the reader's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.scheduler.framework.steps import Outcome
from schedviz.web import readers
from schedviz.web.views.parts import nothing_new, session_page, wants_rows

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session

OUTCOMES = [(outcome.value, outcome.value.replace("_", " ")) for outcome in Outcome]


@session_page("session.view")
@require_safe
def cycles(request: HttpRequest, session: Session) -> HttpResponse:
    if "newer" in request.GET:
        return _newer(request, session)
    outcome = request.GET.get("outcome", "")
    if outcome not in dict(OUTCOMES):
        outcome = ""
    after = request.GET.get("after")
    page = readers.cycles_page(session, after=after, outcome=outcome)
    context = {
        "session": session,
        "tab": "cycles",
        "page": page,
        "outcome": outcome,
        "outcomes": OUTCOMES,
        "is_first": after is None,
        "ring": readers.ring_state(session),
        "newest": session.last_cycle,
    }
    template = "cycles/rows.html" if wants_rows(request) else "cycles/page.html"
    return render(request, template, context)


def _newer(request: HttpRequest, session: Session) -> HttpResponse:
    """How many cycles there are beyond those that the page shows."""
    known = request.GET["newer"]
    known_number = int(known) if known.isascii() and known.isdigit() and len(known) < 19 else 0
    n_new = session.last_cycle - known_number
    if n_new <= 0:
        return nothing_new()
    outcome = request.GET.get("outcome", "")
    context = {"session": session, "n_new": n_new, "known": known_number, "outcome": outcome}
    return render(request, "cycles/newer.html", context)
