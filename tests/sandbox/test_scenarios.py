"""Scenarios: read with clear errors, the same each time, played on after a restart without making anything twice."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from schedviz.kube import objects, quantity
from schedviz.sandbox import scenarios
from schedviz.sandbox.scenarios import ScenarioError, Stream
from tests.sandbox.running import make, running, serving
from tests.sandbox.speaking import first, names, watching

MINUTES = 30


@pytest.mark.parametrize("name", ["empty", "ceph", "steady"])
def test_it_can_be_loaded(name: str) -> None:
    assert scenarios.load(name).name == name


def test_ceph_has_three_nodes(tmp_path: Path) -> None:
    with running(tmp_path, scenario="ceph") as sandbox:
        nodes = sandbox.ok("GET", "/api/v1/nodes")
        assert names(nodes) == ["ceph1", "ceph2", "ceph3"]
        assert nodes["items"][0]["status"]["allocatable"]["cpu"] == "4"


def test_steady_has_its_nodes_and_lets_pods_come(tmp_path: Path) -> None:
    with running(tmp_path, scenario="steady") as sandbox:
        nodes = [objects.parse("Node", one) for one in sandbox.ok("GET", "/api/v1/nodes")["items"]]
        assert len(nodes) == 24
        assert sum(one.unschedulable for one in nodes) == 1
        with watching(sandbox, "/api/v1/pods") as events:
            pod = first(events, lambda event: True)["object"]
        assert objects.parse("Pod", pod).scheduler_name == "default-scheduler"
        assert pod["spec"]["priority"] in (0, 10, 100, 1000)


def test_steady_brings_two_to_six_pods_a_second_in_waves() -> None:
    seconds: Counter[int] = Counter()
    for stream in scenarios.load("steady").streams:
        seconds.update(int(stream.moment(n)) for n in stream.due(-1.0, MINUTES * 60.0))
    rates = [sum(seconds[s] for s in range(at, at + 15)) / 15 for at in range(30, 1785, 15)]
    assert 1.5 <= min(rates) <= 2.5
    assert 4.5 <= max(rates) <= 6.5


def test_steady_leaves_room_between_its_waves() -> None:
    """Else what waits for room grows all day, and each pod that ends wakes all of it."""
    steady = scenarios.load("steady")
    has = sum(
        one.count * quantity.milli_value(one.cpu) for one in steady.nodes if not one.unschedulable
    )
    asked = 0.0
    for stream in steady.streams:
        if stream.run is not None and not stream.requests:
            stays = sum(stream.run) / 2 + stream.end_every / 2
            asked += stays / stream.every * quantity.milli_value(stream.cpu)
    assert 0.5 < asked / has < 0.75


@pytest.mark.parametrize("wave", [0.0, 90.0])
def test_each_number_is_due_once_however_the_time_is_cut(wave: float) -> None:
    stream = Stream(name="s", namespace="default", every=0.7, start=3.0, until=100.0, wave=wave)
    whole = list(stream.due(-1.0, 200.0))
    cuts = [-1.0, 2.9, 3.0, 3.1, 10.0, 10.05, 47.3, 99.0, 100.0, 150.0, 200.0]
    parts = [n for after, now in itertools.pairwise(cuts) for n in stream.due(after, now)]
    assert parts == whole == list(range(len(whole)))
    assert len(whole) > 130


def test_the_same_seed_gives_the_same_pods() -> None:
    stream = Stream(name="s", namespace="default", every=1.0, run=(5, 50))
    assert stream.pod(4, seed=1) == stream.pod(4, seed=1)
    assert stream.pod(4, seed=1) != stream.pod(4, seed=2)


def test_a_restart_goes_on_and_makes_nothing_twice(tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    last = -1
    for _ in range(3):
        with serving(tmp_path) as server:
            sandbox = make(server, scenario="steady")
            with watching(
                sandbox, "/api/v1/namespaces/shop/pods", labelSelector="app=cart"
            ) as events:
                for event in events:
                    meta = event["object"]["metadata"]
                    assert seen.setdefault(meta["name"], meta["uid"]) == meta["uid"]
                    number = int(meta["name"].rpartition("-")[2])
                    if number >= last + 2:
                        last = number
                        break
    assert sorted(seen) == sorted(f"cart-{number}" for number in range(last + 1))


BROKEN = [
    pytest.param("- a", "write a map", id="a list"),
    pytest.param("a: [", "not YAML", id="no YAML"),
    pytest.param("pod: []", "'pod' is not known here: use seed", id="an unknown part"),
    pytest.param("seed: x", "seed as a whole number", id="a seed in letters"),
    pytest.param("priorityClasses: {a: high}", "whole numbers", id="a priority in words"),
    pytest.param("nodes: {name: a}", "nodes: write a list", id="nodes as a map"),
    pytest.param("nodes: [a]", "nodes[0]: write a map", id="a node as text"),
    pytest.param("nodes: [{cpu: 4}]", "nodes[0]: name is missing", id="a node without a name"),
    pytest.param("nodes: [{name: a, cpus: 4}]", "'cpus' is not known here", id="a misspelt field"),
    pytest.param("nodes: [{name: a, cpu: lots}]", "'lots' is not a quantity", id="a bad quantity"),
    pytest.param("nodes: [{name: a, count: 0}]", "count: 0 is not above 0", id="no nodes"),
    pytest.param("nodes: [{name: a, count: two}]", "write a whole number", id="a count in words"),
    pytest.param(
        "pods: [{name: a, namespace: nix, every: 1}]", "namespace 'nix' is not one", id="namespace"
    ),
    pytest.param(
        "pods: [{name: a, namespace: default, every: 0}]", "every: 0 is not above 0", id="no pause"
    ),
    pytest.param(
        "pods: [{name: a, namespace: default, every: 1, run: [9, 2]}]", "[least, most]", id="run"
    ),
    pytest.param(
        "pods: [{name: a, namespace: default, every: 1, priority: top}]", "'top' is not", id="class"
    ),
    pytest.param(
        "pods: [{name: a, namespace: default, every: 1}, {name: a, namespace: default, every: 2}]",
        "there are two of this name",
        id="one name twice",
    ),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_what_is_wrong_in_a_scenario_is_said(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenarios.parse("mine", text)
    assert message in str(refused.value)
    assert "scenario mine" in str(refused.value)
