"""What an operator asks of a pod or a queue: a dialog that says what will change, the wish, and its answer.

GET shows the dialog, POST writes the wish (`actions`), then the dialog asks for the answer until it is there.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from schedviz.scheduler.commands import waiting
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.queue import QUEUED
from schedviz.web import actions, permissions, readers
from schedviz.web.views.parts import session_page

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import Command, PodState, Session

NAMES_SHOWN = 5
NOT_YOURS = "you need the role operator to do this"


@session_page("pod.retry")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_retry(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid)
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_retry(
                request.user, session, uid, to=request.POST.get("to", ""), key=key
            ),
            "commands/retry.html",
            context,
        )
    pod = context["pod"]
    context["can"] = pod.lane in waiting.RETRIED
    context["n_before"] = readers.active_pods_before(session, pod)
    return render(request, "commands/retry.html", context)


@session_page("pod.move")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_move(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid)
    to = request.POST.get("to") or request.GET.get("to") or "top"
    if to == "n":
        to = request.POST.get("n") or request.GET.get("n") or "1"
    context |= _preview(session, context["pod"], to)
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_move(request.user, session, uid, to=to, key=key),
            "commands/move.html",
            context,
        )
    template = "commands/_preview.html" if "preview" in request.GET else "commands/move.html"
    return render(request, template, context)


@session_page("pod.hold")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_hold(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid)
    reason = request.POST.get("reason", "")
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_hold(request.user, session, uid, reason=reason, key=key),
            "commands/hold.html",
            context | {"reason": reason},
        )
    context["can"] = context["pod"].lane in QUEUED and not context["pod"].hold
    return render(request, "commands/hold.html", context)


@session_page("pod.release")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_release(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid)
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_release(request.user, session, uid, key=key),
            "commands/release.html",
            context,
        )
    pod = context["pod"]
    context["can"] = pod.lane == Lane.GATED and pod.hold
    context["n_before"] = readers.active_pods_before(session, pod)
    return render(request, "commands/release.html", context)


@session_page("pod.allow")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_allow(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid) | {"verb": "allow"}
    plugin = request.POST.get("plugin", "")
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_allow(request.user, session, uid, plugin=plugin, key=key),
            "commands/permit.html",
            context,
        )
    return render(request, "commands/permit.html", context)


@session_page("pod.reject")
@require_http_methods(["GET", "HEAD", "POST"])
def pod_reject(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    context = _context(session, uid) | {"verb": "reject"}
    reason = request.POST.get("reason", "")
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.pod_reject(request.user, session, uid, reason=reason, key=key),
            "commands/permit.html",
            context | {"reason": reason},
        )
    return render(request, "commands/permit.html", context)


@session_page("session.flush")
@require_http_methods(["GET", "HEAD", "POST"])
def session_flush(request: HttpRequest, session: Session) -> HttpResponse:
    """which: "lane:NAME" or "plugin:NAME"."""
    asked = request.POST if request.method == "POST" else request.GET
    which, limit = asked.get("which", ""), asked.get("limit", "")
    kind, _, name = which.partition(":")
    is_lane = kind == "lane" and name in waiting.RETRIED
    said = {"lane": name if is_lane else "", "plugin": name if kind == "plugin" else ""}
    is_number = limit.isascii() and limit.isdigit() and len(limit) < 6
    n = int(limit) if is_number else 0 if limit else waiting.MOST_FLUSHED
    context = {"session": session, "key": secrets.token_hex(16), "which": which, "limit": n}
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.session_flush(request.user, session, **said, limit=n, key=key),
            "commands/flush.html",
            context | _flush_preview(session, said, n),
        )
    context |= _flush_preview(session, said, n)
    template = "commands/_flush_preview.html" if "preview" in request.GET else "commands/flush.html"
    return render(request, template, context)


def _flush_preview(session: Session, said: dict[str, str], limit: int) -> dict[str, Any]:
    """How many would be moved now, and the first of them."""
    lanes, plugins = readers.waiting_counts(session)
    found = readers.waiting_pods(session, **said)
    n_found = found.count()
    n_moved = min(n_found, limit)
    shown = list(found[: min(NAMES_SHOWN, n_moved)])
    return {
        "lanes": lanes,
        "plugins": plugins,
        "most": waiting.MOST_FLUSHED,
        "n_found": n_found,
        "n_moved": n_moved,
        "n_left": n_found - n_moved,
        "shown": shown,
        "n_more": n_moved - len(shown),
    }


PAUSES = {"": None, "300": 300.0, "900": 900.0, "3600": 3600.0}
"""Seconds until a paused session resumes by itself, by what the dialog sends."""


@session_page("session.pause")
@require_http_methods(["GET", "HEAD", "POST"])
def session_pause(request: HttpRequest, session: Session) -> HttpResponse:
    context = {"session": session, "key": secrets.token_hex(16), "n_active": _n_active(session)}
    if request.method == "POST":
        said = {"reason": request.POST.get("reason", ""), "for": request.POST.get("for", "")}
        seconds = PAUSES.get(said["for"])
        return _wish(
            request,
            lambda key: actions.session_pause(
                request.user, session, reason=said["reason"], seconds=seconds, key=key
            ),
            "commands/pause.html",
            context | {"said": said},
        )
    return render(request, "commands/pause.html", context)


@session_page("session.resume")
@require_http_methods(["GET", "HEAD", "POST"])
def session_resume(request: HttpRequest, session: Session) -> HttpResponse:
    context = {
        "session": session,
        "key": secrets.token_hex(16),
        "n_active": _n_active(session),
        "pause": session.counters.get("pause"),
    }
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.session_resume(request.user, session, key=key),
            "commands/resume.html",
            context,
        )
    return render(request, "commands/resume.html", context)


def _n_active(session: Session) -> int:
    return readers.pods_per_lane(session).get(Lane.ACTIVE, 0)


@never_cache
@require_safe
def command(request: HttpRequest, pk: int) -> HttpResponse:
    """The answer to a wish, or a part that asks again shortly."""
    found = readers.command_result(pk)
    if found is None:
        raise Http404("There is no such command.")
    if not permissions.may(request.user, found.action, found.session):
        raise PermissionDenied
    return render(request, "commands/result.html", _result(found))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def move_undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Put a moved pod back; `pk` is the move's command."""
    found = readers.command_result(pk)
    if found is None or found.verb != "move":
        raise Http404("There is no such move.")
    if not permissions.may(request.user, "pod.undo", found.session):
        if request.method == "POST":
            actions.denied(request.user, "pod.undo", found.session.name, found.about, NOT_YOURS)
        raise PermissionDenied
    context = _result(found)
    if request.method == "POST":
        return _wish(
            request,
            lambda key: actions.move_undo(request.user, found, key=key),
            "commands/undo.html",
            context,
        )
    return render(request, "commands/undo.html", context)


