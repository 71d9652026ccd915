"""Operators' commands: retry, move, hold, release a pod, undo a move, flush many, pause and resume all of scheduling,
let a pod that waits at Permit go or not.

Called by `scheduler` for each Command; answers with a CommandResult and what else follows from it. A command that has
nothing to change is answered like one that did it; one that can't be done says why, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedviz.scheduler.commands import gate as gates
from schedviz.scheduler.commands import permits, places, waiting
from schedviz.scheduler.commands.answering import Answer, no
from schedviz.scheduler.commands.gate import Gate, Pause
from schedviz.scheduler.framework.steps import Command, Output
from schedviz.scheduler.queue import SchedulingQueue

if TYPE_CHECKING:
    from schedviz.scheduler.binding_cycles import BindingCycles

__all__ = ["Gate", "Hands", "Pause", "obey"]

OfPod = Callable[[Command, SchedulingQueue, str, float], Answer]
OF_PODS: dict[str, OfPod] = {
    "retry": waiting.retry,
    "hold": waiting.hold,
    "release": waiting.release,
    "move": places.move,
    "undo": places.undo,
}
"""Verbs about one pod of the queue."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What commands may touch."""

    queue: SchedulingQueue
    gate: Gate
    bindings: BindingCycles


def obey(command: Command, hands: Hands, now: float) -> list[Output]:
    """Do it if it can be done; say why not otherwise. Asking twice changes nothing more."""
    uid = str(command.args.get("uid", ""))
    verb = command.verb
    if verb == "pause":
        return [*gates.pause(command, hands.gate, now)]
    if verb == "resume":
        return [*gates.resume(command, hands.gate)]
    if verb == "flush":
        return [*waiting.flush(command, hands.queue, now)]
    if verb in ("allow", "reject"):
        return permits.decide(command, hands.bindings, uid, now)
    if hands.queue.get(uid) is None:
        said = "This pod is not in the scheduling queue any more."
        if hands.bindings.is_binding(uid):
            said = "This pod has its node and is being bound: it is not in the queue."
        return [*no(command, said)]
    of_pod = OF_PODS.get(verb)
    if of_pod is None:
        return [*no(command, f"{verb!r} is not a command that the scheduler knows.")]
    return [*of_pod(command, hands.queue, uid, now)]
