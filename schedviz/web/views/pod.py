"""One pod: where it is and why, what happens next, all its attempts and moves."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.scheduler.framework.node_info import QueueConfig
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.queue import QUEUED
from schedviz.web import explanation, findings, readers
from schedviz.web.views.parts import digest, is_known, nothing_new, session_page

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session

UNSCHEDULABLE_SECONDS = QueueConfig().max_in_unschedulable_seconds


@session_page("session.view")
@require_safe
def pod(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    detail = readers.pod_detail(session, uid)
    if detail is None:
        raise Http404("This session knows no such pod (any more).")
    pod = detail.pod
    last_move = detail.moves[0].pk if detail.moves else 0
    outcome = detail.cycles[0].outcome if detail.cycles else ""
    version = digest(
        *(pod.lane, pod.since, pod.rank, pod.attempts, pod.cycle, pod.plugins, pod.hold),
        *(last_move, outcome),
    )
    if is_known(request, version):
        return nothing_new()
    told = explanation.explain(session, pod)
    context = {
        "session": session,
        "tab": "pods",
        "pod": pod,
        "cycles": detail.cycles,
        "attempts": list(zip_longest(detail.cycles, detail.cycles[1:])),
        "moves": detail.moves,
        "told": told,
        "wakers": told.wakers,
        "version": version,
        "flushed_at": pod.since + UNSCHEDULABLE_SECONDS,
        "is_pending": pod.lane in findings.PENDING,
        "may_be_retried": pod.lane in (Lane.UNSCHEDULABLE, Lane.BACKOFF),
        "may_be_moved": pod.lane == Lane.ACTIVE,
        "may_be_held": pod.lane in QUEUED and not pod.hold,
        "may_be_released": pod.lane == Lane.GATED and bool(pod.hold),
        "may_be_let_go": pod.lane == Lane.BINDING and bool(pod.plugins),
    }
    return render(request, "pod/page.html", context)


@session_page("session.view")
@require_safe
def pod_changes(request: HttpRequest, session: Session, uid: str) -> HttpResponse:
    """What would make the pod schedulable; with `look`, a worker is asked. It changes nothing in the cluster."""
    pod = readers.pod_by_uid(session, uid)
    if pod is None:
        raise Http404("This session knows no such pod (any more).")
    found = findings.ask(session, pod) if "look" in request.GET else findings.finding(session, pod)
    said = findings.said(found)
    changes = said["changes"] if said and said["state"] == "found" else []
    context = {"session": session, "pod": pod, "said": said, "kinds": findings.by_kind(changes)}
    return render(request, "pod/changes.html", context)
