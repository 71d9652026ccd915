"""What every page needs: the session of its address, and the context that the frame of the page reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render

from schedviz.web import permissions, readers

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session


def session_or_404(name: str) -> Session:
    session = readers.session_by_name(name)
    if session is None:
        raise Http404(f"There is no session {name!r}.")
    return session


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    nav: str = "",
    status: int = 200,
) -> HttpResponse:
    """A whole page with its head and its navigation."""
    frame = {
        "nav": nav,
        "may_run": permissions.may(request.user, "session.start"),
        "may_act": permissions.may(request.user, "pod.retry"),
        "may_audit": permissions.may(request.user, "audit.view"),
    }
    return render(request, template, {**frame, **context}, status=status)
