"""Allow or reject a pod that waits at Permit, in the plugin's stead. Used by `commands`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedviz.scheduler.framework.steps import Command, CommandResult, Lane, Output

if TYPE_CHECKING:
    from schedviz.scheduler.binding_cycles import BindingCycles


def decide(command: Command, bindings: BindingCycles, uid: str, now: float) -> list[Output]:
    """args: plugin: for which of those that it waits for, none: for all; reason, of a rejection."""
    waits = bindings.waits_at_permit(uid)
    plugin, reason = str(command.args.get("plugin", "")), str(command.args.get("reason", ""))
    if not waits:
        return [_answer(command, False, "This pod does not wait at Permit (any more).", {}, {})]
    if plugin and plugin not in waits:
        said = f"The pod does not wait for {plugin}; it waits for {', '.join(waits)}."
        return [_answer(command, False, said, _binding(waits), _binding(waits))]
    if command.verb == "reject":
        words = f"rejected by {command.by}" + (f": {reason}" if reason else "")
        outputs = bindings.reject(uid, plugin or waits[0], words, now)
        said, after = "The pod is rejected and gives its node back.", {"rejected": reason or True}
        return [_answer(command, True, said, _binding(waits), after), *outputs]
    outputs = bindings.allow(uid, plugin, command.by, now)
    left = bindings.waits_at_permit(uid)
    said = "The pod is allowed: its binding goes on."
    if left:
        said = f"The pod is allowed for {plugin}; it still waits for {', '.join(left)}."
    return [_answer(command, True, said, _binding(waits), _binding(left)), *outputs]


def _binding(waits: tuple[str, ...]) -> dict[str, Any]:
    return {"lane": str(Lane.BINDING)} | ({"waits for": ", ".join(waits)} if waits else {})


def _answer(
    command: Command, ok: bool, said: str, before: dict[str, Any], after: dict[str, Any]
) -> CommandResult:
    return CommandResult(command.id, ok, said, before, after)
