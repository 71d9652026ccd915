"""The page of one cycle and its binary frame."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import status as st
from schedviz.scheduler.framework.steps import Call, Candidate, Preemption, Step
from schedviz.web.models import Cycle
from schedviz.web.views import cycle as view
from tests.web import sample
from tests.web.views.conftest import HOSTILE

pytestmark = pytest.mark.django_db


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        html = viewer.get("/sessions/demo/cycles/1/").content.decode()
    chosen = Cycle.objects.get(number=1).node_name
    assert f"<bdi>{chosen}</bdi>" in html
    assert "NodeResourcesFit" in html
    assert "▲" in html and "◆" in html
    assert "Insufficient memory" in html


def test_an_unschedulable_one_says_why(viewer, session):
    html = viewer.get("/sessions/demo/cycles/12/").content.decode()
    assert "None of 6 nodes could run it" in html
    assert "0/6 nodes are available" in html
    assert "nothing to score" in html


def test_without_its_detail_it_says_so(viewer, session):
    session.cycles.filter(number=1).update(blob=None)
    answer = viewer.get("/sessions/demo/cycles/1/")
    assert b"were dropped" in answer.content
    assert viewer.get("/sessions/demo/cycles/1/matrix").status_code == 404


def test_many_nodes_are_drawn(viewer, session, monkeypatch):
    monkeypatch.setattr(view, "HTML_NODES", 5)
    html = viewer.get("/sessions/demo/cycles/1/").content.decode()
    assert 'data-src="/sessions/demo/cycles/1/matrix"' in html
    frame = viewer.get("/sessions/demo/cycles/1/matrix").content
    assert len(frame) - 4 - int.from_bytes(frame[:4], "little") == 6 * 6


def test_a_closed_cycle_is_not_sent_twice(viewer, session):
    version = viewer.get("/sessions/demo/cycles/1/").context["version"]
    assert viewer.get(f"/sessions/demo/cycles/1/?known={version}").status_code == 204


def test_an_unknown_number_says_what_is_kept(viewer, session):
    for number in (999, 10**30):
        answer = viewer.get(f"/sessions/demo/cycles/{number}/")
        assert answer.status_code == 404
        assert b"It keeps 1 to 12" in answer.content


def test_hostile_words_are_harmless(viewer, session):
    session.cycles.filter(number=1).update(pod_name=HOSTILE, message=HOSTILE)
    html = viewer.get("/sessions/demo/cycles/1/").content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


def test_preemption_is_shown_as_it_was_decided(viewer, session):
    made = sample.record(13, sample.pod_ref(9), n_passing=0, attempt=2)
    candidates = (
        Candidate("node-0000", (f"team-b/{HOSTILE}",), 0, 3, 3 + (1 << 31), 100.0),
        Candidate("node-0001", ("team-b/web",), 1, 0, 1 << 31, None),
    )
    told = Preemption(4, candidates, ("node-0000",), "node-0000")
    made.steps.append(Step("PostFilter", "DefaultPreemption", st.SUCCESS, preemption=told))
    made.nominated_there = {"node-0002": ("team-c/first",)}
    sample.sink(session).commit(sample.batch(cycles=[made]))
    html = viewer.get("/sessions/demo/cycles/13/").content.decode()
    assert "it violates the fewest disruption budgets" in html
    assert "not started" in html
    assert "had no room beside <bdi>team-c/first</bdi>" in html
    assert "<script>alert" not in html


def test_extenders_are_shown_with_what_they_said_and_what_went_wrong(viewer, session):
    made = sample.record(13, sample.pod_ref(9))
    statuses = st.NodeStatuses(len(made.node_names))
    statuses.reject(slice(None), st.Skip())
    statuses.reject(made.feasible, st.SUCCESS)
    url = "http://ext.example/filter"
    fine = Call(url, 2048, 64, 0.012, hint="look at nodeCacheCapable")
    made.steps.append(Step("Filter", "ext.example", st.SUCCESS, nodes=statuses, call=fine))
    late = Call(url, 10, 0, 0.5, error=f"context deadline exceeded {HOSTILE}")
    made.steps.append(Step("Filter", "late.example", st.Skip(), call=late))
    sample.sink(session).commit(sample.batch(cycles=[made]))
    html = viewer.get("/sessions/demo/cycles/13/").content.decode()
    n_feasible = len(made.feasible)
    assert f"passed {n_feasible} of {n_feasible} nodes" in html
    assert "look at nodeCacheCapable" in html
    assert "context deadline exceeded" in html and "passed over" in html
    assert html.count("<span>ext.example</span>") == 1
    assert "<script>alert" not in html
