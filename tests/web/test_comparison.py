"""Two attempts beside each other: nodes, demands and scores that changed."""

from __future__ import annotations

from dataclasses import replace

from schedviz.scheduler.framework import status as st
from schedviz.web.comparison import OUTSIDE, Demand, Turn, compare
from tests.scheduler.explain.test_shrinking import CPU, TAINT, record
from tests.web import sample


def test_nodes_that_changed_alike_stand_together():
    earlier = record({"Taint": {0: TAINT}, "Fit": {0: CPU, 1: CPU, 2: CPU}})
    later = record({"Taint": {0: TAINT}, "Fit": {3: CPU}})
    found = compare(earlier, later)
    assert found.turns == [
        Turn(("Fit",), (), 2, ("n1", "n2")),
        Turn((), ("Fit",), 1, ("n3",)),
        Turn(("Taint", "Fit"), ("Taint",), 1, ("n0",)),
    ]
    assert found.n_same == 1


def test_demands_are_counted_for_both():
    earlier = record({"Taint": {0: TAINT}, "Fit": {1: CPU, 2: CPU}})
    later = record({"Fit": {1: CPU}, "Ports": {4: st.Unschedulable("ports")}})
    assert compare(earlier, later).demands == [
        Demand("Fit", "Insufficient cpu", 2, 1),
        Demand("Ports", "ports", 0, 1),
        Demand("Taint", "node(s) had untolerated taint(s)", 1, 0),
    ]


def test_nodes_that_came_and_went_are_named_and_not_compared():
    earlier = record({"Fit": {1: CPU}}, n_nodes=2)
    later = record({"Fit": {1: CPU}}, n_nodes=3)
    found = compare(earlier, later)
    assert (found.came, found.went, found.turns) == (["n2"], [], [])
    assert compare(later, earlier).went == ["n2"]


def test_nodes_that_prefilter_left_out_are_told_apart_from_those_that_failed():
    found = compare(record({"Fit": {}}, only=[0]), record({"Fit": {}}))
    assert found.turns == [Turn((OUTSIDE,), (), 4, ("n1", "n2", "n3", "n4"))]


def scored(**normalized: list[int]):
    """Six nodes that all pass."""
    made = sample.record(1, sample.pod_ref(1), n_passing=6)
    for step in made.steps:
        if step.scores is not None:
            given = normalized.get(step.plugin, [50] * 6)
            step.scores = replace(step.scores, normalized=step.scores.raw * 0 + given)
    scores = [step.scores for step in made.steps if step.scores is not None]
    made.totals = sum(one.normalized * one.weight for one in scores)
    return made


def test_scores_that_changed_are_told_with_each_plugins_part():
    earlier = scored()
    later = scored(NodeAffinity=[50, 60, 50, 50, 50, 10], ImageLocality=[51, 50, 50, 50, 50, 50])
    found = compare(earlier, later)
    assert [(one.node, one.gain) for one in found.scores] == [
        ("node-0005", -80),
        ("node-0001", 20),
        ("node-0000", 1),
    ]
    parts = dict(zip(found.scorers, found.scores[0].parts, strict=True))
    assert parts["NodeAffinity"] == -80 and sum(parts.values()) == -80
    assert not found.is_equal


def test_two_of_a_kind_are_equal():
    assert compare(scored(), scored()).is_equal


def test_what_is_not_kept_is_not_compared():
    dropped = record({"Fit": {1: CPU}})
    dropped.first_failure = dropped.feasible = None
    found = compare(dropped, record({"Fit": {1: CPU}}))
    assert (found.is_whole, found.turns, found.is_equal) == (False, [], False)
