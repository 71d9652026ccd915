"""Every write that a person asks for: checked here whatever the page showed, and audited, refused ones too.

Called by views and management commands. What a running session must do (retry, move) becomes a Command row; its runner
submits it and `recording` writes the answer and the audit row. Refusals are `Refused` with words for the person.
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from schedviz.scheduler.commands import waiting
from schedviz.scheduler.config import ConfigError
from schedviz.web import extender_rules, permissions
from schedviz.web.extender_rules import RulesError
from schedviz.web.models import Audit, Cluster, Command, ExtenderRules, Lease, PodState, Session
from schedviz.web.tables import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.contrib.auth.models import User

    from schedviz.web.configs import CheckedConfig
    from schedviz.web.permissions import Person

SCHEDULER_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
EXTENDER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
KEY_LENGTH = 64
REASON_LENGTH = 200
RULES_LENGTH = 1000
MAX_PAUSE_SECONDS = 7 * 24 * 3600


class Refused(Exception):
    """The wish cannot be granted; the text says why and what would help. Shown to the person as it is."""


def session_start(by: Person, session: Session) -> None:
    _session_desire(by, session, "session.start", Session.Desired.RUNNING)


def session_stop(by: Person, session: Session) -> None:
    _session_desire(by, session, "session.stop", Session.Desired.STOPPED)


def _session_desire(by: Person, session: Session, action: str, desired: str) -> None:
    _check(by, action, session, session.name)
    with transaction.atomic():
        held = Session.objects.select_for_update().get(pk=session.pk)
        before = {"desired": held.desired, "state": held.state}
        held.desired = desired
        held.save(update_fields=["desired"])
        _audit(by, action, session, session.name, before=before, after={"desired": desired})
    session.desired = desired


def session_create(
    by: Person,
    name: str,
    *,
    cluster: Cluster,
    scheduler_names: list[str] | None = None,
    seed: int = 0,
    config: CheckedConfig | None = None,
) -> Session:
    """A stopped session. Scheduler names: those of the configuration's profiles; without one `default-scheduler` in a
    sandbox and `schedviz` elsewhere, unless given."""
    _check(by, "session.create", None, name)
    if config is not None:
        if scheduler_names:
            raise Refused("the configuration's profiles name the schedulers: leave the names out")
        scheduler_names = _schedulers_of(config, cluster)
    if not scheduler_names:
        in_sandbox = cluster.kind == Cluster.Kind.SANDBOX
        scheduler_names = ["default-scheduler" if in_sandbox else "schedviz"]
    wrong = [word for word in scheduler_names if not SCHEDULER_NAME.fullmatch(word)]
    if wrong:
        raise Refused(f"{wrong[0]!r} is no scheduler name: use lower-case letters, digits, - and .")
    session = Session(name=name, cluster=cluster, scheduler_names=scheduler_names, seed=seed)
    session.config = config.kept() if config else {}
    with transaction.atomic():
        _save(session)
        Lease.objects.create(session=session)
        after = {"cluster": cluster.name, "scheduler_names": scheduler_names, "seed": seed}
        after["config"] = session.config.get("name", "")
        _audit(by, "session.create", session, name, after=after)
    return session


def session_configure(by: Person, session: Session, config: CheckedConfig | None) -> None:
    """With which configuration it runs from its next start on; None: the defaults, its scheduler names as they are."""
    _check(by, "session.configure", session, session.name)
    before = {"config": session.config.get("name", ""), "scheduler_names": session.scheduler_names}
    if config is not None:
        session.scheduler_names = _schedulers_of(config, session.cluster)
    session.config = config.kept() if config else {}
    after = {"config": session.config.get("name", ""), "scheduler_names": session.scheduler_names}
    with transaction.atomic():
        session.save(update_fields=["config", "scheduler_names"])
        _audit(by, "session.configure", session, session.name, before=before, after=after)


def _schedulers_of(config: CheckedConfig, cluster: Cluster) -> list[str]:
    try:
        return config.schedulers(in_sandbox=cluster.kind == Cluster.Kind.SANDBOX)
    except ConfigError as error:
        raise Refused(f"{config.name}: {error.summary}") from error


def cluster_add(
    by: Person, name: str, *, kubeconfig_path: str, context: str = "", sandbox: bool = False
) -> Cluster:
    """A cluster reached by a kubeconfig on the worker's disk; the path is kept, never the contents."""
    _check(by, "cluster.add", None, name)
    path = Path(kubeconfig_path).expanduser()
    if not path.is_absolute():
        raise Refused(
            f"give the kubeconfig's whole path, from / on: {kubeconfig_path!r} is relative"
        )
    cluster = Cluster(
        name=name,
        kind=Cluster.Kind.SANDBOX if sandbox else Cluster.Kind.KUBECONFIG,
        kubeconfig_path=str(path),
        context=context,
    )
    with transaction.atomic():
        _save(cluster)
        _audit(by, "cluster.add", None, name, after={"path": str(path), "context": context})
    return cluster


