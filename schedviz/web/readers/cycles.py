"""Cycles: one with its record, and lists of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedviz.web import records
from schedviz.web.models import Cycle
from schedviz.web.readers.paging import Page, page_of, whole

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord
    from schedviz.web.models import Session


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
    if after is not None and (number := whole(after)) is not None:
        rows = rows.filter(number__lt=number)
    return page_of(rows, limit, lambda row: str(row.number))


def attempts_beside(session: Session, row: Cycle) -> tuple[int | None, int | None]:
    """The cycles of the same pod's attempt before this one and after it."""
    same = Cycle.objects.filter(session=session, pod_uid=row.pod_uid)
    numbers = same.values_list("number", flat=True)
    before = numbers.filter(number__lt=row.number).order_by("-number").first()
    return before, numbers.filter(number__gt=row.number).order_by("number").first()
