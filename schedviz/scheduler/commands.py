"""Operators' commands: retry and move a pod of the queue, pause and resume all of scheduling.

Called by `scheduler` for each Command; answers with a CommandResult and the Moves that it made.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from schedviz.scheduler.framework.steps import Command, CommandResult, Lane, Move
from schedviz.scheduler.queue import SchedulingQueue


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is popped from the queue: who said so, since when, why, and until when (None: until resumed)."""

    by: str
    since: float
    reason: str = ""
    until: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Gate:
    """Whether pods are taken from the queue."""

    pause: Pause | None = field(default=None)

    def expire(self, now: float) -> None:
        """A pause whose time is over ends by itself."""
        if self.pause is not None and self.pause.until is not None and self.pause.until <= now:
            self.pause = None

    def next_due(self) -> float | None:
        return None if self.pause is None else self.pause.until


def obey(
    command: Command, queue: SchedulingQueue, gate: Gate, now: float
) -> list[CommandResult | Move]:
    """Do it if it can be done; say why not otherwise. Asking twice changes nothing more."""
    if command.verb in ("pause", "resume"):
        return [_pause(command, gate, now) if command.verb == "pause" else _resume(command, gate)]
    uid = str(command.args.get("uid", ""))
    if queue.get(uid) is None:
        return [_no(command, "This pod is not in the scheduling queue any more.")]
    if command.verb == "retry":
        return _retry(command, queue, uid, now)
    if command.verb == "move":
        return _move(command, queue, uid, now)
    return [_no(command, f"{command.verb!r} is not a command that the scheduler knows.")]


def _pause(command: Command, gate: Gate, now: float) -> CommandResult:
    """The later word counts: pausing again changes the reason and the end."""
    seconds = command.args.get("seconds")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        return _no(command, f"{seconds!r} is no time to pause for: give seconds, more than 0.")
    before = _running(gate)
    until = None if seconds is None else now + seconds
    gate.pause = Pause(command.by, now, str(command.args.get("reason", "")), until)
    said = "Paused: no pod is taken from the queue"
    said += " until it is resumed." if until is None else f" for {seconds:g} s."
    return CommandResult(command.id, True, said, before, _running(gate))


def _resume(command: Command, gate: Gate) -> CommandResult:
    before = _running(gate)
    was_paused, gate.pause = gate.pause is not None, None
    said = "Resumed: pods are taken from the queue again." if was_paused else "It is not paused."
    return CommandResult(command.id, True, said, before, _running(gate))


def _running(gate: Gate) -> dict[str, Any]:
    return {"paused": False} if gate.pause is None else {"paused": True, **gate.pause.as_json()}


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
