"""The list of sessions, start and stop."""

from __future__ import annotations

import pytest

from schedviz.web.models import Audit
from tests.web import people

pytestmark = pytest.mark.django_db


def test_it_works(viewer, session, django_assert_max_num_queries):
    people.session("other", state="stopped", desired="stopped")
    with django_assert_max_num_queries(5):
        html = viewer.get("/sessions/").content.decode()
    assert "/sessions/demo/" in html
    assert "stopped" in html


def test_the_only_session_is_the_first_page(viewer, session):
    assert viewer.get("/")["Location"] == "/sessions/demo/"
    people.session("other")
    assert viewer.get("/")["Location"] == "/sessions/"


def test_a_poll_that_knows_it_all_gets_nothing(viewer, session):
    version = viewer.get("/sessions/").context["version"]
    assert viewer.get(f"/sessions/?known={version}").status_code == 204


def test_an_operator_stops_and_starts(operator, session):
    assert b"Stop it" in operator.get("/sessions/demo/stop").content
    assert operator.post("/sessions/demo/stop").status_code == 204
    session.refresh_from_db()
    assert session.desired == "stopped"
    assert operator.post("/sessions/demo/start").status_code == 204
    session.refresh_from_db()
    assert session.desired == "running"
    assert [row.action for row in Audit.objects.order_by("id")] == ["session.stop", "session.start"]


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_viewer_does_not(viewer, session, verb):
    assert viewer.post(f"/sessions/demo/{verb}").status_code == 403


def test_a_start_is_a_post(operator, session):
    assert operator.get("/sessions/demo/start").status_code == 405


def test_without_sessions_it_says_what_to_do(viewer):
    assert b"session create" in viewer.get("/sessions/").content
