"""The audit log's page."""

from __future__ import annotations

import pytest

from schedviz.web.models import Audit
from tests.web.views.conftest import HOSTILE

pytestmark = pytest.mark.django_db


def test_it_works(operator, session, django_assert_max_num_queries):
    operator.post("/sessions/demo/stop")
    with django_assert_max_num_queries(5):
        html = operator.get("/audit/").content.decode()
    assert "session.stop" in html
    assert "olga" in html


def test_what_was_done_is_said_in_words(operator, session):
    after = {"scheduler_names": ["a", "b"], "seed": 0, "context": ""}
    Audit.objects.create(user="olga", action="session.create", after=after, outcome="ok")
    html = operator.get("/audit/").content.decode()
    assert "scheduler names: <bdi>a, b</bdi>, seed: <bdi>0</bdi>" in html
    assert "context:" not in html


def test_by_user(operator, session):
    Audit.objects.create(user="somebody", action="pod.retry", outcome="ok")
    assert b"pod.retry" in operator.get("/audit/", {"user": "somebody"}).content
    assert b"Nothing by this user" in operator.get("/audit/", {"user": "nobody"}).content


def test_hostile_words_are_harmless(operator, session):
    Audit.objects.create(user=HOSTILE, action="x", object=HOSTILE, message=HOSTILE, outcome="ok")
    assert b"<script>alert" not in operator.get("/audit/").content


def test_a_viewer_may_not(viewer, session):
    assert viewer.get("/audit/").status_code == 403
