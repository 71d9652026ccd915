"""The page of one pod."""

from __future__ import annotations

import time

import pytest

from schedviz.web import findings
from schedviz.web.explanation import wakers
from schedviz.web.models import Finding, PodState
from tests.web.views.conftest import HOSTILE

pytestmark = pytest.mark.django_db
UNSCHEDULABLE, BACKOFF, BOUND = "uid-10", "uid-9", "uid-1"


def path(uid):
    return f"/sessions/demo/pods/{uid}/"


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(9):
        html = viewer.get(path(UNSCHEDULABLE)).content.decode()
    assert "Why it is pending" in html
    assert "No node can take it" in html
    assert "a node joins" in html
    assert "/cycles/10/" in html
    assert "the attempt failed" in html


def test_a_bound_one_says_where_it_went(viewer, session):
    assert b"It was bound to node" in viewer.get(path(BOUND)).content


def test_an_operator_may_retry_but_not_move_it(operator, session):
    html = operator.get(path(BACKOFF)).content.decode()
    assert f"{path(BACKOFF)}retry" in html
    assert f"{path(BACKOFF)}move" not in html


def test_a_poll_that_knows_it_all_gets_nothing(viewer, session):
    version = viewer.get(path(BOUND)).context["version"]
    assert viewer.get(path(BOUND), {"known": version}).status_code == 204
    session.pods.filter(uid=BOUND).update(lane="gone")
    assert viewer.get(path(BOUND), {"known": version}).status_code == 200


def test_hostile_words_are_harmless(viewer, hostile_pod):
    html = viewer.get(path(hostile_pod.uid)).content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


@pytest.mark.parametrize("uid", ["a/b", "../x", "ü %?#", "a" * 300])
def test_any_uid_has_its_page(viewer, session, uid):
    PodState.objects.create(
        session=session, uid=uid, namespace="n", name="odd", lane="gated", since=1
    )
    html = viewer.get("/sessions/demo/pods/").content.decode()
    address = html[: html.index('"><bdi class="ns">n/')].rpartition('href="')[2]
    assert b"odd" in viewer.get(address).content


def test_an_unknown_pod_is_404(viewer, session):
    assert viewer.get(path("nobody")).status_code == 404


def test_what_wakes_a_pod_is_said_of_each_plugin():
    pod = PodState(lane="unschedulable", plugins=["NodeResourcesFit", "Somebody"])
    fit, other = wakers(pod)
    assert (fit.plugin, other.plugin, other.events) == ("NodeResourcesFit", "Somebody", [])
    assert "a pod leaves its node" in fit.events
    assert wakers(PodState(lane="bound", plugins=["NodeName"])) == []


CHANGES = [
    {"kind": "pod", "edits": ["ask for less", "and " + HOSTILE], "n_nodes": 9, "nodes": ["n1"]},
    {"kind": "victim", "edits": ["pod a/b leaves its node"], "n_nodes": 1, "nodes": ["n2"]},
]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(None, "Look for changes that would help", id="never asked for"),
        pytest.param({"at": None}, "A worker reads the cluster", id="under way"),
        pytest.param({"at": None, "asked_at": 1.0}, findings.NO_WORKER, id="nobody answered"),
        pytest.param({"message": "it is gone"}, "it is gone", id="failed"),
        pytest.param({"passing": ["n7"]}, "it fits now, on <bdi>n7</bdi>", id="nothing needed"),
        pytest.param({"changes": []}, "No small change helps.", id="nothing found"),
        pytest.param({"changes": CHANGES}, "9 nodes would take it", id="found"),
    ],
)
def test_what_would_help_is_told_as_far_as_it_is_known(viewer, session, answer, words):
    if answer is not None:
        row = {"at": time.time(), "asked_at": time.time(), "message": "", **answer}
        content = {"n_nodes": 9, "n_tried": 3, "passing": [], "changes": [], "refusal": ""}
        content |= {name: row.pop(name) for name in ("passing", "changes") if name in row}
        Finding.objects.create(session=session, pod_uid=UNSCHEDULABLE, content=content, **row)
    html = viewer.get(path(UNSCHEDULABLE) + "changes").content.decode()
    assert words in html
    assert "<script>alert" not in html


def test_a_worker_is_asked_to_look(viewer, session, monkeypatch):
    sent = []
    monkeypatch.setattr(findings.producer, "send_task", lambda name, **how: sent.append(name))
    html = viewer.get(path(UNSCHEDULABLE) + "changes?look=1").content.decode()
    assert "A worker reads the cluster" in html
    assert sent == [findings.TASK]
    assert viewer.get(path("nobody") + "changes").status_code == 404


def test_only_a_pending_pod_is_asked_about(viewer, session):
    assert b'id="changes"' in viewer.get(path(UNSCHEDULABLE)).content
    assert b'id="changes"' not in viewer.get(path(BOUND)).content


def test_how_the_nodes_became_fewer_is_shown(viewer, session):
    html = viewer.get(path(UNSCHEDULABLE)).content.decode()
    assert "Nodes that failed alike" in html
    assert "4 fail it" in html
