"""Operators' actions on a pod: what would change (GET), doing it (POST), and the answer (polled)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import actions, permissions, readers
from schedviz.web.actions import Refused
from schedviz.web.views.common import session_or_404

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Command, PodState, Session


@require_http_methods(["GET", "POST"])
@permissions.require("pod.retry")
def retry(request: HttpRequest, name: str, uid: str) -> HttpResponse:
    session, pod = _pod(name, uid)
    if request.method == "GET":
        change = f"It leaves {pod.lane} now and is tried in its turn among the active pods; its backoff does not count."
        return _confirm(
            request, session, pod, {"verb": "retry", "title": "Retry now", "change": change}
        )
    return _do(request, lambda key: actions.pod_retry(request.user, session, uid, key=key))


@require_http_methods(["GET", "POST"])
@permissions.require("pod.move")
def move(request: HttpRequest, name: str, uid: str) -> HttpResponse:
    session, pod = _pod(name, uid)
    to = (request.POST if request.method == "POST" else request.GET).get("to", "top")
    if request.method == "GET":
        asked = {
            "verb": "move",
            "title": f"Move to {to}",
            "change": _what_moves(session, pod, to),
            "to": to,
        }
        return _confirm(request, session, pod, asked)
    return _do(request, lambda key: actions.pod_move(request.user, session, uid, to=to, key=key))


@require_GET
@permissions.require("pod.retry")
def command(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks for itself again until there is an answer."""
    found = readers.command_result(pk)
    if found is None:
        raise Http404("There is no such command.")
    return render(request, "parts/command.html", {"command": found})


def _pod(name: str, uid: str) -> tuple[Session, PodState]:
    session = session_or_404(name)
    detail = readers.pod_detail(session, uid, limit=1)
    if detail is None:
        raise Http404("This session knows no such pod (any more).")
    return session, detail.pod


def _what_moves(session: Session, pod: PodState, to: str) -> str:
    rule = f"It never passes pods of another priority (its own is {pod.priority})."
    if pod.lane != Lane.ACTIVE:
        return (
            f"It is {pod.lane}; when it is active again it goes to the {to} of its priority. {rule}"
        )
    before = readers.active_pods_before(session, pod)
    return f"{before} active pods are tried before it now. {rule}"


def _confirm(
    request: HttpRequest, session: Session, pod: PodState, asked: dict[str, str]
) -> HttpResponse:
    """The dialog: what would change. Its key makes a second click the same command."""
    context = {"session": session, "pod": pod, "key": secrets.token_hex(16), **asked}
    return render(request, "parts/confirm.html", context)


def _do(request: HttpRequest, act: Callable[[str], Command]) -> HttpResponse:
    try:
        made = act(request.POST.get("key", ""))
    except Refused as refusal:
        return render(request, "parts/command.html", {"refusal": str(refusal)})
    return render(request, "parts/command.html", {"command": made})