def _context(session: Session, uid: str) -> dict[str, Any]:
    pod = readers.pod_by_uid(session, uid)
    if pod is None:
        raise Http404("This session knows no such pod (any more).")
    return {"session": session, "pod": pod, "key": secrets.token_hex(16)}


def _preview(session: Session, pod: PodState, to: str) -> dict[str, Any]:
    """Where the pod is among those of its priority, where it would be, and whom it passes."""
    band = readers.active_band(session, pod.priority)
    uids = [row.uid for row in band]
    if pod.uid not in uids:
        return {"can": False, "to": to}
    at, of = uids.index(pod.uid), len(uids)
    is_number = to.isascii() and to.isdigit() and len(to) < 10
    wanted = {"top": 1, "bottom": of}.get(to, int(to) if is_number else 1)
    wanted = min(max(1, wanted), of)
    passed = band[wanted - 1 : at] if wanted - 1 < at else band[at + 1 : wanted]
    return {
        "can": True,
        "to": to,
        "position": at + 1,
        "of": of,
        "wanted": wanted,
        "passed": passed[:NAMES_SHOWN],
        "n_passed": len(passed),
        "n_more": max(0, len(passed) - NAMES_SHOWN),
        "is_up": wanted - 1 < at,
    }


def _wish(request: HttpRequest, wish: Any, template: str, context: dict[str, Any]) -> HttpResponse:
    try:
        found = wish(request.POST.get("key", ""))
    except actions.Refused as refused:
        return render(request, template, context | {"refused": str(refused)}, status=409)
    return render(request, "commands/result.html", _result(found))


def _result(found: Command) -> dict[str, Any]:
    audit = getattr(found, "audit", None)
    return {
        "command": found,
        "session": found.session,
        "about": found.about,
        "audit": audit,
        "can_undo": audit is not None and bool(readers.moves_to_undo([audit])),
        "key": secrets.token_hex(16),
    }
