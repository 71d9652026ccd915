"""The framework runs plugins in order, keeps every verdict, and survives what plugins do."""

from __future__ import annotations

import numpy as np
import pytest

from schedviz.scheduler.framework import (
    CycleState,
    Error,
    PermitResult,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Skip,
    Unschedulable,
    UnschedulableAndUnresolvable,
    Wait,
)
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.framework.steps import Bind, PodRef
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from tests import make

NODES = make.snapshot([make.node("a"), make.node("b"), make.node("c")])
POD = make.pod()
ALL = np.arange(3)


def saying(name, **methods):
    """A plugin whose methods give these answers; an exception is raised."""

    def method(answer):
        def speak(self, *args):
            if isinstance(answer, Exception):
                raise answer
            return answer(*args) if callable(answer) else answer

        return speak

    kind = type(name, (Plugin,), {key: method(answer) for key, answer in methods.items()})
    return kind()


def framework(*plugins, weights=None):
    return Framework("s", [PrioritySort(), *plugins], weights=weights or {})


def drained(run):
    steps = []
    while True:
        try:
            steps.append(next(run))
        except StopIteration as end:
            return steps, end.value


def test_exactly_one_queue_sort_is_needed():
    with pytest.raises(ValueError, match="exactly one queue sort"):
        Framework("s", [], weights={})


def test_pre_enqueue_gives_the_first_refusal():
    f = framework(
        saying("A", pre_enqueue=None),
        saying("B", pre_enqueue=Unschedulable("b")),
        saying("C", pre_enqueue=Unschedulable("c")),
    )
    assert f.pre_enqueue(POD) == Unschedulable("b").by("B")


def names(*some):
    return PreFilterResult(frozenset(some))


@pytest.mark.parametrize(
    ("answers", "status", "node_names", "spoke"),
    [
        pytest.param([None, None], SUCCESS, None, "AB", id="all nodes"),
        pytest.param([names("a", "b"), names("b")], SUCCESS, {"b"}, "AB", id="sets intersect"),
        pytest.param(
            [UnschedulableAndUnresolvable("x"), None],
            UnschedulableAndUnresolvable("x").by("A"),
            None,
            "A",
            id="unresolvable stops at once",
        ),
        pytest.param(
            [Unschedulable("x"), Unschedulable("y")],
            Unschedulable("y").by("B"),
            None,
            "AB",
            id="unschedulable goes on and the last wins",
        ),
        pytest.param([Error("x"), None], Error("x").by("A"), None, "A", id="an error stops"),
        pytest.param(
            [names()],
            UnschedulableAndUnresolvable("node(s) didn't satisfy plugin A").by("A"),
            None,
            "A",
            id="no node left by one",
        ),
        pytest.param(
            [names("a"), names("b")],
            UnschedulableAndUnresolvable("node(s) didn't satisfy plugin(s) [A B] simultaneously"),
            None,
            "AB",
            id="no node left by two",
        ),
    ],
)
def test_pre_filter(answers, status, node_names, spoke):
    plugins = [saying("AB"[n], pre_filter=answer) for n, answer in enumerate(answers)]
    steps, verdict = drained(framework(*plugins).run_pre_filter(CycleState(), POD, NODES))
    assert verdict.status == status
    assert verdict.node_names == (None if node_names is None else frozenset(node_names))
    assert "".join(step.plugin for step in steps) == spoke


def refusing(name, reason, *node_names):
    return saying(
        name,
        filter=lambda state, pod, node: Unschedulable(reason) if node.name in node_names else None,
    )


def test_every_filter_sees_every_node_and_the_first_failure_is_kept():
    f = framework(refusing("A", "x", "a"), refusing("B", "y", "a", "b"))
    steps, verdict = drained(f.run_filter(CycleState(), POD, NODES))
    assert verdict.first_failure.tolist() == [0, 1, -1]
    assert verdict.feasible.tolist() == [2]
    assert steps[1].nodes.status(0).reasons == ("y",)


def test_skipped_filters_do_not_speak():
    state = CycleState()
    f = framework(saying("A", pre_filter=Skip(), filter=Unschedulable("x")))
    drained(f.run_pre_filter(state, POD, NODES))
    steps, verdict = drained(f.run_filter(state, POD, NODES))
    assert steps == []
    assert len(verdict.feasible) == 3


def test_nodes_outside_the_set_are_not_counted():
    _, verdict = drained(
        framework(refusing("A", "x", "a")).run_filter(
            CycleState(), POD, NODES, only=frozenset({"a", "b"})
        )
    )
    assert verdict.first_failure.tolist() == [0, -1, -2]


