"""The page of one pod."""

from __future__ import annotations

import pytest

from schedviz.web.models import PodState
from schedviz.web.views.pod import wakers

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
    (fit, events), (other, nothing) = wakers(pod)
    assert (fit, other, nothing) == ("NodeResourcesFit", "Somebody", [])
    assert "a pod leaves its node" in events
    assert wakers(PodState(lane="bound", plugins=["NodeName"])) == []
