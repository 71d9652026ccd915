"""How nodes became fewer: clause by clause, and by what failed together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from schedviz.scheduler.explain import clauses, groups
from schedviz.scheduler.framework import status as st
from schedviz.scheduler.framework.status import NodeStatuses
from schedviz.scheduler.framework.steps import CycleRecord, PodRef, Step

CPU = st.Unschedulable("Insufficient cpu")
BOTH = st.Unschedulable("Insufficient cpu", "Insufficient memory")
TAINT = st.UnschedulableAndUnresolvable("node(s) had untolerated taint(s)")


def record(verdicts: dict[str, dict[int, st.Status]], *, n_nodes=5, only=None) -> CycleRecord:
    """plugin -> row -> its refusal."""
    made = CycleRecord(
        1, PodRef("a", "p", "u"), 1, 0, "s", 0.0, tuple(f"n{i}" for i in range(n_nodes))
    )
    first = np.full(n_nodes, -1, dtype=np.int16)
    for number, (plugin, refusals) in enumerate(verdicts.items()):
        nodes = NodeStatuses(n_nodes)
        for row, status in refusals.items():
            nodes.reject(row, status)
            if first[row] == -1:
                first[row] = number
        made.steps.append(Step("Filter", plugin, st.SUCCESS.by(plugin), nodes=nodes))
    if only is not None:
        names = tuple(f"n{i}" for i in only)
        made.steps.insert(
            0, Step("PreFilter", "NodeAffinity", st.SUCCESS.by("NodeAffinity"), node_names=names)
        )
        first[[row for row in range(n_nodes) if row not in only]] = -2
    made.first_failure = first
    made.feasible = np.flatnonzero(first == -1)
    return made


TWO = {
    "TaintToleration": {0: TAINT, 1: TAINT},
    "NodePorts": {},
    "NodeResourcesFit": {1: BOTH, 2: CPU, 3: BOTH, 4: CPU},
}


def test_each_reason_is_a_clause_and_counts_what_it_leaves_and_what_it_refuses_alone():
    said = [(one.plugin, one.reason, one.n_fail, one.n_left) for one in clauses(record(TWO))]
    assert said == [
        ("TaintToleration", "node(s) had untolerated taint(s)", 2, 3),
        ("NodeResourcesFit", "Insufficient cpu", 4, 0),
        ("NodeResourcesFit", "Insufficient memory", 2, 0),
    ]


def test_nodes_that_failed_alike_stand_together_and_never_apart_from_not_now():
    said = [(one.plugins, one.nodes, one.never) for one in groups(record(TWO))]
    assert said == [
        (("NodeResourcesFit",), ("n2", "n3", "n4"), False),
        (("TaintToleration",), ("n0",), True),
        (("TaintToleration", "NodeResourcesFit"), ("n1",), True),
    ]


def test_the_same_plugin_may_say_never_of_one_node_and_not_now_of_another():
    hopeless = st.UnschedulableAndUnresolvable("Insufficient cpu")
    said = groups(record({"NodeResourcesFit": {0: hopeless, 1: CPU, 2: CPU, 3: CPU, 4: CPU}}))
    assert [(one.n_nodes, one.never) for one in said] == [(4, False), (1, True)]


def test_nodes_that_prefilter_left_out_are_the_first_clause():
    made = record({"NodeResourcesFit": {2: CPU}}, only=[2])
    assert [(one.plugin, one.n_left) for one in clauses(made)] == [
        ("NodeAffinity", 1),
        ("NodeResourcesFit", 0),
    ]
    assert [(one.plugins, one.never) for one in groups(made)] == [
        (("NodeAffinity",), True),
        (("NodeResourcesFit",), False),
    ]


def test_names_are_cut_short():
    found = groups(record({"P": dict.fromkeys(range(9), CPU)}, n_nodes=9))
    assert (found[0].n_nodes, len(found[0].nodes), found[0].n_more) == (9, 5, 4)


def test_a_record_without_columns_says_nothing():
    made = record(TWO)
    made.first_failure = None
    assert (clauses(made), groups(made)) == ([], [])


REFUSALS = some.dictionaries(some.integers(0, 4), some.sampled_from([CPU, BOTH, TAINT]))


@given(some.dictionaries(some.sampled_from(["A", "B", "C"]), REFUSALS, min_size=1))
def test_the_last_clause_leaves_what_passed_and_groups_hold_the_rest(verdicts):
    made = record(verdicts)
    n_passed = int((made.first_failure == -1).sum())
    found = clauses(made)
    assert (found[-1].n_left if found else len(made.node_names)) == n_passed
    assert sum(one.n_nodes for one in groups(made)) == len(made.node_names) - n_passed
    left = [one.n_left for one in found]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize("n_nodes", [0, 1])
def test_few_nodes_are_no_matter(n_nodes):
    made = record({"P": dict.fromkeys(range(n_nodes), CPU)}, n_nodes=n_nodes)
    assert [one.n_left for one in clauses(made)] == [0] * n_nodes
    assert len(groups(made)) == n_nodes
