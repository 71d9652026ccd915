"""The sessions: which there are, how they fare, start and stop. The first page, when there is more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import actions, permissions, readers
from schedviz.web.views.parts import digest, is_known, nothing_new, session_page

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import Session


@permissions.require("session.view")
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The only session's board, or the list."""
    sessions = readers.sessions_list()
    return redirect("board", sessions[0].name) if len(sessions) == 1 else redirect("sessions")


@permissions.require("session.view")
@never_cache
@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    rows = [
        (session, *readers.session_status(session), _n_waiting(session))
        for session in readers.sessions_list()
    ]
    version = digest(
        [(s.pk, word, s.desired, s.last_cycle, s.counters, s.config) for s, word, *_ in rows]
    )
    if is_known(request, version):
        return nothing_new()
    context = {"rows": rows, "version": version, "tab": "sessions"}
    return render(request, "sessions/page.html", context)


def _n_waiting(session: Session) -> int | None:
    """Pods on their way through the queue; None while nothing is known."""
    lanes = (Lane.ACTIVE, Lane.BACKOFF, Lane.UNSCHEDULABLE, Lane.GATED)
    known = [session.counters[lane] for lane in lanes if lane in session.counters]
    return sum(known) if known else None


@session_page("session.start")
@require_POST
def session_start(request: HttpRequest, session: Session) -> HttpResponse:
    actions.session_start(request.user, session)
    return HttpResponse(status=204, headers={"HX-Trigger": "session-changed"})


@session_page("session.stop")
def session_stop(request: HttpRequest, session: Session) -> HttpResponse:
    """GET: the dialog that says what stopping means. POST: stop."""
    if request.method != "POST":
        return render(request, "sessions/stop.html", {"session": session})
    actions.session_stop(request.user, session)
    return HttpResponse(status=204, headers={"HX-Trigger": "session-changed, close-dialog"})
