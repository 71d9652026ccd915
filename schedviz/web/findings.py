"""What would make a pending pod schedulable: asked for on pages and through the API, found by a task, kept in a row.

The web process never asks a cluster: it sends a task by name and reads the row that the task has written.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from celery import Celery
from kombu.exceptions import OperationalError

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.models import Finding

if TYPE_CHECKING:
    from schedviz.web.models import PodState, Session

producer = Celery("schedviz", set_as_current=False)
"""Only sends: the worker's own app would bring the whole runner into the web process."""
producer.config_from_object("django.conf:settings", namespace="CELERY")

TASK = "schedviz.find_changes"
PATIENCE_SECONDS = 30.0
KEPT_SECONDS = 86400.0
PENDING = frozenset({Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.ACTIVE, Lane.GATED})
RECOMPUTED = "recomputed"
NO_BROKER = "The broker does not answer, so that no worker can be asked."
NO_WORKER = f"No worker answered within {PATIENCE_SECONDS:.0f} s."


def finding(session: Session, pod: PodState) -> Finding | None:
    """The last one for this pod."""
    return Finding.objects.filter(session=session, pod_uid=pod.uid).first()


def is_awaited(found: Finding | None, now: float) -> bool:
    return found is not None and found.at is None and now - found.asked_at < PATIENCE_SECONDS


def ask(session: Session, pod: PodState, now: float | None = None) -> Finding:
    """Have it looked for, unless that is under way."""
    now = time.time() if now is None else now
    known = finding(session, pod)
    if known is not None and is_awaited(known, now):
        return known
    Finding.objects.filter(session=session, asked_at__lt=now - KEPT_SECONDS).delete()
    blank: dict[str, Any] = {"asked_at": now, "at": None, "content": {}, "message": ""}
    found, _ = Finding.objects.update_or_create(session=session, pod_uid=pod.uid, defaults=blank)
    try:
        producer.send_task(TASK, args=[session.pk, pod.uid], expires=PATIENCE_SECONDS, retry=False)
    except OperationalError:
        found.at, found.message = now, NO_BROKER
        found.save(update_fields=["at", "message"])
    return found


def said(found: Finding | None, now: float | None = None) -> dict[str, Any] | None:
    """For programs: null when it was never looked for."""
    if found is None:
        return None
    now = time.time() if now is None else now
    if found.at is None:
        waits = is_awaited(found, now)
        return {"state": "asked" if waits else "failed", "message": "" if waits else NO_WORKER}
    return answer(found.at, found.content, found.message)


def answer(at: float, content: dict[str, Any], message: str) -> dict[str, Any]:
    if message:
        return {"state": "failed", "message": message, "at": at}
    return {"state": "found", "certainty": RECOMPUTED, "at": at, **content}


KINDS = {
    "pod": "Change the pod",
    "uncordon": "Change a node",
    "node": "Add a node",
    "victim": "If one pod went",
}


def by_kind(changes: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For the page: under a heading each."""
    found = {
        words: [one for one in changes if one["kind"] == kind] for kind, words in KINDS.items()
    }
    return [(words, some) for words, some in found.items() if some]
