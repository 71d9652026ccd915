"""What a running session is asked: each wish becomes a Command row, which its runner submits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from schedviz.scheduler.commands import waiting
from schedviz.web.actions.asking import Refused, asked
from schedviz.web.models import Audit, Command, PodState, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User

    from schedviz.web.permissions import Person

KEY_LENGTH = 64
REASON_LENGTH = 200
MAX_PAUSE_SECONDS = 7 * 24 * 3600


def pod_retry(by: Person, session: Session, uid: str, *, to: str = "", key: str) -> Command:
    """Asks the session to try this pod now; `to` "top": before all others of its priority. The same `key` again gives
    the same command."""
    more = {"to": to} if to else {}
    return _ask_of_pod(by, session, "retry", uid, key, lambda: more)


def pod_move(by: Person, session: Session, uid: str, *, to: str | int, key: str) -> Command:
    """Asks the session to move this pod among those of its priority: to "top", "bottom" or a place counted from 1."""
    return _ask_of_pod(by, session, "move", uid, key, lambda: {"to": _place(to)})


def pod_hold(by: Person, session: Session, uid: str, *, reason: str = "", key: str) -> Command:
    """Asks the session not to try this pod until it is released."""
    reason = reason.strip()[:REASON_LENGTH]
    return _ask_of_pod(by, session, "hold", uid, key, lambda: {"reason": reason})


def pod_release(by: Person, session: Session, uid: str, *, key: str) -> Command:
    return _ask_of_pod(by, session, "release", uid, key, dict)


def pod_allow(by: Person, session: Session, uid: str, *, plugin: str = "", key: str) -> Command:
    """Asks the session to bind this pod though it waits at Permit; for one plugin, or for all that it waits for."""
    return _ask_of_pod(by, session, "allow", uid, key, lambda: {"plugin": plugin})


def pod_reject(by: Person, session: Session, uid: str, *, reason: str = "", key: str) -> Command:
    """Asks the session to take a pod that waits at Permit from its node."""
    reason = reason.strip()[:REASON_LENGTH]
    return _ask_of_pod(by, session, "reject", uid, key, lambda: {"reason": reason})


def move_undo(by: Person, moved: Command, *, key: str) -> Command:
    """Asks the session to put a moved pod back, which it does as long as the pod was not tried or moved since."""

    def places() -> dict[str, Any]:
        audit = Audit.objects.filter(command=moved).first()
        if moved.verb != "move" or not moved.ok or audit is None:
            raise Refused("only a move that was made can be undone")
        return {"undoes": moved.pk, "before": audit.before, "after": audit.after}

    uid = str(moved.args.get("uid", ""))
    return _ask_of_pod(by, moved.session, "undo", uid, key, places)


def session_flush(
    by: Person, session: Session, *, lane: str = "", plugin: str = "", limit: int, key: str
) -> Command:
    """Asks the session to try many waiting pods now: those of a lane, or those that this plugin alone refused."""
    with asked(by, "session.flush", session, session.name):
        if bool(lane) is bool(plugin) or (lane and lane not in waiting.RETRIED):
            raise Refused("say which pods: those in backoff, in unschedulable, or of one plugin")
        if not 1 <= limit <= waiting.MOST_FLUSHED:
            raise Refused(f"a limit is a number from 1 to {waiting.MOST_FLUSHED}")
        which = {"lane": lane} if lane else {"plugin": plugin[:253]}
        return _command(by, session, "flush", which | {"limit": limit}, key=key)


def session_pause(
    by: Person, session: Session, *, reason: str, seconds: float | None = None, key: str
) -> Command:
    """Asks the session to take no pod from its queue until it is resumed, or for so many seconds."""
    with asked(by, "session.pause", session, session.name):
        reason = reason.strip()
        if not reason:
            raise Refused("say why: others see the reason on every page of this session")
        if seconds is not None and not 0 < seconds <= MAX_PAUSE_SECONDS:
            raise Refused(
                f"pause for more than 0 and at most {MAX_PAUSE_SECONDS} seconds, or without an end"
            )
        args = {"reason": reason[:REASON_LENGTH], "seconds": seconds}
        return _command(by, session, "pause", args, key=key)


def session_resume(by: Person, session: Session, *, key: str) -> Command:
    """Asks the session to take pods from its queue again."""
    with asked(by, "session.resume", session, session.name):
        return _command(by, session, "resume", {}, key=key)


def _place(to: str | int) -> str | int:
    if to in ("top", "bottom"):
        return to
    text = str(to)
    if text.isascii() and text.isdigit() and len(text) < 8 and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise Refused(f"{text[:40]!r} is no place: write top, bottom or a number counted from 1")


def _pod_name(session: Session, uid: str) -> str:
    pod = PodState.objects.filter(session=session, uid=uid).first()
    return f"{pod.namespace}/{pod.name}" if pod else uid[:300]


def _ask_of_pod(
    by: Person,
    session: Session,
    verb: str,
    uid: str,
    key: str,
    more: Callable[[], dict[str, Any]],
) -> Command:
    """`more`: the wish's other arguments; may refuse."""
    with asked(by, f"pod.{verb}", session, _pod_name(session, uid)) as name:
        args = {"uid": uid, **more(), "pod": name}
        if not PodState.objects.filter(session=session, uid=uid).exists():
            raise Refused("this session knows no such pod: it may have been deleted")
        return _command(by, session, verb, args, key=key)


def _command(by: Person, session: Session, verb: str, args: dict[str, Any], *, key: str) -> Command:
    if not key or len(key) > KEY_LENGTH:
        raise Refused("the request carries no usable key: load the page again")
    if session.state != Session.State.RUNNING:
        is_coming = session.state == Session.State.STARTING
        hint = "try again in a moment" if is_coming else "start it, then try again"
        raise Refused(f"session {session.name} is {session.state}: {hint}")
    command, _ = Command.objects.get_or_create(
        created_by=cast("User", by),
        key=key,
        defaults={"session": session, "verb": verb, "args": args},
    )
    if (command.session_id, command.verb, command.args) != (session.pk, verb, args):
        raise Refused("this key was used for another request: load the page again")
    return command