def test_a_nodes_error_fails_the_cycle_only_if_it_comes_first():
    broken = saying("B", filter=lambda state, pod, node: Error("oh") if node.name == "a" else None)
    _, verdict = drained(framework(broken).run_filter(CycleState(), POD, NODES))
    assert verdict.error == Error("oh").by("B")
    f = framework(refusing("A", "x", "a"), broken)
    _, verdict = drained(f.run_filter(CycleState(), POD, NODES))
    assert verdict.error is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param(ValueError("bad"), "ValueError: bad", id="it raises"),
        pytest.param(KeyError("not found"), "not found", id="state not found"),
        pytest.param(7, "gave no NodeStatuses", id="it gives something else"),
    ],
)
def test_a_filter_gone_wrong_is_an_error_with_its_name(said, words):
    _, verdict = drained(
        framework(saying("A", filter_nodes=said)).run_filter(CycleState(), POD, NODES)
    )
    assert verdict.error == Error(words).by("A")


def test_post_filter_reasons_add_up_until_a_success():
    f = framework(
        saying("A", post_filter=Unschedulable("x")), saying("B", post_filter=Unschedulable("y"))
    )
    _, result = drained(f.run_post_filter(CycleState(), POD, NODES, None))
    assert result == PostFilterResult(Unschedulable("x", "y"))
    f = framework(
        saying("A", post_filter=Unschedulable("x")),
        saying("B", post_filter=PostFilterResult(SUCCESS, "b")),
    )
    _, result = drained(f.run_post_filter(CycleState(), POD, NODES, None))
    assert (result.status.is_success, result.nominated_node_name) == (True, "b")
    assert drained(framework().run_post_filter(CycleState(), POD, NODES, None))[1] is None


def test_scores_are_weighted_and_summed():
    f = framework(
        saying("A", score=lambda state, pod, node: {"a": 1, "b": 2, "c": 3}[node.name]),
        saying("B", score=10),
        weights={"B": 3},
    )
    steps, (status, totals) = drained(f.run_score(CycleState(), POD, NODES, ALL))
    assert status.is_success
    assert totals.tolist() == [31, 32, 33]
    assert steps[1].scores.weight == 3


def test_a_score_out_of_range_is_an_error():
    _, (status, _) = drained(
        framework(saying("A", score=101)).run_score(CycleState(), POD, NODES, ALL)
    )
    assert status.code is Code.ERROR
    assert "invalid score 101" in status.message


def test_pre_score_skip_silences_the_score():
    state = CycleState()
    f = framework(saying("A", pre_score=Skip(), score=5))
    assert drained(f.run_pre_score(state, POD, NODES, ALL))[1].is_success
    assert drained(f.run_score(state, POD, NODES, ALL))[0] == []


def test_reserve_stops_at_a_refusal_and_is_undone_in_reverse():
    undone = []
    f = framework(
        saying("A", reserve=None, unreserve=lambda *_: undone.append("A")),
        saying("B", reserve=Unschedulable("no"), unreserve=lambda *_: undone.append("B")),
        saying("C", reserve=None, unreserve=RuntimeError("ignored")),
    )
    _, status = drained(f.run_reserve(CycleState(), POD, "a"))
    assert status == Unschedulable("no").by("B")
    f.run_unreserve(CycleState(), POD, "a")
    assert undone == ["B", "A"]


@pytest.mark.parametrize(
    ("answers", "code", "waits"),
    [
        pytest.param([None], Code.SUCCESS, {}, id="allowed"),
        pytest.param([PermitResult(Wait(), 5.0), None], Code.WAIT, {"A": 5.0}, id="waits"),
        pytest.param([PermitResult(Wait(), 9999.0)], Code.WAIT, {"A": 900.0}, id="at most 15 min"),
        pytest.param(
            [PermitResult(Wait(), 5.0), Unschedulable("no")], Code.UNSCHEDULABLE, {}, id="refused"
        ),
    ],
)
def test_permit(answers, code, waits):
    plugins = [saying("AB"[n], permit=answer) for n, answer in enumerate(answers)]
    _, (status, got) = drained(framework(*plugins).run_permit(CycleState(), POD, "a"))
    assert (status.code, got) == (code, waits)


def test_the_first_binder_that_does_not_skip_decides():
    action = Bind(PodRef("default", "p", "u"), "a")
    f = framework(saying("A", bind=Skip()), saying("B", bind=action), saying("C", bind=Error("x")))
    steps, verdict = drained(f.run_bind(CycleState(), POD, "a"))
    assert [step.plugin for step in steps] == ["A"]
    assert (verdict.action, verdict.plugin) == (action, "B")
    _, verdict = drained(framework(saying("A", bind=Skip())).run_bind(CycleState(), POD, "a"))
    assert verdict.status.code is Code.ERROR


def test_pre_bind_and_post_bind_run_each():
    f = framework(saying("A", pre_bind=None, post_bind=None), saying("B", pre_bind=Error("x")))
    assert drained(f.run_pre_bind(CycleState(), POD, "a"))[1].status == Error("x").by("B")
    assert [s.plugin for s in drained(f.run_post_bind(CycleState(), POD, "a"))[0]] == ["A"]
