"""Every question the pages, the commands and the live board ask of the database. Nothing here writes.

List questions page by keyset (the last row's key), never by offset, and leave the heavy columns out.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.conf import settings
from django.db.models import Count, Q

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import records
from schedviz.web.models import (
    Audit,
    Command,
    Cycle,
    ExtenderRules,
    Move,
    NodeState,
    PodState,
    Session,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import Model, QuerySet

    from schedviz.scheduler.framework.steps import CycleRecord

STALE_SECONDS = 3.0
BOUND_LATELY = 60
POD_FIELDS = [field.attname for field in PodState._meta.concrete_fields[2:]]
NODE_FIELDS = [field.attname for field in NodeState._meta.concrete_fields[2:]]

Row = TypeVar("Row", bound="Model")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows and the key of the next ones: None when these are the last."""

    rows: list[Row]
    next: str | None = None


# ---- sessions --------------------------------------------------------------------------------------------------------


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


# ---- the board -------------------------------------------------------------------------------------------------------


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


# ---- cycles ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CycleDetail:
    """One cycle: its row and the record read back. Without detail (`row.blob` is None) the record has no columns."""

    row: Cycle
    record: CycleRecord

    @property
    def has_detail(self) -> bool:
        return self.row.blob is not None


def cycle_detail(session: Session, number: int) -> CycleDetail | None:
    """The cycle with all it recorded; None when there is none of this number (any more)."""
    row = Cycle.objects.select_related("node_set").filter(session=session, number=number).first()
    return CycleDetail(row, records.read(row)) if row else None


def cycles_page(
    session: Session,
    *,
    after: str | None = None,
    limit: int = 50,
    pod_uid: str = "",
    outcome: str = "",
) -> Page[Cycle]:
    """Newest first. `after`: a page's `next`."""
    rows = Cycle.objects.filter(session=session).defer("summary", "blob").order_by("-number")
    if pod_uid:
        rows = rows.filter(pod_uid=pod_uid)
    if outcome:
        rows = rows.filter(outcome=outcome)
    if after is not None and (number := _whole(after)) is not None:
        rows = rows.filter(number__lt=number)
    return _page(rows, limit, lambda row: str(row.number))


def attempts_beside(session: Session, row: Cycle) -> tuple[int | None, int | None]:
    """The cycles of the same pod's attempt before this one and after it."""
    same = Cycle.objects.filter(session=session, pod_uid=row.pod_uid)
    numbers = same.values_list("number", flat=True)
    before = numbers.filter(number__lt=row.number).order_by("-number").first()
    return before, numbers.filter(number__gt=row.number).order_by("number").first()


# ---- pods ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodDetail:
    """One pod: where it is, its attempts (newest first) and its moves (newest first)."""

    pod: PodState
    cycles: list[Cycle]
    moves: list[Move]


def pod_detail(session: Session, uid: str, *, limit: int = 200) -> PodDetail | None:
    pod = pod_by_uid(session, uid)
    if pod is None:
        return None
    cycles = Cycle.objects.filter(session=session, pod_uid=uid).defer("blob").order_by("-number")
    moves = Move.objects.filter(session=session, pod_uid=uid).order_by("-id")
    return PodDetail(pod, list(cycles[:limit]), list(moves[:limit]))


def pod_by_uid(session: Session, uid: str) -> PodState | None:
    return PodState.objects.filter(session=session, uid=uid).first()


def pod_by_name(session: Session, namespace: str, name: str) -> PodState | None:
    """The newest pod of this name: a deleted one's successor has the same."""
    pods = PodState.objects.filter(session=session, namespace=namespace, name=name)
    return pods.order_by("-id").first()


def pods_page(
    session: Session, *, after: str | None = None, limit: int = 100, lane: str = "", text: str = ""
) -> Page[PodState]:
    """By namespace and name. `text`: a part of the name, or `namespace/part`."""
    rows = PodState.objects.filter(session=session).order_by("namespace", "name", "id")
    if lane:
        rows = rows.filter(lane=lane)
    if text:
        namespace, slash, part = text.rpartition("/")
        rows = rows.filter(name__icontains=part)
        if slash:
            rows = rows.filter(namespace=namespace)
    if after is not None and (key := _unpack(after, str, str, int)) is not None:
        namespace, name, pk = key
        rows = rows.filter(
            Q(namespace__gt=namespace)
            | Q(namespace=namespace, name__gt=name)
            | Q(namespace=namespace, name=name, id__gt=pk)
        )
    return _page(rows, limit, lambda row: _pack(row.namespace, row.name, row.pk))


