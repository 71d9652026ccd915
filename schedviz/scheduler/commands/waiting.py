"""Retry a pod or many, hold a pod and release it. Used by `commands`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from schedviz.scheduler.commands.answering import Answer, no, unchanged, where
from schedviz.scheduler.commands.places import NO_PLACES, placed
from schedviz.scheduler.framework.node_info import Hold, QueuedPodInfo
from schedviz.scheduler.framework.steps import Command, CommandResult, Lane, Move
from schedviz.scheduler.queue import SchedulingQueue

RETRIED = (Lane.BACKOFF, Lane.UNSCHEDULABLE)
MOST_FLUSHED = 500
"""Pods that one flush may wake: what wakes more at once is better done in turns."""


def retry(command: Command, queue: SchedulingQueue, uid: str, now: float) -> Answer:
    """args: to: "top": before all others of its priority."""
    before = where(queue, uid)
    lane, to = queue.lane(uid), command.args.get("to")
    if to not in (None, "top"):
        return no(command, f"{to!r} is not a place for a retried pod: use top, or none.", before)
    if lane is Lane.ACTIVE and to is None:
        return unchanged(command, "The pod is active already.", before)
    if "hold" in before:
        return no(command, f"The pod is {before['hold']}. Release it first.", before)
    if lane not in (*RETRIED, Lane.ACTIVE):
        said = f"A pod that is {lane} can't be retried: it is not waiting for a retry."
        return no(command, said, before)
    if to and not queue.can_place(uid):
        return no(command, NO_PLACES, before)
    moves = [] if lane is Lane.ACTIVE else [queue.retry(uid, now, command.by)]
    said = "The pod is active and will be tried next in its turn."
    if queue.lane(uid) is not Lane.ACTIVE:
        said = f"The pod is {queue.lane(uid)}: a PreEnqueue plugin holds it back."
    elif to:
        if queue.position(uid)[0] != 1:
            moves.append(queue.move(uid, 1, command.by, now))
        said = placed(where(queue, uid))
    return [CommandResult(command.id, True, said, before, where(queue, uid)), *moves]


def flush(command: Command, queue: SchedulingQueue, now: float) -> Answer:
    """args: lane: "backoff" or "unschedulable", or plugin: whoever alone refused the pods; limit: how many at most,
    the most important first."""
    lane, plugin = command.args.get("lane", ""), command.args.get("plugin", "")
    limit = command.args.get("limit", MOST_FLUSHED)
    if bool(lane) is bool(plugin) or (lane and lane not in RETRIED):
        return no(command, "Say which pods: those in backoff, in unschedulable, or of one plugin.")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_FLUSHED:
        return no(command, f"{limit!r} is no limit: use 1 to {MOST_FLUSHED}.")
    found = _waiting(queue, str(lane), str(plugin))
    what = f"in {lane}" if lane else f"refused by {plugin} alone"
    if not found:
        return unchanged(command, f"There is no pod {what}.", {"waiting": 0})
    moves: Answer = [
        queue.retry(queued.uid, now, command.by, "Command/flush") for queued in found[:limit]
    ]
    went = Counter(str(move.target) for move in moves if isinstance(move, Move))
    names = [queued.pod.key for queued in found[:limit]]
    after: dict[str, Any] = {"moved": len(names), "left": len(found) - len(names), "pods": names}
    said = ", ".join(f"{n} {'is' if n == 1 else 'are'} {where} now" for where, n in went.items())
    said = f"Of {len(found)} pod{'s' if len(found) > 1 else ''} {what}, {said}."
    if after["left"]:
        said += f" {after['left']} are left: at most {limit} are moved at a time."
    before = {"waiting": len(found), "lane": lane} if lane else {"waiting": len(found)}
    return [CommandResult(command.id, True, said, before, after | dict(went)), *moves]


def _waiting(queue: SchedulingQueue, lane: str, plugin: str) -> list[QueuedPodInfo]:
    found = []
    for one in [Lane(lane)] if lane else RETRIED:
        for uid in queue.uids(one):
            queued = queue.get(uid)
            if queued is None:
                continue
            if lane or queued.unschedulable_plugins | queued.pending_plugins == {plugin}:
                found.append(queued)
    return sorted(found, key=lambda queued: (-queued.pod.priority, queued.rank))


def hold(command: Command, queue: SchedulingQueue, uid: str, now: float) -> Answer:
    """args: reason."""
    before = where(queue, uid)
    if "hold" in before:
        return unchanged(command, f"The pod is {before['hold']}, already.", before)
    if queue.lane(uid) is Lane.SCHEDULING:
        return no(command, "The pod is being scheduled this moment: try again.", before)
    move = queue.hold(uid, Hold(command.by, now, str(command.args.get("reason", ""))))
    said = "The pod is held: it is not tried until somebody releases it."
    return [CommandResult(command.id, True, said, before, where(queue, uid)), move]


def release(command: Command, queue: SchedulingQueue, uid: str, now: float) -> Answer:
    before = where(queue, uid)
    if "hold" not in before:
        return unchanged(command, "Nobody holds this pod.", before)
    move = queue.release(uid, now, command.by)
    said = "The pod is released and active: it will be tried in its turn."
    if move.target is not Lane.ACTIVE:
        said = f"The pod is released, but still {move.target}: {move.detail}"
    return [CommandResult(command.id, True, said, before, where(queue, uid)), move]
