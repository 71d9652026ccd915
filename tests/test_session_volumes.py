"""Pods with claims from the watch to the bind: a real sandbox that binds and makes volumes, the real session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedviz.kube.volumes import NO_PROVISIONER, SELECTED_NODE
from schedviz.scheduler.framework.steps import CycleRecord, Lane, Outcome
from schedviz.scheduler.profile import configured_profiles
from schedviz.session import Batch
from tests.sandbox.running import Running, running
from tests.sandbox.test_volume_binder import CLAIMS, CLASSES, VOLUMES, claim, storage_class, volume
from tests.test_session import PODS, KeepingSink, pod, session

LATER = {"volumeBindingMode": "WaitForFirstConsumer"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, scenario="ceph") as one:
        yield one


class LookingSink(KeepingSink):
    """Notes the claims that were sent to a node before the record of that was kept."""

    def __init__(self, sandbox: Running) -> None:
        super().__init__()
        self.too_early: list[str] = []
        self._sandbox = sandbox

    def commit(self, batch: Batch) -> None:
        if any(cycle.chosen for cycle in batch.cycles):
            claims = self._sandbox.ok("GET", CLAIMS)["items"]
            self.too_early += [c["metadata"]["name"] for c in claims if SELECTED_NODE in notes(c)]
        super().commit(batch)

    def closed(self) -> list[CycleRecord]:
        return [update for batch in self.batches for update in batch.updates]


def notes(one: dict[str, Any]) -> dict[str, str]:
    return one["metadata"].get("annotations") or {}


def using(name: str, *claims: str) -> dict[str, Any]:
    made = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=made)


def test_a_volume_is_made_where_the_pod_goes_and_the_record_is_first(sandbox: Running) -> None:
    sink = LookingSink(sandbox)
    with session(sandbox, sink):
        sandbox.ok("POST", CLAIMS, claim("data", storageClassName=None))
        sandbox.ok("POST", PODS, using("db", "data"))
        sink.until(lambda: any(one.outcome is Outcome.BOUND for one in sink.closed()))
    assert sink.too_early == []
    record = sink.closed()[-1]
    bound = sandbox.ok("GET", f"{CLAIMS}/data")
    assert bound["status"]["phase"] == "Bound"
    assert notes(bound)[SELECTED_NODE] == record.chosen
    assert sandbox.ok("GET", f"{PODS}/db")["spec"]["nodeName"] == record.chosen
    assert [(s.point, s.plugin) for s in record.binding_steps] == [
        ("PreBind", "VolumeBinding"),
        ("PreBind", "DynamicResources"),
        ("Bind", "DefaultBinder"),
    ]
    assert len(record.binding_durations) == 3
    assert record.binding_durations[0] > 0.2  # as long as it took to make the volume


def test_local_volumes_go_to_one_pod_each(sandbox: Running) -> None:
    sandbox.ok("POST", CLASSES, storage_class("slow", provisioner=NO_PROVISIONER, **LATER))
    for n in (1, 2, 3):
        term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"ceph{n}"]}
        terms = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
        sandbox.ok("POST", VOLUMES, volume(f"disk{n}", nodeAffinity=terms))
        sandbox.ok("POST", CLAIMS, claim(f"c{n}"))
    sink = KeepingSink()
    with session(sandbox, sink):
        for n in (1, 2, 3):
            sandbox.ok("POST", PODS, using(f"db{n}", f"c{n}"))
        sink.until(lambda: all(sink.lane(f"db{n}") == Lane.BOUND for n in (1, 2, 3)))
    taken = {
        one["metadata"]["name"]: one["spec"]["volumeName"]
        for one in sandbox.ok("GET", CLAIMS)["items"]
    }
    assert sorted(taken.values()) == ["disk1", "disk2", "disk3"]
    for n in (1, 2, 3):
        node = sandbox.ok("GET", f"{PODS}/db{n}")["spec"]["nodeName"]
        assert node == taken[f"c{n}"].replace("disk", "ceph")


def test_a_volume_that_is_late_is_used_at_the_next_attempt(sandbox: Running) -> None:
    late = {"seconds": "2", "topologyKey": "kubernetes.io/hostname"}
    sandbox.ok("POST", CLASSES, storage_class("slow", parameters=late, **LATER))
    args = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}]
    profiles = configured_profiles({"profiles": [{"pluginConfig": args}]})
    sink = LookingSink(sandbox)
    with session(sandbox, sink, profiles=profiles):
        sandbox.ok("POST", CLAIMS, claim("data"))
        sandbox.ok("POST", PODS, using("db", "data"))
        sink.until(lambda: sink.lane("db") == Lane.BOUND)
    first, last = sink.closed()[0], sink.closed()[-1]
    assert first.message == (
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    )
    assert (last.outcome, last.chosen) == (Outcome.BOUND, first.chosen)
    events = sandbox.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    assert first.message in {event["note"] for event in events}
