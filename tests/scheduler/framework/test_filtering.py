"""Nodes must have room for the pods that are nominated to them; a pod's own nominated node comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.filtering import Filters, FilterVerdict
from schedviz.scheduler.framework.status import Status
from schedviz.scheduler.profile import default_profile
from tests import make, strategies

NODES = [make.node("a"), make.node("b")]


def drained(run):
    while True:
        try:
            next(run)
        except StopIteration as end:
            return end.value


def filtered(pod, nodes, nominated, profile=None) -> FilterVerdict:
    """nominated: node -> pods."""
    framework = profile or default_profile()
    framework.nominated = {
        name: {other.uid: other for other in pods} for name, pods in nominated.items()
    }
    state = CycleState()
    before = drained(framework.run_pre_filter(state, pod, nodes))
    assert before.status.is_success
    return drained(framework.run_filter(state, pod, nodes, only=before.node_names))


def firsts(verdict: FilterVerdict) -> list[Status | None]:
    """Each node's first failure."""
    found = []
    for row, number in enumerate(verdict.first_failure.tolist()):
        step = verdict.steps[number] if number >= 0 else None
        found.append(step and step.nodes and step.nodes.status(row).by(step.plugin))
    return found


def feasible(verdict, nodes):
    return [nodes.names[row] for row in verdict.feasible]


BIG = {"cpu": "3"}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(make.pod("o", requests=BIG, priority=5), ["b"], id="a more important pod"),
        pytest.param(make.pod("o", requests=BIG), ["b"], id="a pod of the same priority"),
        pytest.param(make.pod("o", requests=BIG, priority=-1), ["a", "b"], id="a less important"),
        pytest.param(make.pod("p", requests=BIG), ["a", "b"], id="the pod itself"),
    ],
)
def test_room_is_left_for_nominated_pods(other, expected):
    nodes = make.snapshot(NODES)
    assert feasible(filtered(make.pod(requests=BIG), nodes, {"a": [other]}), nodes) == expected


def test_the_verdict_without_nominated_pods_is_kept_beside():
    nodes = make.snapshot(NODES)
    verdict = filtered(make.pod(requests=BIG), nodes, {"a": [make.pod("o", requests=BIG)]})
    [told, _] = firsts(verdict)
    assert (told.plugin, told.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    [alone] = verdict.alone.values()
    assert alone.passed.all()
    assert [pod.name for pod in verdict.beside[0]] == ["o"]


def ports(*numbers):
    listed = [{"containerPort": n, "hostPort": n} for n in numbers]
    return {"containers": [make.container(ports=listed)]}


def apart(key="kubernetes.io/hostname"):
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": key}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


def near():
    [[_, rules]] = apart()["affinity"].items()
    return {"affinity": {"podAffinity": rules}}


def spread():
    one = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    return {"topologySpreadConstraints": [one]}


APP = {"app": "x"}


@pytest.mark.parametrize(
    ("pod", "other", "expected"),
    [
        pytest.param(make.pod(**ports(80)), make.pod("o", **ports(80)), ["b"], id="a host port"),
        pytest.param(
            make.pod(**apart()), make.pod("o", labels=APP), ["b"], id="anti-affinity to it"
        ),
        pytest.param(
            make.pod(labels=APP, **spread()), make.pod("o", labels=APP), ["b"], id="spread"
        ),
        pytest.param(
            make.pod(labels=APP),
            make.pod("o", **apart()),
            ["a", "b"],
            id="its own anti-affinity is not asked when PreFilter skipped",
        ),
        pytest.param(
            make.pod(labels={"app": "y"}, **near()),
            make.pod("o", labels=APP),
            [],
            id="affinity to a pod that is not there yet counts for nothing",
        ),
    ],
)
def test_every_filter_counts_nominated_pods(pod, other, expected):
    nodes = make.snapshot(NODES)
    assert feasible(filtered(pod, nodes, {"a": [other]}), nodes) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param({"status": {"nominatedNodeName": "b"}}, ["b"], id="it passes: the only one"),
        pytest.param({"status": {"nominatedNodeName": "x"}}, ["a", "b"], id="it is not there"),
        pytest.param(
            {"status": {"nominatedNodeName": "c"}}, ["a", "b"], id="it fails: all are looked at"
        ),
    ],
)
def test_the_nominated_node_comes_first(words, expected):
    nodes = make.snapshot([*NODES, make.node("c", unschedulable=True)])
    assert feasible(filtered(make.pod(**words), nodes, {}), nodes) == expected


class OneByOne(Filters):
    """Every node with nominations is tried on its own."""

    def room_trial(self, *args):
        return None


@given(strategies.clusters(), st.data())
def test_many_at_once_say_the_same_as_one_by_one(cluster, data):
    nodes, pod = cluster
    nominated = {
        name: [data.draw(strategies.pods(name=f"{name}-{n}")) for n in range(2)]
        for name in nodes.names
        if data.draw(st.booleans())
    }
    at_once, single = default_profile(), default_profile()
    single.room_trial = OneByOne.room_trial.__get__(single)  # type: ignore[method-assign]
    one, other = (filtered(pod, nodes, nominated, profile) for profile in (at_once, single))
    assert firsts(one) == firsts(other)
    assert one.alone == other.alone
