"""Masks over nodes agree with asking node by node."""

from __future__ import annotations

from hypothesis import given

from schedviz.kube import matching
from schedviz.kube.matching import NODE_OPERATORS, Requirement
from schedviz.scheduler.framework.node_masks import (
    required_mask,
    selected_rows,
    selector_mask,
    tolerated_mask,
)
from tests import make, strategies


@given(strategies.clusters())
def test_required_and_selector(cluster):
    nodes, pod = cluster
    for row, info in enumerate(nodes.infos):
        affinity = pod.required_node_affinity
        matches = affinity is None or affinity.matches(info.labels, info.name)
        selected = pod.node_selector.items() <= info.labels.items()
        assert required_mask(pod, nodes)[row] == (matches and selected)
        if affinity is not None:
            assert selector_mask(affinity, nodes)[row] == matches


@given(strategies.clusters())
def test_tolerated(cluster):
    nodes, pod = cluster
    for row, info in enumerate(nodes.infos):
        left = [
            taint
            for taint in info.node.taints
            if taint.effect != "PreferNoSchedule"
            and not any(t.tolerates(taint) for t in pod.tolerations)
        ]
        assert tolerated_mask(pod.tolerations, nodes)[row] == (not left)


def test_what_was_remembered_is_forgotten_when_a_node_changes():
    nodes, pod = make.snapshot([make.node()]), make.pod(nodeSelector={"a": "x"})
    assert required_mask(pod, nodes).tolist() == [False]
    nodes.update([make.node_info(make.node(labels={"a": "x"}))])
    assert required_mask(pod, nodes).tolist() == [True]


@given(strategies.clusters(), strategies.EXPRESSIONS)
def test_selected_rows(cluster, expressions):
    nodes, _ = cluster
    wanted = tuple(matching.requirement(one, operators=NODE_OPERATORS) for one in expressions)
    fitting = [
        row
        for row, info in enumerate(nodes.infos)
        if all(one.matches(info.labels) for one in wanted)
    ]
    assert sorted(selected_rows(wanted, nodes).tolist()) == fitting


def test_many_rows_are_selected_as_few_are():
    nodes = make.snapshot(make.node(f"n{n}", labels={"z": "x", "n": str(n % 2)}) for n in range(99))
    wanted = (Requirement("z", "In", ("x",)), Requirement("n", "NotIn", ("1",)))
    assert selected_rows(wanted, nodes).tolist() == list(range(0, 99, 2))
