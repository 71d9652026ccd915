"""Operators' commands on the queue: retry and move.

Called by `scheduler` for each Command; answers with a CommandResult and the Moves that it made.
"""

from __future__ import annotations

from typing import Any

from schedviz.scheduler.framework.steps import Command, CommandResult, Lane, Move
from schedviz.scheduler.queue import SchedulingQueue


def obey(command: Command, queue: SchedulingQueue, now: float) -> list[CommandResult | Move]:
    """Do it if it can be done; say why not otherwise. Asking twice changes nothing more."""
    uid = str(command.args.get("uid", ""))
    if queue.get(uid) is None:
        return [_no(command, "This pod is not in the scheduling queue any more.")]
    if command.verb == "retry":
        return _retry(command, queue, uid, now)
    if command.verb == "move":
        return _move(command, queue, uid, now)
    return [_no(command, f"{command.verb!r} is not a command that the scheduler knows.")]


def _retry(
    command: Command, queue: SchedulingQueue, uid: str, now: float
) -> list[CommandResult | Move]:
    before = _where(queue, uid)
    lane = queue.lane(uid)
    if lane is Lane.ACTIVE:
        return [CommandResult(command.id, True, "The pod is active already.", before, before)]
    if lane not in (Lane.BACKOFF, Lane.UNSCHEDULABLE):
        return [
            _no(
                command,
                f"A pod that is {lane} can't be retried: it is not waiting for a retry.",
                before,
            )
        ]
    move = queue.retry(uid, now, command.by)
    after = _where(queue, uid)
    return [
        CommandResult(
            command.id, True, "The pod is active and will be tried next in its turn.", before, after
        ),
        move,
    ]


def _move(
    command: Command, queue: SchedulingQueue, uid: str, now: float
) -> list[CommandResult | Move]:
    before = _where(queue, uid)
    if queue.lane(uid) is not Lane.ACTIVE:
        return [
            _no(command, f"Only active pods can be moved; this one is {queue.lane(uid)}.", before)
        ]
    if not queue.can_place(uid):
        return [
            _no(
                command,
                "This profile's queue sort leaves no place to choose: it goes not by priority and time.",
                before,
            )
        ]
    to = command.args.get("to")
    last = before["of"]
    wanted = {"top": 1, "bottom": last}.get(to, to) if isinstance(to, str) else to
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
        return [
            _no(
                command,
                f"{to!r} is not a place: use top, bottom or a number from 1 to {last}.",
                before,
            )
        ]
    wanted = min(wanted, last)
    if wanted == before["position"]:
        return [
            CommandResult(
                command.id, True, f"The pod is at position {wanted} already.", before, before
            )
        ]
    move = queue.move(uid, wanted, command.by, now)
    after = _where(queue, uid)
    said = f"The pod is at position {after['position']} of {after['of']} of its priority."
    return [CommandResult(command.id, True, said, before, after), move]


def _where(queue: SchedulingQueue, uid: str) -> dict[str, Any]:
    lane = queue.lane(uid)
    where: dict[str, Any] = {"lane": str(lane)}
    if lane is Lane.ACTIVE:
        where["position"], where["of"] = queue.position(uid)
    return where


def _no(command: Command, message: str, before: dict[str, Any] | None = None) -> CommandResult:
    return CommandResult(command.id, False, message, before or {}, before or {})
