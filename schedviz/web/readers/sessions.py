"""Sessions, what state they are in, what the live board starts from, and the extenders that we serve."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.models import ExtenderRules, NodeState, PodState, Session

STALE_SECONDS = 3.0
BOUND_LATELY = 60
POD_FIELDS = [field.attname for field in PodState._meta.concrete_fields[2:]]
NODE_FIELDS = [field.attname for field in NodeState._meta.concrete_fields[2:]]


def extenders_list() -> list[ExtenderRules]:
    """Those that we serve."""
    return list(ExtenderRules.objects.order_by("name"))


def extender_rules(name: str) -> ExtenderRules | None:
    return ExtenderRules.objects.filter(name=name).first()


def sessions_list() -> list[Session]:
    return list(Session.objects.select_related("cluster", "lease").order_by("name"))


def session_by_name(name: str) -> Session | None:
    return Session.objects.select_related("cluster", "lease").filter(name=name).first()


def session_status(session: Session, now: float | None = None) -> tuple[str, str]:
    """One word for the session as it is and one sentence.

    The words: running, paused, starting, stopping, stopped, failed, waiting (for a worker), stale (a silent worker).
    """
    now = time.time() if now is None else now
    running = session.desired == Session.Desired.RUNNING
    silent = now - (session.heartbeat_at or session.started_at or 0)
    if session.state == Session.State.FAILED and running:
        return "failed", session.state_message
    if session.state in (Session.State.STOPPED, Session.State.FAILED):
        return (
            ("waiting", "Waiting for a worker to take it.") if running else ("stopped", "Stopped.")
        )
    if not running:
        return "stopping", "Stopping."
    if silent > STALE_SECONDS:
        return "stale", f"No word from its worker for {silent:.0f} s; another one takes over."
    if session.state == Session.State.STARTING:
        return "starting", session.state_message or "Starting."
    if pause := session.counters.get("pause"):
        return "paused", f"Paused by {pause['by']}: {pause['reason']}"
    return "running", session.state_message or "Running."


@dataclass(frozen=True, slots=True)
class RingState:
    """What the record still has. Cycles before `kept_from` are gone, those before `detail_from` are summaries only."""

    last_cycle: int
    kept_from: int
    detail_from: int
    bytes: int
    max_bytes: int
    max_cycles: int
    max_hours: int

    @property
    def has_dropped_cycles(self) -> bool:
        return self.kept_from > 1

    @property
    def has_dropped_detail(self) -> bool:
        return self.detail_from > self.kept_from


def ring_state(session: Session) -> RingState:
    return RingState(
        last_cycle=session.last_cycle,
        kept_from=session.kept_from,
        detail_from=session.detail_from,
        bytes=session.ring_bytes,
        max_bytes=settings.RING_MB * 1_000_000,
        max_cycles=settings.RING_CYCLES,
        max_hours=settings.RING_HOURS,
    )


def board_snapshot(session_id: int) -> dict[str, Any]:
    """All that the live board starts from, in a frame's shape. Its rows are at least as new as its `seq`.

    `seq` is read first: a frame with a higher number applied to these rows can only make them newer.
    """
    session = Session.objects.get(pk=session_id)
    pods = PodState.objects.filter(session_id=session_id)
    waiting = pods.exclude(lane__in=[Lane.BOUND, Lane.GONE]).values(*POD_FIELDS)
    bound = pods.filter(lane=Lane.BOUND).order_by("-since").values(*POD_FIELDS)[:BOUND_LATELY]
    nodes = NodeState.objects.filter(session_id=session_id).order_by("id").values(*NODE_FIELDS)
    return {
        "session": session.pk,
        "seq": session.seq,
        "at": session.heartbeat_at or 0.0,
        "state": session.state,
        "state_message": session.state_message,
        "counters": session.counters,
        "pods": [*waiting, *bound],
        "nodes": list(nodes),
        "gone_nodes": [],
        "cycle": None,
        "results": [],
    }
