"""TaintToleration: which taints keep a pod off a node, and which make it less liked."""

from __future__ import annotations

import pytest
from hypothesis import given

from schedviz.scheduler.framework import UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS
from schedviz.scheduler.plugins.taint_toleration import (
    TaintToleration,
    intolerable_count,
    is_untolerated,
)
from tests import make, strategies

REFUSED = UnschedulableAndUnresolvable("node(s) had untolerated taint(s)")


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        pytest.param([], [], SUCCESS, id="no taints"),
        pytest.param([], ["a=b:NoSchedule"], REFUSED, id="an untolerated taint"),
        pytest.param([], ["a=b:PreferNoSchedule"], SUCCESS, id="PreferNoSchedule never refuses"),
        pytest.param(["a=b:NoSchedule"], ["a=b:NoSchedule"], SUCCESS, id="the same value"),
        pytest.param(["a=c:NoSchedule"], ["a=b:NoSchedule"], REFUSED, id="another value"),
        pytest.param(["a:NoSchedule"], ["a=b:NoSchedule"], SUCCESS, id="Exists takes any value"),
        pytest.param(["a"], ["a=b:NoExecute"], SUCCESS, id="without effect: every effect"),
        pytest.param([":"], ["a=b:NoExecute", "c=:NoSchedule"], SUCCESS, id="without key: all"),
        pytest.param(["a"], ["a=b:NoSchedule", "c=:NoSchedule"], REFUSED, id="one is left over"),
    ],
)
def test_filter(tolerations, taints, expected):
    nodes = make.snapshot([make.node(taints=taints)])
    assert make.filtered(TaintToleration(), make.pod(tolerations=tolerations), nodes) == {
        "n": expected
    }


def test_fewer_preferences_against_the_pod_score_higher():
    nodes = make.snapshot(
        [
            make.node("none"),
            make.node("one", taints=["a=x:PreferNoSchedule"]),
            make.node("two", taints=["a=x:PreferNoSchedule", "b=:PreferNoSchedule"]),
        ]
    )
    plugin, pod = TaintToleration(), make.pod()
    assert make.scored(plugin, pod, nodes) == {"none": 0, "one": 1, "two": 2}
    assert make.scored(plugin, pod, nodes, normalize=True) == {"none": 100, "one": 50, "two": 0}


def test_all_alike_score_100():
    nodes = make.snapshot([make.node("a"), make.node("b")])
    assert make.scored(TaintToleration(), make.pod(), nodes, normalize=True) == {"a": 100, "b": 100}


def test_only_tolerations_of_preferences_count_in_scores():
    nodes = make.snapshot([make.node("n", taints=["a=x:PreferNoSchedule"])])
    assert make.scored(TaintToleration(), make.pod(tolerations=["a:NoSchedule"]), nodes) == {"n": 1}
    assert make.scored(TaintToleration(), make.pod(tolerations=["a"]), nodes) == {"n": 0}


@pytest.mark.parametrize(
    ("operator", "value", "is_on", "passes"),
    [
        pytest.param("Lt", "7", True, True, id="5 is less than 7"),
        pytest.param("Lt", "5", True, False, id="5 is not less than 5"),
        pytest.param("Gt", "-3", True, True, id="5 is greater than -3"),
        pytest.param("Gt", "x", True, False, id="x is no number"),
        pytest.param("Lt", "7", False, False, id="the gate is off"),
    ],
)
def test_comparing_tolerations_need_their_gate(operator, value, is_on, passes):
    plugin = TaintToleration()
    if is_on:
        plugin.features = frozenset({"TaintTolerationComparisonOperators"})
    pod = make.pod(tolerations=[{"key": "level", "operator": operator, "value": value}])
    said = make.filtered(plugin, pod, make.snapshot([make.node(taints=["level=5:NoSchedule"])]))
    assert said["n"].is_success == passes


@given(strategies.clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    said = make.filtered(TaintToleration(), pod, nodes)
    preferring = tuple(t for t in pod.tolerations if t.effect in ("", "PreferNoSchedule"))
    scores = make.scored(TaintToleration(), pod, nodes)
    for info in nodes.infos:
        assert said[info.name].is_success != is_untolerated(info.node.taints, pod.tolerations)
        assert scores[info.name] == intolerable_count(info.node.taints, preferring)


@given(strategies.clusters())
def test_one_more_toleration_never_costs_a_node(cluster):
    nodes, pod = cluster
    before = make.filtered(TaintToleration(), pod, nodes)
    pod.tolerations = (*pod.tolerations, *make.pod(tolerations=["a"]).tolerations)
    after = make.filtered(TaintToleration(), pod, nodes)
    assert all(after[name].is_success for name, status in before.items() if status.is_success)
