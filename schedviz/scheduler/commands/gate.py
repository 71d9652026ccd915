"""Pause and resume: whether pods are taken from the queue at all. Used by `scheduler` and by `commands`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from schedviz.scheduler.commands.answering import Answer, no
from schedviz.scheduler.framework.steps import Command, CommandResult


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


def pause(command: Command, gate: Gate, now: float) -> Answer:
    """The later word counts: pausing again changes the reason and the end."""
    seconds = command.args.get("seconds")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        return no(command, f"{seconds!r} is no time to pause for: give seconds, more than 0.")
    before = _running(gate)
    until = None if seconds is None else now + seconds
    gate.pause = Pause(command.by, now, str(command.args.get("reason", "")), until)
    said = "Paused: no pod is taken from the queue"
    said += " until it is resumed." if until is None else f" for {seconds:g} s."
    return [CommandResult(command.id, True, said, before, _running(gate))]


def resume(command: Command, gate: Gate) -> Answer:
    before = _running(gate)
    was_paused, gate.pause = gate.pause is not None, None
    said = "Resumed: pods are taken from the queue again." if was_paused else "It is not paused."
    return [CommandResult(command.id, True, said, before, _running(gate))]


def _running(gate: Gate) -> dict[str, Any]:
    return {"paused": False} if gate.pause is None else {"paused": True, **gate.pause.as_json()}
