"""Preemption as a tree: what was tried, what each candidate costs, which criterion decided."""

from __future__ import annotations

import numpy as np
import pytest

from schedviz.scheduler.framework import status as st
from schedviz.scheduler.framework.steps import Candidate, Preemption, Step
from schedviz.web import preemption
from tests.web import sample

EACH = preemption.EACH_VICTIM


def candidate(node, *victims, violations=0, highest=0, total=0, since=100.0):
    return Candidate(node, victims, violations, highest, total + len(victims) * EACH, since)


def record(*candidates, chosen="", ties=(), n_tried=None, status=st.SUCCESS):
    """Six nodes, two of which fail for good."""
    made = sample.record(1, sample.pod_ref(1), n_passing=0)
    told = Preemption(
        len(candidates) if n_tried is None else n_tried, candidates, ties or (chosen,), chosen
    )
    made.steps.append(Step("PostFilter", "DefaultPreemption", status, preemption=told))
    return made


def test_nodes_where_it_cannot_help_are_told_from_those_tried():
    found = preemption.tree(record(candidate("a", "x/1"), chosen="a", n_tried=3))
    assert (found.n_nodes, found.n_never, found.n_potential) == (6, 2, 4)
    assert (found.n_tried, found.n_failed, found.n_untried, found.n_candidates) == (3, 2, 1, 1)
    assert found.decided == ""


BEST = candidate("best", "x/1", "x/2", highest=5, total=7, since=50.0)


@pytest.mark.parametrize(
    ("other", "at"),
    [
        pytest.param(candidate("other", "x/3", violations=1), 0, id="budgets"),
        pytest.param(candidate("other", "x/3", highest=6), 1, id="the most important victim"),
        pytest.param(
            candidate("other", "x/3", "x/4", highest=5, total=9), 2, id="the sum of priorities"
        ),
        pytest.param(
            candidate("other", "x/3", "x/4", highest=5, total=7, since=40.0), 4, id="the start"
        ),
    ],
)
def test_the_criterion_that_decided_is_named_and_marked(other, at):
    found = preemption.tree(record(other, BEST, chosen="best"))
    assert found.decided == preemption.DECIDED[at]
    first, second = found.branches
    assert (first.node, second.node) == ("best", "other")
    assert [cell.standing for cell in first.cells] == ["even"] * 5
    assert [cell.standing for cell in second.cells] == [
        *["even"] * at,
        "out",
        *["unasked"] * (4 - at),
    ]


def test_the_sum_is_shown_without_what_counts_each_victim():
    found = preemption.tree(record(BEST, chosen="best"))
    assert [cell.value for cell in found.branches[0].cells] == [0, 5, 7, 2, 50.0]


def test_a_victim_that_has_not_started_started_latest():
    late = candidate("late", "x/1", since=None)
    found = preemption.tree(record(candidate("early", "x/2"), late, chosen="late"))
    assert found.decided == preemption.DECIDED[4]


def test_a_draw_is_no_decision():
    twins = (candidate("a", "x/1"), candidate("b", "x/2"))
    found = preemption.tree(record(*twins, chosen="b", ties=("a", "b")))
    assert (found.n_ties, found.decided) == (2, "")
    assert [branch.is_tied for branch in found.branches] == [True, True]


def test_no_candidate_says_why():
    found = preemption.tree(record(n_tried=4, status=st.Unschedulable("preemption: no")))
    assert (found.chosen, found.said, found.n_failed) == ("", "preemption: no", 4)


def test_long_lists_are_cut_short():
    many = [candidate(f"n{i}", *(f"x/{j}" for j in range(9)), highest=i) for i in range(20)]
    found = preemption.tree(record(*many, chosen="n0"))
    assert (len(found.branches), found.n_more) == (preemption.SHOWN, 12)
    assert found.branches[0].n_more == 3


def test_of_several_plugins_the_one_that_preempts_is_told():
    made = record(BEST, chosen="best")
    made.steps.insert(-1, sample.plain("PostFilter", "DynamicResources", st.Unschedulable("no")))
    found = preemption.tree(made)
    assert (found.plugin, found.chosen) == ("DefaultPreemption", "best")


def test_without_filters_prefilter_says_whether_it_may_help():
    made = record(n_tried=0, status=st.Unschedulable("no"))
    made.steps = [
        sample.plain("PreFilter", "P", st.UnschedulableAndUnresolvable("never")),
        made.steps[-1],
    ]
    made.first_failure, made.feasible = None, np.zeros(0, dtype=np.intp)
    assert preemption.tree(made).n_never == 6


def test_there_is_none_where_none_was_asked_for_or_its_detail_is_gone():
    assert preemption.tree(sample.record(1, sample.pod_ref(1))) is None
    dropped = record(BEST, chosen="best")
    dropped.feasible = None
    assert preemption.tree(dropped) is None
