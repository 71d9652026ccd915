"""Which evictions break a budget, counted one after the other."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.disruption_budgets import Budgets
from schedviz.scheduler.framework.listers import Listers
from tests import make

APP = {"matchLabels": {"app": "a"}}


def budget(name, allowed, selector=APP, namespace="default", **status):
    fields = {"spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed, **status}}
    return make.other("PodDisruptionBudget", name, namespace=namespace, **fields)


def budgets(*some):
    listers = Listers()
    for one in some:
        listers.replace(None, one)
    return Budgets(listers)


def labelled(name, **labels):
    return make.pod(name, labels=labels)


THREE = [labelled("p0", app="a"), labelled("p1", app="a"), labelled("p2", app="a")]


@pytest.mark.parametrize(
    ("some", "expected"),
    [
        pytest.param([], [False, False, False], id="no budget"),
        pytest.param([budget("b", 1)], [False, True, True], id="one eviction is allowed"),
        pytest.param([budget("b", 0)], [True, True, True], id="none is allowed"),
        pytest.param(
            [budget("b", 3), budget("c", 1)], [False, True, True], id="every matching budget counts"
        ),
        pytest.param(
            [budget("b", 0, disruptedPods={"p0": "t"})],
            [False, True, True],
            id="an eviction that was counted already is free",
        ),
        pytest.param([budget("b", 0, None)], [False] * 3, id="no selector protects nobody"),
        pytest.param([budget("b", 0, {})], [False] * 3, id="an empty selector protects nobody"),
        pytest.param([budget("b", 0, namespace="x")], [False] * 3, id="another namespace"),
        pytest.param(
            [budget("b", 0, {"matchExpressions": [{"key": "app", "operator": "Near"}]})],
            [False] * 3,
            id="an unreadable selector protects nobody",
        ),
    ],
)
def test_violations(some, expected):
    assert budgets(*some).violations(THREE) == expected


def test_a_pod_without_labels_is_not_protected():
    unlabelled = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert budgets(budget("b", 0, unlabelled)).violations([make.pod()]) == [False]
    assert budgets(budget("b", 0, unlabelled)).violations([labelled("p", x="y")]) == [True]
