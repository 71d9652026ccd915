"""The record's ring: keeps each session's record within the settings, by count, age and size.

Called by `recording` between two commits, on the thread that writes: a step at a time, each too short to be felt.
Detail (the blob) goes first, then whole cycles, and with them the moves and the deleted pods of their time. What is
kept stands in the session's row (`kept_from`, `detail_from`, `ring_bytes`), so that pages can say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Length

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.models import Cycle, Move, NodeSet, PodState, Session

STEP_ROWS = 200
BLOB_BYTES = Coalesce(Length("blob"), 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept. `cycles` and `seconds` count for detail; summaries live `summary_factor` times longer."""

    cycles: int
    seconds: float
    max_bytes: int
    summary_factor: int

    @classmethod
    def from_settings(cls) -> Limits:
        return cls(
            settings.RING_CYCLES,
            settings.RING_HOURS * 3600.0,
            settings.RING_MB * 1_000_000,
            settings.RING_SUMMARY_FACTOR,
        )


def trim(session_id: int, now: float, limits: Limits, rows: int = STEP_ROWS) -> bool:
    """One step. True: there is more to drop at once. A dropped node set is unknown to who remembered it."""
    with transaction.atomic():
        session = Session.objects.select_for_update().get(pk=session_id)
        detail = _drop_detail(session, now, limits, rows)
        cycles = _drop_cycles(session, now, limits, rows)
        leftovers = _drop_leftovers(session, now, limits, rows)
        if detail or cycles:
            session.save(update_fields=["kept_from", "detail_from", "ring_bytes"])
    return rows in (detail, cycles, leftovers)


def _drop_detail(session: Session, now: float, limits: Limits, rows: int) -> int:
    oldest = (
        Cycle.objects.filter(session=session, number__gte=session.detail_from)
        .order_by("number")
        .values_list("number", "started_at", BLOB_BYTES)[:rows]
    )
    dropped = []
    for number, started_at, blob_bytes in oldest:
        too_many = number <= session.last_cycle - limits.cycles
        too_old = started_at < now - limits.seconds
        if not (too_many or too_old or session.ring_bytes > limits.max_bytes):
            break
        dropped.append(number)
        session.ring_bytes -= blob_bytes
    if dropped:
        Cycle.objects.filter(session=session, number__in=dropped).update(
            size_bytes=F("size_bytes") - BLOB_BYTES, blob=None
        )
        session.detail_from = dropped[-1] + 1
    return len(dropped)


def _drop_cycles(session: Session, now: float, limits: Limits, rows: int) -> int:
    without_detail = (
        Cycle.objects.filter(session=session, number__lt=session.detail_from)
        .order_by("number")
        .values_list("number", "started_at", "size_bytes")[:rows]
    )
    dropped = []
    for number, started_at, size_bytes in without_detail:
        too_many = number <= session.last_cycle - limits.cycles * limits.summary_factor
        too_old = started_at < now - limits.seconds * limits.summary_factor
        if not (too_many or too_old or session.ring_bytes > limits.max_bytes):
            break
        dropped.append(number)
        session.ring_bytes -= size_bytes
    if dropped:
        Cycle.objects.filter(session=session, number__in=dropped).delete()
        NodeSet.objects.filter(session=session, cycle=None).delete()
        session.kept_from = dropped[-1] + 1
    return len(dropped)


def _drop_leftovers(session: Session, now: float, limits: Limits, rows: int) -> int:
    """Moves and deleted pods from before the oldest cycle that is kept, or too old in themselves."""
    oldest = Cycle.objects.filter(session=session).order_by("number").values_list("started_at")[:1]
    horizon = max([now - limits.seconds * limits.summary_factor, *(at for (at,) in oldest)])
    moves = Move.objects.filter(session=session).order_by("id").values_list("id", "at")[:rows]
    old = [pk for pk, at in moves if at < horizon]
    Move.objects.filter(pk__in=old).delete()
    gone = PodState.objects.filter(session=session, lane=Lane.GONE, since__lt=horizon)
    pods = list(gone.values_list("pk", flat=True)[:rows])
    PodState.objects.filter(pk__in=pods).delete()
    return max(len(old), len(pods))
