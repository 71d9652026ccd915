"""The cluster's side of a measurement: objects arrive as Changes, and what the scheduler asks for happens at once."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from schedviz.kube import objects
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    DeletePod,
    Effect,
    Output,
    PatchPodStatus,
    Reply,
)
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from schedviz.web.bench import workloads


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for. warm: pods scheduled before the clock starts; running: pods on nodes from the beginning."""

    nodes: int
    pods: int
    running: int = 0
    workload: str = "basic"
    record: str = "none"
    warm: int = 0


class World:
    """n_bound: pods that reached their node."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.scheduler = Scheduler({"default-scheduler": default_profile()}, seed=0)
        self.n_bound = 0
        self._pods: dict[str, tuple[dict[str, Any], objects.KubeObject]] = {}
        for number in range(load.nodes):
            self._apply(Change("Node", None, objects.parse("Node", workloads.node(number))))
        n_running = load.running
        if load.workload == "preemption":
            n_running = load.nodes * workloads.VICTIMS_A_NODE
        for number in range(n_running):
            where = workloads.node_name(number % load.nodes)
            self._arrive(workloads.running(f"running-{number:06}", load.workload, where))
        self.add_pods("warm", load.warm)

    def add_pods(self, prefix: str, n: int) -> None:
        for number in range(n):
            self._arrive(workloads.pod(f"{prefix}-{number:06}", self.load.workload))

    def act(self, effect: Effect) -> list[Output]:
        """What becomes of the effect: its Reply if one is awaited, and what the watch then says."""
        action = effect.action
        if isinstance(action, Bind):
            self.n_bound += 1
            outputs = self._reply(effect, 201)
            raw = self._pods[action.pod.uid][0]
            return outputs + self._arrive(_changed(raw, spec={"nodeName": action.node_name}))
        if isinstance(action, DeletePod):
            _, old = self._pods.pop(action.pod.uid)
            return self._reply(effect, 200) + self._apply(Change("Pod", old, None))
        if isinstance(action, PatchPodStatus) and action.nominated_node_name is not None:
            raw = self._pods[action.pod.uid][0]
            return self._arrive(
                _changed(raw, status={"nominatedNodeName": action.nominated_node_name})
            )
        return []

    def _arrive(self, raw: dict[str, Any]) -> list[Output]:
        new = objects.parse("Pod", raw)
        _, old = self._pods.get(new.uid, (None, None))
        self._pods[new.uid] = raw, new
        return self._apply(Change("Pod", old, new))

    def _reply(self, effect: Effect, status_code: int) -> list[Output]:
        return self._apply(Reply(effect.id, ok=True, status_code=status_code))

    def _apply(self, entry: Change | Reply) -> list[Output]:
        return self.scheduler.apply(entry, time.time())


def drain(cycle: Generator[Any, None, list[Output]]) -> list[Output]:
    while True:
        try:
            next(cycle)
        except StopIteration as end:
            outputs: list[Output] = end.value
            return outputs


def _changed(raw: dict[str, Any], **parts: dict[str, Any]) -> dict[str, Any]:
    """The object after an update: these fields are new in it, and its version."""
    version = str(int(raw["metadata"]["resourceVersion"]) + 1)
    made = {**raw, "metadata": {**raw["metadata"], "resourceVersion": version}}
    return made | {name: {**raw[name], **fields} for name, fields in parts.items()}
