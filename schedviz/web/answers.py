"""The answer to an operator's command: written once, with its audit row. Used by `recording` and by `runner`."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from schedviz.web.models import Audit, Command
from schedviz.web.tables import clean, clean_json


def answer(
    command_id: int,
    *,
    ok: bool,
    message: str,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """A second answer to the same command changes nothing."""
    first = Command.objects.filter(pk=command_id, answered_at=None).update(
        answered_at=timezone.now(), ok=ok, message=clean(message)
    )
    if not first:
        return
    command = Command.objects.select_related("created_by", "session").get(pk=command_id)
    Audit.objects.create(
        user=command.created_by.get_username(),
        action=command.action,
        session_id=command.session_id,
        object=command.about[:400],
        before=clean_json(before or {}),
        after=clean_json(after or {}),
        outcome="ok" if ok else "refused",
        message=clean(message),
        command=command,
    )
