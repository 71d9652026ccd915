"""The list of sessions, and starting and stopping one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from schedviz.web import actions, permissions, readers
from schedviz.web.views.common import page, session_or_404

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_GET
@permissions.require("session.view")
def home(request: HttpRequest) -> HttpResponse:
    """To the only session's board, else to the list."""
    sessions = readers.sessions_list()
    return redirect("board", sessions[0].name) if len(sessions) == 1 else redirect("sessions")


@require_GET
@permissions.require("session.view")
def sessions(request: HttpRequest) -> HttpResponse:
    """Its table asks for itself again every two seconds."""
    rows = [(one, *readers.session_status(one)) for one in readers.sessions_list()]
    template = "parts/sessions_table.html" if request.headers.get("HX-Request") else "sessions.html"
    return page(request, template, {"rows": rows}, nav="sessions")


@require_POST
@permissions.require("session.start")
def start(request: HttpRequest, name: str) -> HttpResponse:
    actions.session_start(request.user, session_or_404(name))
    return _back(request)


@require_POST
@permissions.require("session.stop")
def stop(request: HttpRequest, name: str) -> HttpResponse:
    actions.session_stop(request.user, session_or_404(name))
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        return redirect(target)
    return redirect("sessions")
