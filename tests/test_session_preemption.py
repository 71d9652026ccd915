"""Preemption from the watch to the bind: a real sandbox whose kubelet takes its time, the real session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedviz.scheduler.framework.steps import Lane
from tests.sandbox.running import Running, running
from tests.test_session import PODS, KeepingSink, pod, session

ROOM = {"example.com/room": "2"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    """One node has two rooms."""
    with running(tmp_path, scenario="ceph") as one:
        patch = {"status": {"capacity": ROOM, "allocatable": ROOM}}
        path, form = "/api/v1/nodes/ceph2/status", "application/merge-patch+json"
        one.ok("PATCH", path, patch, form=form)
        meta = {"name": "high"}
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        one.ok("POST", classes, {"metadata": meta, "value": 1000})
        yield one


def asking(name: str, rooms: str, **spec: Any) -> dict[str, Any]:
    made = pod(name, terminationGracePeriodSeconds=1, **spec)
    asked = {"example.com/room": rooms}
    made["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": asked}  # type: ignore[index]
    return made


def test_victims_go_once_and_the_pod_gets_their_node(sandbox: Running) -> None:
    sink = KeepingSink()
    with session(sandbox, sink):
        for name in ("low-1", "low-2"):
            sandbox.ok("POST", PODS, asking(name, "1"))
            sink.until(lambda name=name: sink.lane(name) == Lane.BOUND)
        sandbox.ok("POST", PODS, asking("boss", "2", priorityClassName="high"))
        sink.until(lambda: sink.lane("boss") == Lane.BOUND)
    assert [one["metadata"]["name"] for one in sandbox.ok("GET", PODS)["items"]] == ["boss"]
    assert sandbox.ok("GET", f"{PODS}/boss")["spec"]["nodeName"] == "ceph2"
    first = next(c for b in sink.batches for c in b.cycles if c.pod.name == "boss")
    assert first.nominated_node_name == "ceph2"
    told = first.steps[-1].preemption
    assert told is not None
    assert sorted(told.candidates[0].victims) == ["default/low-1", "default/low-2"]
    events = sandbox.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    gone = [one["regarding"]["name"] for one in events if one["reason"] == "Preempted"]
    assert sorted(gone) == ["low-1", "low-2"]


def test_a_pod_may_find_its_room_elsewhere_meanwhile(sandbox: Running) -> None:
    """Another node gets rooms while the victim lingers: the nominated node is not waited for."""
    sink = KeepingSink()
    with session(sandbox, sink):
        slow = asking("slow", "2")
        slow["spec"]["terminationGracePeriodSeconds"] = 600
        sandbox.ok("POST", PODS, slow)
        sink.until(lambda: sink.lane("slow") == Lane.BOUND)
        sandbox.ok("POST", PODS, asking("boss", "2", priorityClassName="high"))
        sink.until(lambda: any(c.nominated_node_name for b in sink.batches for c in b.cycles))
        patch = {"status": {"capacity": ROOM, "allocatable": ROOM}}
        path, form = "/api/v1/nodes/ceph1/status", "application/merge-patch+json"
        sandbox.ok("PATCH", path, patch, form=form)
        sink.until(lambda: sink.lane("boss") == Lane.BOUND)
    assert sandbox.ok("GET", f"{PODS}/boss")["spec"]["nodeName"] == "ceph1"
