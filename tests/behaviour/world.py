"""What the behaviour tests share: a real sandbox cluster, real sessions on it, and what happened, to be asked.

`World` speaks of pods and nodes by name; a session's cycles are kept in the order in which they were recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import CycleRecord, Lane, Move, Outcome
from schedviz.scheduler.scheduler import Scheduler
from schedviz.scheduler.views import NodeView
from tests.sandbox.running import Running
from tests.sandbox.speaking import MERGE, NODES, PODS
from tests.test_session import KeepingSink, session

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class World:
    def __init__(self, sandbox: Running) -> None:
        self.sandbox = sandbox
        self.sink = KeepingSink()

    # ---- the cluster -----------------------------------------------------------------------------------------------

    def node(self, name: str, *, cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any):
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        status = {"allocatable": amounts, "capacity": amounts}
        meta = {"name": name, "labels": labels or {}}
        self.sandbox.ok("POST", NODES, {"metadata": meta, "spec": spec, "status": status})

    def pod(
        self, name: str, *, cpu: str = "", labels: dict[str, str] | None = None, **spec: Any
    ) -> dict[str, Any]:
        """Made, as the API server answers."""
        resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
        containers = [{"name": "main", "image": "luksa/kubia", **resources}]
        body = {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {"containers": containers, "terminationGracePeriodSeconds": 0, **spec},
        }
        made: dict[str, Any] = self.sandbox.ok("POST", PODS, body)
        return made

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self.sandbox.ok("PATCH", path, body, form=MERGE)

    def delete(self, name: str, *, now: bool = True) -> None:
        more = {"gracePeriodSeconds": 0} if now else None
        self.sandbox.ok("DELETE", f"{PODS}/{name}", more)

    def priority(self, name: str, value: int) -> None:
        self.sandbox.ok("POST", CLASSES, {"metadata": {"name": name}, "value": value})

    def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sandbox.ok("GET", f"{PODS}/{name}")
        return found

    def node_of(self, name: str) -> str:
        return str(self.get(name)["spec"].get("nodeName", ""))

    def nominated(self, name: str) -> str:
        return str(self.get(name)["status"].get("nominatedNodeName") or "")

    def condition(self, name: str) -> dict[str, Any]:
        """PodScheduled, or nothing."""
        there = self.get(name)["status"].get("conditions") or []
        return next((one for one in there if one["type"] == "PodScheduled"), {})

    def events(self, reason: str) -> list[dict[str, Any]]:
        found = self.sandbox.ok("GET", EVENTS)["items"]
        return [one for one in found if one["reason"] == reason]

    # ---- the session -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def scheduled(self, **profiles: Framework) -> Iterator[None]:
        """A session runs; profiles by scheduler name, with _ for -."""
        named = {name.replace("_", "-"): one for name, one in profiles.items()}
        with session(self.sandbox, self.sink, profiles=named or None):
            yield

    def until(self, holds: Callable[[], bool]) -> None:
        """Whenever the session says something: is it so?"""
        self.sink.until(holds)

    def cycles(self, name: str = "") -> list[CycleRecord]:
        found = [cycle for batch in self.sink.batches for cycle in batch.cycles]
        return [cycle for cycle in found if not name or cycle.pod.name == name]

    def moves(self, name: str) -> list[Move]:
        found = [move for batch in self.sink.batches for move in batch.moves]
        return [move for move in found if move.pod.name == name]

    def lane(self, name: str) -> str:
        return self.sink.lane(name)

    def message(self, name: str) -> str:
        """What the board says of it; "" before it says anything."""
        views = [v for batch in self.sink.batches for v in batch.pods.values() if v.name == name]
        return views[-1].message if views else ""

    def view(self, node: str) -> NodeView:
        views = [batch.nodes[node] for batch in self.sink.batches if node in batch.nodes]
        assert views and views[-1] is not None, "no such node"
        return views[-1]

    def until_bound(self, *names: str) -> None:
        self.until(lambda: all(self.lane(name) == Lane.BOUND for name in names))

    def until_tried(self, name: str, n: int = 1) -> None:
        """Its attempt has failed."""
        self.until(lambda: len(self.cycles(name)) >= n and self.lane(name) in WAITING)


WAITING = (Lane.UNSCHEDULABLE, Lane.BACKOFF)


def unbound(cycle: CycleRecord) -> bool:
    return cycle.outcome is Outcome.UNSCHEDULABLE


def drain(scheduler: Scheduler, now: float) -> list[Any] | None:
    """One cycle of a scheduler without a session; None: nothing is due."""
    cycle = scheduler.start_cycle(now)
    if cycle is None:
        return None
    while True:
        try:
            next(cycle)
        except StopIteration as end:
            outputs: list[Any] = end.value
            return outputs
