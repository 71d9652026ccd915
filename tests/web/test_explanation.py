"""A pod's place in words."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from schedviz.scheduler.framework.steps import Lane
from schedviz.web.explanation import explain
from schedviz.web.models import PodState
from tests.web import people, sample

pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    session = people.session()
    sample.fill(session, n_bound=2, n_pending=2)
    return session


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {"lane": "gated", "plugins": ["SchedulingGates"], "message": "waiting for gates"},
            "It is held back by SchedulingGates: waiting for gates. It is tried when that changes.",
            id="gated",
        ),
        pytest.param(
            {"lane": "unschedulable", "plugins": ["A", "B", "C"], "message": "0/3 nodes fit."},
            "No node can take it: 0/3 nodes fit. It waits for a change that may help A, B or C.",
            id="unschedulable",
        ),
        pytest.param(
            {"lane": "backoff", "retry_at": sample.NOW + 4, "attempts": 3, "message": "full"},
            "It is tried again in 4 s, after 3 attempts: full.",
            id="backoff",
        ),
        pytest.param({"lane": "active"}, "It waits for its turn. It is next.", id="active"),
        pytest.param({"lane": "scheduling"}, "It is being scheduled now.", id="scheduling"),
        pytest.param(
            {"lane": "binding", "node_name": "n1"},
            "Node n1 was chosen; the API server is being told.",
            id="binding",
        ),
        pytest.param(
            {"lane": "binding", "node_name": "n1", "message": "it waits for A, 5s at most"},
            "Node n1 was chosen; it waits for A, 5s at most.",
            id="binding, and something must come true before",
        ),
        pytest.param(
            {"lane": "bound", "node_name": "n1", "attempts": 1},
            "It was bound to node n1 after one attempt.",
            id="bound",
        ),
        pytest.param(
            {"lane": "malformed", "message": "spec.x: no quantity"},
            "It cannot be read: spec.x: no quantity. It is not scheduled until it is put right.",
            id="malformed",
        ),
        pytest.param({"lane": "gone"}, "It was deleted. It was never bound.", id="gone"),
    ],
)
def test_every_lane_has_its_sentence(fields, sentence):
    session = people.session()
    pod = PodState.objects.create(
        session=session, uid="u", namespace="a", name="p", **{"since": sample.NOW} | fields
    )
    assert explain(session, pod, now=sample.NOW).sentence == sentence


def test_the_place_in_the_queue():
    session = people.session()
    for rank, priority in ((1.0, 0), (2.0, 0), (3.0, 0), (9.0, 100)):
        pod = PodState.objects.create(
            **{"session": session, "uid": f"u{rank}", "namespace": "a", "name": f"p{rank}"},
            **{"lane": Lane.ACTIVE, "since": 1.0, "rank": rank, "priority": priority},
        )
    pod = PodState.objects.get(uid="u2.0")
    assert explain(session, pod).sentence.endswith("2 pods are before it.")


def test_the_last_attempt_is_told(session):
    found = explain(session, PodState.objects.get(uid="uid-1"))
    assert found.cycle == 1
    assert "3 of 6 nodes passed" in " ".join(found.more)
    assert sum(rejection.n_nodes for rejection in found.rejections) == 3


def test_what_rejects_is_counted_and_never_is_told_from_not_yet(session):
    found = explain(session, PodState.objects.get(uid="uid-3"))
    assert sum(rejection.n_nodes for rejection in found.rejections) == 6
    resolvable = {rejection.plugin: rejection.resolvable for rejection in found.rejections}
    assert resolvable == {"TaintToleration": False, "NodeResourcesFit": True}


def test_the_command_says_it(session):
    out = io.StringIO()
    call_command("explain", "team-a/pod-3", stdout=out)
    assert "team-a/pod-3 (backoff)" in out.getvalue()
    assert "How its 6 nodes became fewer:\n  taints tolerated: 4\n" in out.getvalue()
    assert "never, 2 nodes by TaintToleration: node(s) had untolerated taint(s)" in out.getvalue()
    assert "not now, 4 nodes by NodeResourcesFit: " in out.getvalue()


def test_the_command_says_it_to_programs(session):
    out = io.StringIO()
    call_command("explain", "team-a/pod-3", output="json", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["version"], found["pod"], found["lane"]) == (1, "team-a/pod-3", "backoff")
    assert [clause["n_left"] for clause in found["clauses"]][-1] == 0
    assert sum(group["n_nodes"] for group in found["groups"]) == found["n_nodes"] == 6
    assert found["certainty"] == "observed"


def test_an_unknown_pod_or_session_is_said(session):
    with pytest.raises(CommandError, match="knows no pod default/nobody"):
        call_command("explain", "nobody")
    with pytest.raises(CommandError, match="no session 'nowhere'"):
        call_command("explain", "team-a/pod-3", session="nowhere")
    people.session("other")
    with pytest.raises(CommandError, match=r"give --session \(demo, other\)"):
        call_command("explain", "team-a/pod-3")


def test_an_answer_is_given_once(session):
    pod = PodState.objects.filter(session=session, lane="unschedulable").first()
    told = explain(session, pod, now=sample.NOW)
    assert [told.sentence, *told.more].count(pod.message) <= 1
    assert sum(pod.message.rstrip(".") in one for one in [told.sentence, *told.more]) == 1
    assert any(f"cycle {pod.cycle}" in one for one in told.more)


def test_of_a_deleted_pod_the_last_answer_is_still_told(session):
    pod = PodState.objects.filter(session=session, lane="unschedulable").first()
    pod.lane = "gone"
    told = explain(session, pod, now=sample.NOW)
    assert any(pod.message.rstrip(".") in one for one in told.more)
