"""Plays a scenario in the server's loop: the beginning once, then its streams of pods.

One for each sandbox, started by `server`. How far it has played is kept with the pods it made, in one commit: a restart
goes on from there and makes nothing twice. While the server is down the scenario stands still.
"""

from __future__ import annotations

import asyncio
import logging

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import resources
from schedviz.sandbox.defaults import DEFAULT_CLASS, SYSTEM_CLASSES
from schedviz.sandbox.resources import Target
from schedviz.sandbox.scenarios import Scenario, Stream
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Object, Storage
from schedviz.sandbox.volume_binder import PROVISIONER

TICK_SECONDS = 0.1
SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
STANDARD: Object = {
    "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": PROVISIONER,
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""Every sandbox has this class, as every cluster of a laptop has one."""
log = logging.getLogger(__name__)


class Player:
    def __init__(self, storage: Storage, scenario: Scenario) -> None:
        self._storage = storage
        self._scenario = scenario
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if not self._storage.about.get("begun"):
            self._begin()
        if self._scenario.streams:
            self._task = asyncio.create_task(self._play(), name=f"scenario {self._storage.name}")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _begin(self) -> None:
        for name in (*SYSTEM_NAMESPACES, *self._scenario.namespaces):
            self._make("Namespace", "", {"metadata": {"name": name}})
        for name, value in (SYSTEM_CLASSES | self._scenario.priority_classes).items():
            self._make("PriorityClass", "", {"metadata": {"name": name}, "value": value})
        self._make("StorageClass", "", STANDARD)
        for nodes in self._scenario.nodes:
            for node in nodes.objects():
                self._make("Node", "", node)
        self._storage.about["begun"] = True
        self._storage.touch()

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        about = self._storage.about
        played = float(about.get("played", -1.0))
        origin = loop.time() - max(played, 0.0)
        streams = self._scenario.streams
        end = max(one.until + max(one.ungate_after, one.give_up_after) for one in streams)
        while played < end:
            now = loop.time() - origin
            for stream in streams:
                self._advance(stream, played, now)
            played = about["played"] = now
            self._storage.touch()
            await asyncio.sleep(TICK_SECONDS)

    def _advance(self, stream: Stream, after: float, now: float) -> None:
        for number in stream.due(after, now):
            self._make("Pod", stream.namespace, stream.pod(number, self._scenario.seed))
        if stream.ungate_after:
            for number in stream.due(after - stream.ungate_after, now - stream.ungate_after):
                self._ungate(_target(stream, number))
        if stream.give_up_after:
            for number in stream.due(after - stream.give_up_after, now - stream.give_up_after):
                self._give_up(_target(stream, number))

    def _make(self, kind: str, namespace: str, body: Object) -> None:
        """What is there stays; what the cluster refuses now (its users may have changed it) is left out."""
        try:
            resources.create(self._storage, KINDS[kind], namespace, body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                log.warning("scenario %s: %s left out: %s", self._scenario.name, kind, error)

    def _ungate(self, target: Target) -> None:
        pod = self._storage.get("Pod", target.key)
        if pod is not None and pod["spec"].get("schedulingGates"):
            spec = {**pod["spec"], "schedulingGates": []}
            resources.update(self._storage, target, {**pod, "spec": spec})

    def _give_up(self, target: Target) -> None:
        pod = self._storage.get("Pod", target.key)
        if pod is not None and not pod["spec"].get("nodeName"):
            resources.delete(self._storage, target, {})


def _target(stream: Stream, number: int) -> Target:
    return Target(KINDS["Pod"], stream.namespace, stream.pod_name(number))