def active_pods_before(session: Session, pod: PodState) -> int:
    """How many pods of the active lane are tried before this one."""
    active = PodState.objects.filter(session=session, lane=Lane.ACTIVE)
    before = Q(priority__gt=pod.priority) | Q(priority=pod.priority, rank__lt=pod.rank)
    return active.filter(before).count()


def active_band(session: Session, priority: int, *, limit: int = 1000) -> list[PodState]:
    """The active pods of one priority, in the order in which they are tried: among these a pod can be moved."""
    active = PodState.objects.filter(session=session, lane=Lane.ACTIVE, priority=priority)
    return list(active.order_by("rank", "id")[:limit])


def waiting_pods(session: Session, *, lane: str = "", plugin: str = "") -> QuerySet[PodState]:
    """Those that a flush would wake, the most important first: of a lane, or those that this plugin alone refused."""
    rows = PodState.objects.filter(session=session, lane=lane)
    if plugin:
        lanes = [Lane.BACKOFF, Lane.UNSCHEDULABLE]
        rows = PodState.objects.filter(session=session, lane__in=lanes, plugins=[plugin])
    return rows.order_by("-priority", "rank", "id")


def waiting_counts(session: Session) -> tuple[dict[str, int], dict[str, int]]:
    """How many pods wait in backoff and in unschedulable, and how many of both each plugin alone refused."""
    lanes: dict[str, int] = {Lane.BACKOFF.value: 0, Lane.UNSCHEDULABLE.value: 0}
    plugins: dict[str, int] = {}
    rows = PodState.objects.filter(session=session, lane__in=lanes).values_list("lane", "plugins")
    for lane, refused, n in rows.annotate(n=Count("id")).order_by():
        lanes[lane] += n
        if len(refused) == 1:
            plugins[refused[0]] = plugins.get(refused[0], 0) + n
    return lanes, dict(sorted(plugins.items()))


def pods_per_lane(session: Session) -> dict[str, int]:
    rows = PodState.objects.filter(session=session).values_list("lane").annotate(n=Count("id"))
    return dict(rows.order_by())


# ---- nodes -----------------------------------------------------------------------------------------------------------


def nodes_page(
    session: Session, *, after: str | None = None, limit: int = 200, text: str = ""
) -> Page[NodeState]:
    """By name. `text`: a part of the name."""
    rows = NodeState.objects.filter(session=session).order_by("name")
    if text:
        rows = rows.filter(name__icontains=text)
    if after is not None and (key := _unpack(after, str)) is not None:
        rows = rows.filter(name__gt=key[0])
    return _page(rows, limit, lambda row: _pack(row.name))


# ---- commands and the audit log --------------------------------------------------------------------------------------


def command_result(pk: int) -> Command | None:
    """The command with its session and who asked; `ok` is None as long as it is not answered."""
    rows = Command.objects.select_related("session__cluster", "created_by", "audit")
    return rows.filter(pk=pk).first()


def moves_to_undo(audits: Iterable[Audit]) -> set[int]:
    """The commands among these whose move still stands: the pod was neither tried nor moved since."""
    moves = [row for row in audits if row.action == "pod.move" and "rank" in row.after]
    uids = {row.command.args["uid"] for row in moves if row.command is not None}
    active = PodState.objects.filter(lane=Lane.ACTIVE, uid__in=uids)
    ranks: dict[tuple[int | None, str], float]
    ranks = {(pod.session_id, pod.uid): pod.rank for pod in active}
    return {
        row.command.pk
        for row in moves
        if row.command is not None
        and row.before != row.after
        and ranks.get((row.session_id, row.command.args["uid"])) == row.after["rank"]
    }


def audit_page(
    *, after: str | None = None, limit: int = 50, session: Session | None = None, user: str = ""
) -> Page[Audit]:
    """Newest first."""
    rows = Audit.objects.select_related("session", "command").order_by("-id")
    if session is not None:
        rows = rows.filter(session=session)
    if user:
        rows = rows.filter(user=user)
    if after is not None and (pk := _whole(after)) is not None:
        rows = rows.filter(id__lt=pk)
    return _page(rows, limit, lambda row: str(row.pk))


# ---- paging ----------------------------------------------------------------------------------------------------------


def _page(rows: QuerySet[Row], limit: int, key: Any) -> Page[Row]:
    found = list(rows[: limit + 1])
    more = len(found) > limit
    return Page(found[:limit], key(found[limit - 1]) if more else None)


def _whole(text: str) -> int | None:
    """A number from a URL; nonsense is no number and shows the first page."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _pack(*key: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _unpack(text: str, *types: type) -> list[Any] | None:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(key, list) or [type(part) for part in key] != list(types):
        return None
    return key
