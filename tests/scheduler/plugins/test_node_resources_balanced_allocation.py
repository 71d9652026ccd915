"""NodeResourcesBalancedAllocation: better or worse balanced than before."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from schedviz.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from tests import make, strategies

GPU = "example.com/gpu"


def score(requests, used, allocatable, *resources):
    args = NodeResourcesBalancedAllocation.Args(resources) if resources else None
    nodes = make.snapshot(
        [make.node("n", allocatable=allocatable)], [make.pod("b", node="n", requests=used)]
    )
    said = make.scored(NodeResourcesBalancedAllocation(args), make.pod(requests=requests), nodes)
    return said and said["n"]


@pytest.mark.parametrize(
    ("requests", "used", "allocatable", "resources", "expected"),
    [
        pytest.param({"cpu": "1"}, {"cpu": "1"}, {"cpu": "4"}, (), 69, id="as was measured"),
        pytest.param(
            {"cpu": "1", "memory": "2Gi"}, {}, {}, (), 75, id="even before and after: no change"
        ),
        pytest.param({"memory": "2Gi"}, {"cpu": "1"}, {}, (), 81, id="it evens out"),
        pytest.param({}, {"cpu": "1"}, {}, (), None, id="asking nothing is skipped"),
        pytest.param({"cpu": "1"}, {}, {"memory": "0"}, (), 75, id="one resource is always even"),
        pytest.param(
            {"cpu": "4", GPU: "2"},
            {},
            {GPU: "2"},
            ("cpu", "memory", GPU),
            51,
            id="three resources: the deviation",
        ),
    ],
)
def test_score(requests, used, allocatable, resources, expected):
    assert score(requests, used, allocatable, *resources) == expected


def balance_of(fractions):
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = math.sqrt(sum((f - mean) ** 2 for f in fractions) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)


def one_by_one(pod, info, names):
    before, after = [], []
    for name in names:
        room, used = info.allocatable.get(name, 0), info.requested.get(name, 0)
        if room and (name in ("cpu", "memory") or pod.requests.get(name, 0)):
            before.append(min(used / room, 1.0))
            after.append(min((used + pod.requests.get(name, 0)) / room, 1.0))
    return 50 + int((50 + balance_of(after) - balance_of(before)) / 2)


@given(strategies.clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    names = ("cpu", "memory", GPU)
    plugin = NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocation.Args(names))
    said = make.scored(plugin, pod, nodes)
    if said is not None:
        assert said == {info.name: one_by_one(pod, info, names) for info in nodes.infos}
