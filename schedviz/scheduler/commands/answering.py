"""How a Command is answered: what the audit keeps of a pod's place, and a refusal in words.

Used by the commands' own modules.
"""

from __future__ import annotations

from typing import Any

from schedviz.scheduler.framework.steps import Command, CommandResult, Lane, Move
from schedviz.scheduler.queue import SchedulingQueue

Answer = list[CommandResult | Move]


def where(queue: SchedulingQueue, uid: str) -> dict[str, Any]:
    """Its lane; when active its place and what an undo needs; when held by whom."""
    lane, queued = queue.lane(uid), queue.get(uid)
    place: dict[str, Any] = {"lane": str(lane)}
    if queued is not None and lane is Lane.ACTIVE:
        place["position"], place["of"] = queue.position(uid)
        place["rank"], place["moved_by"] = queued.rank, queued.moved_by
    if queued is not None and queued.hold is not None:
        place["hold"] = queued.hold.said
    return place


def no(command: Command, message: str, before: dict[str, Any] | None = None) -> Answer:
    return [CommandResult(command.id, False, message, before or {}, before or {})]


def unchanged(command: Command, message: str, before: dict[str, Any]) -> Answer:
    """It is so already."""
    return [CommandResult(command.id, True, message, before, before)]
