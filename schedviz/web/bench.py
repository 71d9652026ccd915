"""One measurement of the scheduler alone: so many nodes, so many pods, one workload; no API server, no browser.

Called by the `bench` command. Plays the world: nodes and pods arrive as Changes, each Bind is answered at once, and
the bound pod comes back as the Change that a watch would bring (parsed from its raw form, as an informer has to). What
is timed for a cycle is all of that, and the journal's encoding and the database's commit if they are asked for.
"""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from schedviz.kube import objects
from schedviz.scheduler import journal, profile
from schedviz.scheduler.framework.steps import Bind, Change, CycleRecord, Effect, Reply
from schedviz.scheduler.scheduler import Scheduler

ZONES = ("zone-a", "zone-b", "zone-c")
LATER = ("spread", "anti", "preemption")


class CannotMeasure(Exception):
    """This workload needs what is not there yet; the text says what."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for."""

    nodes: int
    pods: int
    running: int = 0
    workload: str = "basic"
    record: str = "none"


@dataclass(frozen=True, slots=True)
class Figures:
    """What came out. Percentiles are of a cycle's time."""

    nodes: int
    pods: int
    running: int
    workload: str
    record: str
    cycles_per_s: float
    p50_ms: float
    p99_ms: float
    bytes_per_cycle: int
    peak_rss_mb: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


Keep = Callable[[list[CycleRecord]], int]
"""Keeps records, answers how many bytes that took."""


def node(number: int) -> dict[str, Any]:
    name = f"node-{number:05}"
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
    }
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "resourceVersion": "1"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, workload: str, node_name: str = "") -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "500Mi"}
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"requests": requests},
            }
        ],
    }
    if workload == "nodeaffinity":
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": IN_TWO_ZONES}
        }
    if node_name:
        spec["nodeName"] = node_name
    metadata = {
        "name": name,
        "namespace": "bench",
        "uid": name,
        "resourceVersion": "2" if node_name else "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


IN_TWO_ZONES = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(ZONES[:2])}
            ]
        }
    ]
}


class World:
    """The cluster's side: what arrives, and what becomes of a Bind."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.scheduler = Scheduler({"default-scheduler": profile.default_profile()}, seed=0)
        self.pods: dict[str, objects.KubeObject] = {}
        for number in range(load.nodes):
            self._arrive("Node", node(number))
        for number in range(load.running):
            name = f"node-{number % load.nodes:05}"
            self._arrive("Pod", pod(f"running-{number:06}", load.workload, name))
        for number in range(load.pods):
            self._arrive("Pod", pod(f"pod-{number:06}", load.workload))

    def _arrive(self, kind: str, raw: dict[str, Any]) -> list[Any]:
        new = objects.parse(kind, raw)
        old = self.pods.get(new.uid) if kind == "Pod" else None
        if kind == "Pod":
            self.pods[new.uid] = new
        return self.scheduler.apply(Change(kind, old, new), time.time())

    def cycles(self) -> Iterator[list[CycleRecord]]:
        """Runs every cycle there is to run; after each, the records that it closed."""
        while (cycle := self.scheduler.start_cycle(time.time())) is not None:
            outputs = _drain(cycle)
            records = [output for output in outputs if isinstance(output, CycleRecord)]
            yield records
            for output in outputs:
                if isinstance(output, Effect) and isinstance(output.action, Bind):
                    self._bind(output.id, output.action)

    def _bind(self, effect_id: int, action: Bind) -> None:
        self.scheduler.apply(Reply(effect_id, ok=True, status_code=201), time.time())
        self._arrive("Pod", pod(action.pod.name, self.load.workload, action.node_name))


def _drain(cycle: Any) -> list[Any]:
    try:
        while True:
            next(cycle)
    except StopIteration as end:
        outputs: list[Any] = end.value
        return outputs


def keep_encoded(records: list[CycleRecord]) -> int:
    """The journal's form, thrown away."""
    size = 0
    for record in records:
        summary, blob = journal.encode(record)
        size += len(blob) + len(repr(summary))
    return size


@contextlib.contextmanager
def keeping(record: str) -> Iterator[Keep]:
    """What becomes of records: nothing, or their encoding."""
    if record == "database":
        raise CannotMeasure("--record database waits for the session; there are none and journal")
    yield keep_encoded if record == "journal" else keep_nothing


def keep_nothing(records: list[CycleRecord]) -> int:
    return 0


def measure(load: Load, keep: Keep) -> Figures:
    if load.workload in LATER:
        raise CannotMeasure(
            f"workload {load.workload!r} waits for its plugin; there are basic and nodeaffinity"
        )
    world = World(load)
    times: list[float] = []
    size = 0
    began = turn = time.perf_counter()
    for records in world.cycles():
        size += keep(records)
        now = time.perf_counter()
        times.append(now - turn)
        turn = now
    took = time.perf_counter() - began
    p50, p99 = np.percentile(times, (50, 99)) * 1000 if times else (0.0, 0.0)
    return Figures(
        nodes=load.nodes,
        pods=load.pods,
        running=load.running,
        workload=load.workload,
        record=load.record,
        cycles_per_s=round(len(times) / took, 1),
        p50_ms=round(float(p50), 3),
        p99_ms=round(float(p99), 3),
        bytes_per_cycle=size // max(len(times), 1),
        peak_rss_mb=round(peak_rss_mb(), 1),
    )


def peak_rss_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
