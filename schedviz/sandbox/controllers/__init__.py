"""Plays the controllers of a cluster: workloads get their pods, what lost its owner goes, budgets say what they allow.

One for each sandbox, started by `server`. Each kind has one function that compares what is with what is wanted and
writes the difference; whatever changes near an object has it looked at again, so a restart resumes. Mirrors
kube-controller-manager as far as a scheduler and kubectl notice.

    replicas      ReplicaSet, ReplicationController -> Pods      daemon_sets   DaemonSet -> a Pod on each node
    deployments   Deployment -> ReplicaSets                      jobs          Job -> Pods that end
    stateful_sets StatefulSet -> Pods and claims, in order       garbage       owners that are gone; namespaces
    disruption    what a PodDisruptionBudget allows now
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import resources
from schedviz.sandbox.controllers import (
    daemon_sets,
    deployments,
    disruption,
    garbage,
    jobs,
    replicas,
    stateful_sets,
)
from schedviz.sandbox.controllers.world import FAILURES, World
from schedviz.sandbox.storage import Event, Object, Storage

RETRY_SECONDS = 1.0
PAUSE_SECONDS = 0.02
"""Between two rounds: what changes meanwhile is looked at once."""
log = logging.getLogger(__name__)
SYNC: dict[str, Callable[[World, Object], None]] = {
    "DaemonSet": daemon_sets.sync,
    "Deployment": deployments.sync,
    "Job": jobs.sync,
    "Namespace": garbage.sync_namespace,
    "PodDisruptionBudget": disruption.sync,
    "ReplicaSet": replicas.sync,
    "ReplicationController": replicas.sync,
    "StatefulSet": stateful_sets.sync,
}


class Controllers:
    """Runs in the server's loop. A round begins when everything written is durable and the index has heard of it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._world = World(storage)
        self._task: asyncio.Task[None] | None = None
        self._stop_listening = storage.listen(self._heard)

    def start(self) -> None:
        for kind in KINDS:
            for one in self._storage.values(kind):
                self._world.note(kind, one)
                self._changed(kind, one)
        self._task = asyncio.create_task(self._run(), name=f"controllers {self._storage.name}")

    async def stop(self) -> None:
        self._stop_listening()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # ---- what has to be looked at ----------------------------------------------------------------------------------

    def _heard(self, event: Event | None) -> None:
        if event is None:
            return
        one = event.object
        if event.type == "DELETED":
            self._world.forget(event.kind, one)
            for kind, key in self._world.keys_owned(one["metadata"]["uid"]):
                self._world.look_at("owners", f"{kind}:{key}")
        else:
            self._world.note(event.kind, one, event.old)
        self._changed(event.kind, one, event.old)

    def _changed(self, kind: str, one: Object, old: Object | None = None) -> None:
        world, meta = self._world, one["metadata"]
        key = world.key_of(one)
        owners = meta.get("ownerReferences") or ()
        if kind in SYNC:
            world.look_at(kind, key)
        if owners and (old is None or old["metadata"].get("ownerReferences") != owners):
            world.look_at("owners", f"{kind}:{key}")
        if resources.FOREGROUND in (meta.get("finalizers") or ()):
            world.look_at("foreground", f"{kind}:{key}")
        for owner in owners:
            if owner.get("kind") in SYNC and owner.get("controller"):
                world.look_at(owner["kind"], f"{meta.get('namespace')}/{owner.get('name')}")
            world.look_at_owner_in_foreground(owner, meta.get("namespace", ""))
        if kind == "Pod":
            self._pod_changed(one)
        elif kind == "Node" and _means_something(one, old):
            for daemon in self._storage.values("DaemonSet"):
                world.look_at("DaemonSet", world.key_of(daemon))
        if meta.get("namespace") in world.terminating:
            world.look_at("Namespace", meta["namespace"])

    def _pod_changed(self, pod: Object) -> None:
        for budget in self._storage.values("PodDisruptionBudget"):
            if budget["metadata"]["namespace"] == pod["metadata"]["namespace"]:
                self._world.look_at_soon("PodDisruptionBudget", self._world.key_of(budget))
        if jobs.FINALIZER in (pod["metadata"].get("finalizers") or ()):
            self._world.look_at("owners", f"Pod:{self._world.key_of(pod)}")

    # ---- the rounds ------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._world.awake.wait()
            try:
                await self._storage.settled()
            except sqlite3.Error:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            for kind, key in self._world.take():
                self._look_at(kind, key)
            await asyncio.sleep(PAUSE_SECONDS)

    def _look_at(self, kind: str, key: str) -> None:
        world = self._world
        try:
            if kind in ("owners", "foreground"):
                its_kind, _, its_key = key.partition(":")
                one = self._storage.get(its_kind, its_key)
                if one is not None:
                    (garbage.sync_owners if kind == "owners" else garbage.sync_foreground)(
                        world, one
                    )
                return
            one = self._storage.get(kind, key)
            if one is not None:
                SYNC[kind](world, one)
        except FAILURES as error:
            log.info("%s %s is left as it is: %s", kind, key, error)


def _means_something(node: Object, old: Object | None) -> bool:
    """For daemons: heartbeats do not."""
    if old is None:
        return True
    return (node.get("spec"), node["metadata"].get("labels")) != (
        old.get("spec"),
        old["metadata"].get("labels"),
    )
