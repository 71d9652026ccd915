"""Answering a conformance case: defaults before it, every difference after it."""

from __future__ import annotations

from schedviz.scheduler import conform
from tests import make


def case(pod, *objects, **words):
    return {"name": "c", "config": None, "objects": list(objects), "pod": pod, **words}


def test_a_case_is_answered():
    said = conform.answer(
        case(
            make.raw_pod(),
            make.raw_node("a"),
            make.raw_node("b", taints=["x:NoSchedule"]),
            make.raw_node("c", unschedulable=True),
        )
    )
    assert said["feasible"] == ["a"]
    assert said["firstFailure"]["b"] == {
        "plugin": "TaintToleration",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["node(s) had untolerated taint(s)"],
    }
    assert said["best"] == ["a"]


def test_priority_comes_from_the_class():
    raw = make.raw_pod(priorityClassName="high")
    high = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    assert conform.Trial(case(raw, high)).pod.priority == 9
    high["globalDefault"] = True
    assert conform.Trial(case(make.raw_pod(), high)).pod.priority == 9


def test_what_ended_does_not_count():
    done = make.raw_pod("done", node="a", status={"phase": "Succeeded"})
    trial = conform.Trial(case(make.raw_pod(), make.raw_node("a"), done))
    assert trial.nodes.n_pods.tolist() == [0]


def test_differences_name_their_place():
    found = conform.differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "d": 3}})
    assert list(found) == ["a.c: expected 2, absent", "a.d: not expected: 3"]
    assert list(conform.differences({"a": [1]}, {"a": [2]})) == ["a: expected [1], got [2]"]