def extender_save(by: Person, name: str, text: str) -> None:
    """The rules of an extender that we serve: a new one, or anew."""
    _check(by, "extender.edit", None, name)
    if not EXTENDER_NAME.fullmatch(name):
        raise Refused(f"{name!r} is no name: use lower-case letters, digits and -, 63 at most")
    try:
        extender_rules.read(text)
    except RulesError as error:
        raise Refused(str(error)) from error
    fields = {"text": text, "changed_by": by.username, "changed_at": time.time()}
    with transaction.atomic():
        before = ExtenderRules.objects.filter(name=name).values_list("text", flat=True).first()
        ExtenderRules.objects.update_or_create(name=name, defaults=fields)
        _audit(by, "extender.edit", None, name, before=_rules(before), after=_rules(text))


def extender_delete(by: Person, name: str) -> None:
    _check(by, "extender.edit", None, name)
    with transaction.atomic():
        there = ExtenderRules.objects.filter(name=name)
        before = there.values_list("text", flat=True).first()
        there.delete()
        _audit(by, "extender.edit", None, name, before=_rules(before), after={})


def _rules(text: str | None) -> dict[str, str]:
    """As the audit log keeps them: their beginning."""
    return {} if text is None else {"rules": text[:RULES_LENGTH]}


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
    with _asked(by, "session.flush", session, session.name):
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
    with _asked(by, "session.pause", session, session.name):
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
    with _asked(by, "session.resume", session, session.name):
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
    with _asked(by, f"pod.{verb}", session, _pod_name(session, uid)) as name:
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


def _save(row: Cluster | Session) -> None:
    try:
        row.full_clean(exclude=[field.name for field in row._meta.fields if field.name != "name"])
    except ValidationError as error:
        lines = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
        raise Refused("; ".join(lines)) from error
    row.save()


def denied(by: Person, action: str, session_name: str, on: str, why: str) -> None:
    """A page turned somebody away who asked for more than to look: that leaves a trace."""
    session = Session.objects.filter(name=session_name).first()
    _audit(by, action, session, on or session_name, outcome="denied", message=why)


@contextlib.contextmanager
def _asked(by: Person, action: str, session: Session, on: str) -> Iterator[str]:
    """Inside, `by` may do it; what is refused there leaves a trace as well."""
    _check(by, action, session, on)
    try:
        yield on
    except Refused as refused:
        _audit(by, action, session, on, outcome="refused", message=str(refused))
        raise


def _check(by: Person, action: str, session: Session | None, on: str) -> None:
    try:
        permissions.check(by, action, session)
    except PermissionDenied as denied:
        _audit(by, action, session, on, outcome="denied", message=str(denied))
        raise


def _audit(
    by: Person,
    action: str,
    session: Session | None,
    on: str,
    **more: Any,  # before, after, outcome, message
) -> None:
    more.setdefault("outcome", "ok")
    Audit.objects.create(
        user=by.username, action=action, session=session, object=clean(on, 400), **more
    )
