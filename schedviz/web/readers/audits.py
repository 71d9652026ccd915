"""Operators' commands and the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.models import Audit, Command, PodState
from schedviz.web.readers.paging import Page, page_of, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedviz.web.models import Session


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
    if after is not None and (pk := whole(after)) is not None:
        rows = rows.filter(id__lt=pk)
    return page_of(rows, limit, lambda row: str(row.pk))
