"""NodeResourcesFit: room for the pod, told shortage by shortage, and the strategies that score what is left."""

from __future__ import annotations

import pytest
from hypothesis import given

from schedviz.scheduler.framework import Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.plugins.node_resources_fit import (
    NodeResourcesFit,
    ResourceWeight,
)
from tests import make, strategies

GPU = "example.com/gpu"


def asking(name="p", node="", **requests):
    return make.pod(
        name, node=node, requests={k.replace("gpu", GPU): v for k, v in requests.items()}
    )


def fits(pod, allocatable, *placed, args=None):
    nodes = make.snapshot([make.node("n", allocatable=allocatable)], placed)
    return make.filtered(NodeResourcesFit(args), pod, nodes)["n"]


@pytest.mark.parametrize(
    ("pod", "allocatable", "expected"),
    [
        pytest.param(asking(cpu="2"), {"cpu": "4"}, SUCCESS, id="room enough"),
        pytest.param(asking(cpu="3"), {"cpu": "4"}, Unschedulable("Insufficient cpu"), id="short"),
        pytest.param(
            asking(cpu="5"),
            {"cpu": "4"},
            UnschedulableAndUnresolvable("Insufficient cpu"),
            id="more than the node ever has",
        ),
        pytest.param(
            asking(cpu="3", memory="99Gi"),
            {"cpu": "4"},
            UnschedulableAndUnresolvable("Insufficient cpu", "Insufficient memory"),
            id="all shortages are told, the hopeless one decides",
        ),
        pytest.param(asking(), {"pods": "1"}, Unschedulable("Too many pods"), id="pod count"),
        pytest.param(asking(), {"pods": "0"}, Unschedulable("Too many pods"), id="no pods ever"),
        pytest.param(asking(cpu="0"), {"cpu": "0"}, SUCCESS, id="zero is never short"),
        pytest.param(
            asking(gpu="1"),
            {},
            UnschedulableAndUnresolvable(f"Insufficient {GPU}"),
            id="a resource the node lacks",
        ),
    ],
)
def test_filter_beside_a_pod_with_two_cpus(pod, allocatable, expected):
    assert fits(pod, allocatable, asking("b", node="n", cpu="2")) == expected


@pytest.mark.parametrize(
    ("words", "is_ignored"),
    [
        pytest.param({"ignoredResources": [GPU]}, True, id="by name"),
        pytest.param({"ignoredResourceGroups": ["example.com"]}, True, id="by group"),
        pytest.param({"ignoredResourceGroups": ["example"]}, False, id="another group"),
    ],
)
def test_extended_resources_may_be_ignored(words, is_ignored):
    args = NodeResourcesFit.Args.read(words)
    assert fits(asking(gpu="1"), {}, args=args).is_success == is_ignored


def test_native_resources_are_never_ignored():
    args = NodeResourcesFit.Args.read({"ignoredResources": ["cpu"]})
    assert fits(asking(cpu="9"), {}, args=args).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def strategy(kind, **words):
    return NodeResourcesFit.Args.read({"scoringStrategy": {"type": kind, **words}})


def shape(*points):
    return {"shape": [{"utilization": at, "score": score} for at, score in points]}


CPU_ONLY = [{"name": "cpu", "weight": 1}]
WITH_GPU = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}]


@pytest.mark.parametrize(
    ("args", "pod", "expected"),
    [
        pytest.param(
            None, asking(cpu="1", memory="2Gi"), (75 + 75) // 2, id="least allocated by default"
        ),
        pytest.param(None, asking(), (97 + 97) // 2, id="what is not asked counts 100m and 200Mi"),
        pytest.param(None, asking(cpu="9", memory="2Gi"), 75 // 2, id="what does not fit counts 0"),
        pytest.param(
            strategy("LeastAllocated", resources=WITH_GPU),
            asking(cpu="1"),
            75,
            id="an extended resource counts only if asked",
        ),
        pytest.param(
            strategy("LeastAllocated", resources=WITH_GPU),
            asking(cpu="1", gpu="1"),
            (75 + 3 * 50) // 4,
            id="weights",
        ),
        pytest.param(
            strategy("MostAllocated", resources=CPU_ONLY), asking(cpu="1"), 25, id="most allocated"
        ),
        pytest.param(
            strategy("MostAllocated", resources=CPU_ONLY), asking(cpu="9"), 100, id="at most 100"
        ),
        pytest.param(
            strategy(
                "RequestedToCapacityRatio",
                resources=CPU_ONLY,
                requestedToCapacityRatio=shape((0, 10), (100, 0)),
            ),
            asking(cpu="1"),
            75,
            id="ratio, falling",
        ),
        pytest.param(
            strategy(
                "RequestedToCapacityRatio",
                resources=WITH_GPU,
                requestedToCapacityRatio=shape((50, 0), (100, 10)),
            ),
            asking(cpu="3", gpu="1"),
            50,
            id="ratio: what scores 0 does not weigh",
        ),
    ],
)
def test_score(args, pod, expected):
    nodes = make.snapshot([make.node("n", allocatable={GPU: "2"})])
    assert make.scored(NodeResourcesFit(args), pod, nodes) == {"n": expected}


def test_pod_level_resources_are_not_scored():
    pod = make.pod(resources={"requests": {"cpu": "4", "memory": "8Gi"}})
    nodes = make.snapshot([make.node("n")])
    assert make.scored(NodeResourcesFit(), pod, nodes) == {"n": 97}


def one_by_one(pod, info):
    """Reasons and whether it is hopeless, as upstream's fitsRequest finds them."""
    reasons, hopeless = [], False
    if len(info.pods) + 1 > info.allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for name, n in pod.requests.items():
        room = info.allocatable.get(name, 0)
        if n > 0 and n > room - info.requested.get(name, 0):
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or n > room
    return set(reasons), hopeless


@given(strategies.clusters())
def test_filter_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    for name, status in make.filtered(NodeResourcesFit(), pod, nodes).items():
        reasons, hopeless = one_by_one(pod, nodes.infos[nodes.rows[name]])
        assert set(status.reasons) == reasons
        assert (status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE) == hopeless
        assert status.is_success == (not reasons)


def least_by_one(pod, info):
    total = weights = 0
    used = {"cpu": info.non_zero_milli_cpu, "memory": info.non_zero_memory}
    for name in ("cpu", "memory"):
        room = info.allocatable.get(name, 0)
        want = used[name] + pod.score_requests.get(name, 0)
        if room:
            total += 0 if want > room else (room - want) * 100 // room
            weights += 1
    return total // weights if weights else 0


@given(strategies.clusters())
def test_score_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    said = make.scored(NodeResourcesFit(), pod, nodes)
    assert said == {info.name: least_by_one(pod, info) for info in nodes.infos}


@given(strategies.clusters(), strategies.pods(name="new", node="n0"))
def test_what_is_remembered_follows_the_nodes(cluster, arriving):
    nodes, pod = cluster
    plugin = NodeResourcesFit()
    make.filtered(plugin, pod, nodes)
    make.scored(plugin, pod, nodes)
    if len(nodes):
        changed = nodes.infos[0].clone()
        changed.add_pod(arriving)
        nodes.update([changed])
    assert make.filtered(plugin, pod, nodes) == make.filtered(NodeResourcesFit(), pod, nodes)
    assert make.scored(plugin, pod, nodes) == make.scored(NodeResourcesFit(), pod, nodes)


def test_default_resources_are_cpu_and_memory():
    assert NodeResourcesFit().args.resources == (
        ResourceWeight("cpu", 1),
        ResourceWeight("memory", 1),
    )
