"""The API for programs, version 1: JSON in every answer, errors too; who may do what is as on the pages.

Its description is at /api/v1/openapi.json. A version's objects get new fields only; what means something else is a new
version.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.views.decorators.cache import never_cache

from schedviz.web import explanation, findings, openapi_document, permissions, readers
from schedviz.web.views.parts import find_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

SAFE = ("GET", "HEAD")


def answers_json(view: Callable[..., JsonResponse]) -> Callable[..., JsonResponse]:
    """Decorator: who is not logged in gets 401 instead of the login page, and every refusal is JSON."""

    @never_cache
    @login_not_required
    @functools.wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
        if request.method not in SAFE:
            refused = _refusal(405, f"use {' or '.join(SAFE)}")
            refused["Allow"] = ", ".join(SAFE)
            return refused
        if not request.user.is_authenticated:
            return _refusal(401, "log in first")
        try:
            permissions.check(request.user, "session.view")
            return view(request, *args, **kwargs)
        except PermissionDenied as why:
            return _refusal(403, str(why))
        except Http404 as why:
            return _refusal(404, str(why))

    return answered


def _refusal(status: int, message: str) -> JsonResponse:
    return JsonResponse({"status": status, "message": message}, status=status)


@answers_json
def explain(request: HttpRequest, name: str, namespace: str, pod: str) -> JsonResponse:
    """Why the pod is pending, or where it went and why. With `changes` in the query a worker is asked for the smallest
    changes that would help; they are there at a later request."""
    session = find_session(name)
    found = readers.pod_by_name(session, namespace, pod)
    if found is None:
        raise Http404(f"session {session.name} knows no pod {namespace}/{pod}")
    wants = "changes" in request.GET and found.lane in findings.PENDING
    known = findings.finding(session, found)
    if wants and (known is None or known.asked_at < found.since):
        known = findings.ask(session, found)
    told = explanation.explain(session, found)
    return JsonResponse(told.as_json(findings.said(known)))


@answers_json
def openapi(request: HttpRequest) -> JsonResponse:
    return JsonResponse(openapi_document.document())
