"""Move a pod among the active ones of its priority, and undo that. Used by `commands`."""

from __future__ import annotations

from typing import Any

from schedviz.scheduler.commands.answering import Answer, no, unchanged, where
from schedviz.scheduler.framework.steps import Command, CommandResult, Lane
from schedviz.scheduler.queue import SchedulingQueue

NO_PLACES = "This profile's queue sort leaves no place to choose: it goes not by priority and time."
TOO_LATE = "This move can't be undone any more: the pod has been tried or moved since."


def move(command: Command, queue: SchedulingQueue, uid: str, now: float) -> Answer:
    """args: to: "top", "bottom" or a place from 1."""
    before = where(queue, uid)
    if queue.lane(uid) is not Lane.ACTIVE:
        said = f"Only active pods can be moved; this one is {queue.lane(uid)}."
        return no(command, said, before)
    if not queue.can_place(uid):
        return no(command, NO_PLACES, before)
    to, last = command.args.get("to"), before["of"]
    wanted = {"top": 1, "bottom": last}.get(to, to) if isinstance(to, str) else to
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
        said = f"{to!r} is not a place: use top, bottom or a number from 1 to {last}."
        return no(command, said, before)
    wanted = min(wanted, last)
    if wanted == before["position"]:
        return unchanged(command, f"The pod is at position {wanted} already.", before)
    moved = queue.move(uid, wanted, command.by, now)
    after = where(queue, uid)
    return [CommandResult(command.id, True, placed(after), before, after), moved]


def undo(command: Command, queue: SchedulingQueue, uid: str, now: float) -> Answer:
    """args: before, after: what the move's answer said. A pod that was popped or moved since has another rank."""
    now_there, queued = where(queue, uid), queue.get(uid)
    before, after = _place(command, "before"), _place(command, "after")
    if queued is None or queue.lane(uid) is not Lane.ACTIVE or not before or not after:
        return no(command, TOO_LATE, now_there)
    if queued.rank == before["rank"]:
        return unchanged(command, "It is undone already.", now_there)
    if queued.rank != after["rank"] or not queue.can_place(uid):
        return no(command, TOO_LATE, now_there)
    moved_by = str(before.get("moved_by", ""))
    moved = queue.move_back(uid, float(before["rank"]), moved_by, command.by, now)
    back = where(queue, uid)
    return [CommandResult(command.id, True, placed(back), now_there, back), moved]


def placed(place: dict[str, Any]) -> str:
    return f"The pod is at position {place['position']} of {place['of']} of its priority."


def _place(command: Command, name: str) -> dict[str, Any]:
    """A place with a rank, or nothing."""
    place = command.args.get(name)
    is_place = isinstance(place, dict) and isinstance(place.get("rank"), int | float)
    return place if is_place else {}  # type: ignore[return-value]
