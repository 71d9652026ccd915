"""Sessions and clusters: made, started, stopped, configured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction

from schedviz.scheduler.config import ConfigError
from schedviz.web.actions.asking import Refused, audit, check, save_named
from schedviz.web.models import Cluster, Lease, Session

if TYPE_CHECKING:
    from schedviz.web.configs import CheckedConfig
    from schedviz.web.permissions import Person

SCHEDULER_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def session_start(by: Person, session: Session) -> None:
    _session_desire(by, session, "session.start", Session.Desired.RUNNING)


def session_stop(by: Person, session: Session) -> None:
    _session_desire(by, session, "session.stop", Session.Desired.STOPPED)


def _session_desire(by: Person, session: Session, action: str, desired: str) -> None:
    check(by, action, session, session.name)
    with transaction.atomic():
        held = Session.objects.select_for_update().get(pk=session.pk)
        before = {"desired": held.desired, "state": held.state}
        held.desired = desired
        held.save(update_fields=["desired"])
        audit(by, action, session, session.name, before=before, after={"desired": desired})
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
    check(by, "session.create", None, name)
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
        save_named(session)
        Lease.objects.create(session=session)
        after = {"cluster": cluster.name, "scheduler_names": scheduler_names, "seed": seed}
        after["config"] = session.config.get("name", "")
        audit(by, "session.create", session, name, after=after)
    return session


def session_configure(by: Person, session: Session, config: CheckedConfig | None) -> None:
    """With which configuration it runs from its next start on; None: the defaults, its scheduler names as they are."""
    check(by, "session.configure", session, session.name)
    before = {"config": session.config.get("name", ""), "scheduler_names": session.scheduler_names}
    if config is not None:
        session.scheduler_names = _schedulers_of(config, session.cluster)
    session.config = config.kept() if config else {}
    after = {"config": session.config.get("name", ""), "scheduler_names": session.scheduler_names}
    with transaction.atomic():
        session.save(update_fields=["config", "scheduler_names"])
        audit(by, "session.configure", session, session.name, before=before, after=after)


def _schedulers_of(config: CheckedConfig, cluster: Cluster) -> list[str]:
    try:
        return config.schedulers(in_sandbox=cluster.kind == Cluster.Kind.SANDBOX)
    except ConfigError as error:
        raise Refused(f"{config.name}: {error.summary}") from error


def cluster_add(
    by: Person, name: str, *, kubeconfig_path: str, context: str = "", sandbox: bool = False
) -> Cluster:
    """A cluster reached by a kubeconfig on the worker's disk; the path is kept, never the contents."""
    check(by, "cluster.add", None, name)
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
        save_named(cluster)
        audit(by, "cluster.add", None, name, after={"path": str(path), "context": context})
    return cluster
