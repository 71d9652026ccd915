"""The list of pods and one pod's page: where it is and why, its attempts and its moves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.http import Http404
from django.views.decorators.http import require_GET

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import explanation, permissions, readers
from schedviz.web.views.common import page, session_or_404

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_GET
@permissions.require("session.view")
def pods(request: HttpRequest, name: str) -> HttpResponse:
    session = session_or_404(name)
    lane, text = request.GET.get("lane", ""), request.GET.get("q", "").strip()
    found = readers.pods_page(session, after=request.GET.get("after"), lane=lane, text=text)
    context = {
        "session": session,
        "page": found,
        "lane": lane,
        "q": text,
        "lanes": [str(one) for one in Lane],
    }
    return page(request, "pods.html", context, nav="pods")


@require_GET
@permissions.require("session.view")
def pod(request: HttpRequest, name: str, uid: str) -> HttpResponse:
    """The part below the head asks for itself again every two seconds."""
    session = session_or_404(name)
    detail = readers.pod_detail(session, uid)
    if detail is None:
        raise Http404("This session knows no such pod (any more).")
    context = {
        "session": session,
        "detail": detail,
        "pod": detail.pod,
        "why": explanation.explain(session, detail.pod, time.time()),
        "can_retry": detail.pod.lane in (Lane.BACKOFF, Lane.UNSCHEDULABLE),
        "can_move": detail.pod.lane in (Lane.ACTIVE, Lane.BACKOFF, Lane.UNSCHEDULABLE),
    }
    template = "parts/pod_body.html" if request.headers.get("HX-Request") else "pod.html"
    return page(request, template, context, nav="pods")
