"""Short work of Celery workers. Long-lived sessions are not tasks: see `bootstep`.

`find_changes` is sent by `findings`; `changes_for` is also called by `manage.py explain`, which waits for it.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from celery import shared_task

from schedviz.cluster import listing
from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.kube.objects import KubeObject, Pod
from schedviz.scheduler.config import ConfigError
from schedviz.scheduler.explain import find
from schedviz.scheduler.profile import default_profile
from schedviz.web import configs, findings
from schedviz.web.models import Finding, Session

if TYPE_CHECKING:
    from schedviz.scheduler.framework.runtime import Framework


class NotFound(Exception):
    """Changes cannot be looked for now; the text says why."""


@shared_task(name=findings.TASK)
def find_changes(session_pk: int, pod_uid: str) -> None:
    session = Session.objects.select_related("cluster").get(pk=session_pk)
    content, message = {}, ""
    try:
        content = changes_for(session, pod_uid)
    except NotFound as why:
        message = str(why)
    Finding.objects.filter(session=session, pod_uid=pod_uid).update(
        at=time.time(), content=content, message=message
    )


def changes_for(session: Session, pod_uid: str) -> dict[str, Any]:
    """On the cluster as it is now, with the session's configuration."""
    try:
        there = asyncio.run(_everything(session))
        framework = _framework(session, _scheduler_name(there, pod_uid))
        return asdict(find(framework, there, pod_uid))
    except (ClusterError, ConfigError, LookupError) as error:
        raise NotFound(str(error)) from error


async def _everything(session: Session) -> list[KubeObject]:
    cluster = session.cluster
    async with ClusterClient.from_kubeconfig(cluster.kubeconfig_path, cluster.context) as client:
        return await listing.everything(client)


def _scheduler_name(there: list[KubeObject], pod_uid: str) -> str:
    names = (one.scheduler_name for one in there if isinstance(one, Pod) and one.uid == pod_uid)
    name = next(names, None)
    if name is None:
        raise LookupError("the cluster does not have the pod any more")
    return name


def _framework(session: Session, scheduler_name: str) -> Framework:
    if not session.config:
        return default_profile(scheduler_name)
    profiles = configs.checked(session.config["name"], session.config["text"]).profiles
    return profiles[scheduler_name]
