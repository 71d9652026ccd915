"""Pods and nodes: one with its history, lists of them, and how many there are where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Q

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.models import Cycle, Move, NodeState, PodState
from schedviz.web.readers.paging import Page, pack, page_of, unpack

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from schedviz.web.models import Session


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
    if after is not None and (key := unpack(after, str, str, int)) is not None:
        namespace, name, pk = key
        rows = rows.filter(
            Q(namespace__gt=namespace)
            | Q(namespace=namespace, name__gt=name)
            | Q(namespace=namespace, name=name, id__gt=pk)
        )
    return page_of(rows, limit, lambda row: pack(row.namespace, row.name, row.pk))


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


def nodes_page(
    session: Session, *, after: str | None = None, limit: int = 200, text: str = ""
) -> Page[NodeState]:
    """By name. `text`: a part of the name."""
    rows = NodeState.objects.filter(session=session).order_by("name")
    if text:
        rows = rows.filter(name__icontains=text)
    if after is not None and (key := unpack(after, str)) is not None:
        rows = rows.filter(name__gt=key[0])
    return page_of(rows, limit, lambda row: pack(row.name))
