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


FULL = [
    make.raw_node("a"),
    make.raw_node("b"),
    make.raw_pod("x", node="a", requests={"cpu": "4"}),
    make.raw_pod("y", node="b", requests={"cpu": "4"}),
]


def test_preemption_is_answered_with_every_candidate():
    said = conform.answer(case(make.raw_pod(priority=9, requests={"cpu": "3"}), *FULL))[
        "postFilter"
    ]
    assert (said["code"], said["nominating"], said["ties"]) == ("Success", "set", ["a", "b"])
    assert said["candidates"]["b"] == {"victims": ["default/y"], "pdbViolations": 0}
    assert said["victims"] == said["candidates"][said["nominatedNode"]]["victims"]


def test_between_candidates_that_tie_either_is_right():
    made = case(make.raw_pod(priority=9, requests={"cpu": "3"}), *FULL)
    expected = conform.answer(made)
    for node, victim in (("a", "default/x"), ("b", "default/y")):
        post = {**expected["postFilter"], "nominatedNode": node, "victims": [victim]}
        assert conform.judge({**made, "expect": {**expected, "postFilter": post}}) == []
    wrong = {**expected["postFilter"], "nominatedNode": "c"}
    assert conform.judge({**made, "expect": {**expected, "postFilter": wrong}})


def test_without_nodes_only_prefilter_has_something_to_say():
    said = conform.answer(case(make.raw_pod()))
    assert said["message"] == "no nodes available to schedule pods"
    assert said["preFilter"]["statuses"]["NodeResourcesFit"]["code"] == "Success"
    assert said["postFilter"] is None


def test_an_error_is_no_message():
    profile = {"plugins": {"preFilter": {"disabled": [{"name": "NodePorts"}]}}}
    ports = [make.container(ports=[{"containerPort": 80, "hostPort": 80}])]
    made = case(make.raw_pod(containers=ports), make.raw_node("a"))
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    said = conform.answer({**made, "config": config})
    assert said["message"] is None
    assert "NodePorts" in said["error"]
