"""A sandbox's beginning and what then happens in it: YAML files beside this module, played in the server's loop.

Used by `server`. Everything follows from the file and the seconds played so far, which are kept with the sandbox: a
restart goes on where it was and makes nothing twice (names are numbered; what exists is left alone).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import resources
from schedviz.sandbox.kubelet import RUN_SECONDS
from schedviz.sandbox.resources import Target
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Object, Storage

TICK_SECONDS = 0.25
FOLDER = Path(__file__).parent


class ScenarioError(ValueError):
    """A scenario that can't be played; the message names the file, the place and what would be right."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """`count` nodes of one shape: name-1, name-2, ... (a single one keeps the name as it is)."""

    name: str
    count: int = 1
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 60
    zone: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[dict[str, str]] = field(default_factory=list)
    extended: dict[str, str] = field(default_factory=dict)
    images: list[dict[str, Any]] = field(default_factory=list)
    unschedulable: bool = False

    def objects(self) -> Iterator[Object]:
        for number in range(1, self.count + 1):
            name = self.name if self.count == 1 else f"{self.name}-{number}"
            amounts = {
                "cpu": self.cpu,
                "memory": self.memory,
                "pods": str(self.pods),
                "ephemeral-storage": "100Gi",
            }
            amounts |= self.extended
            labels = {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            }
            if self.zone:
                labels["topology.kubernetes.io/zone"] = self.zone
            spec: Object = {"taints": self.taints} if self.taints else {}
            if self.unschedulable:
                spec["unschedulable"] = True
            yield {
                "metadata": {"name": name, "labels": labels | self.labels},
                "spec": spec,
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                    "images": self.images,
                },
            }


@dataclass(frozen=True, slots=True)
class Stream:
    """Pods of one kind, one each `every` seconds from `start` until `until`. run: seconds a pod runs, [least, most]."""

    name: str
    namespace: str
    every: float
    start: float = 0.0
    until: float = 1800.0
    run: tuple[float, float] | None = None
    priority: str = ""
    cpu: str = "100m"
    memory: str = "128Mi"
    image: str = "registry.k8s.io/pause:3.10"
    requests: dict[str, str] = field(default_factory=dict)
    ungate_after: float = 0.0
    spec: dict[str, Any] = field(default_factory=dict)

    def times(self, after: float, now: float) -> Iterator[tuple[int, float]]:
        """(number, moment) of the pods due in (after, now]."""
        number = max(0, int((after - self.start) / self.every))
        while (at := self.start + number * self.every) <= min(now, self.until):
            if at > after or (at == 0.0 and after < 0):
                yield number, at
            number += 1

    def pod(self, number: int, seed: int) -> Object:
        annotations = {}
        if self.run is not None:
            seconds = random.Random(f"{seed} {self.name} {number}").uniform(*self.run)
            annotations[RUN_SECONDS] = f"{seconds:.1f}"
        requests = {"cpu": self.cpu, "memory": self.memory} | self.requests
        container = {"name": "main", "image": self.image, "resources": {"requests": requests}}
        spec = {"containers": [container], **self.spec}
        if "ports" in self.spec:
            container["ports"] = spec.pop("ports")
        if self.priority:
            spec["priorityClassName"] = self.priority
        meta = {
            "name": f"{self.name}-{number}",
            "labels": {"app": self.name},
            "annotations": annotations,
        }
        return {"metadata": meta, "spec": spec}


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    seed: int
    namespaces: list[str]
    priority_classes: dict[str, int]
    nodes: list[Nodes]
    streams: list[Stream]


def load(name: str) -> Scenario:
    """Raises ScenarioError."""
    path = FOLDER / f"{name}.yaml"
    known = sorted(one.stem for one in FOLDER.glob("*.yaml"))
    if name not in known:
        raise ScenarioError(f"there is no scenario {name[:80]!r}: use one of {', '.join(known)}")
    try:
        raw = yaml.safe_load(path.read_text()) or {}
        return Scenario(
            name=name,
            seed=int(raw.get("seed", 0)),
            namespaces=[str(one) for one in raw.get("namespaces") or ()],
            priority_classes={
                str(k): int(v) for k, v in (raw.get("priorityClasses") or {}).items()
            },
            nodes=[Nodes(**one) for one in raw.get("nodes") or ()],
            streams=[Stream(**one) for one in raw.get("pods") or ()],
        )
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise ScenarioError(f"{path.name}: {error}") from None


class Player:
    """Makes the beginning once, then plays the streams until the last one ends."""

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
        for name in (
            "default",
            "kube-system",
            "kube-public",
            "kube-node-lease",
            *self._scenario.namespaces,
        ):
            self._make("Namespace", "", {"metadata": {"name": name}})
        for name, value in self._scenario.priority_classes.items():
            self._make("PriorityClass", "", {"metadata": {"name": name}, "value": value})
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
        end = max(stream.until + stream.ungate_after for stream in self._scenario.streams)
        while played < end:
            now = loop.time() - origin
            for stream in self._scenario.streams:
                self._advance(stream, played, now)
            played = about["played"] = now
            self._storage.touch()
            await asyncio.sleep(TICK_SECONDS)

    def _advance(self, stream: Stream, after: float, now: float) -> None:
        for number, _ in stream.times(after, now):
            self._make("Pod", stream.namespace, stream.pod(number, self._scenario.seed))
        if stream.ungate_after:
            for number, _ in stream.times(after - stream.ungate_after, now - stream.ungate_after):
                self._ungate(Target(KINDS["Pod"], stream.namespace, f"{stream.name}-{number}"))

    def _make(self, kind: str, namespace: str, body: Object) -> None:
        try:
            resources.create(self._storage, KINDS[kind], namespace, body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise ScenarioError(
                    f"{self._scenario.name}: {kind} {body['metadata']['name']}: {error}"
                ) from None

    def _ungate(self, target: Target) -> None:
        pod = self._storage.get("Pod", target.key)
        if pod is not None and pod["spec"].get("schedulingGates"):
            resources.update(
                self._storage, target, {**pod, "spec": {**pod["spec"], "schedulingGates": []}}
            )
