"""What holds for every page: who may see it, no inline script or style, nothing hostile comes through."""

from __future__ import annotations

import re

import pytest

from tests.web import people

pytestmark = pytest.mark.django_db


def test_it_works(viewer, session, page):
    answer = viewer.get(page, follow=True)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


def test_who_is_not_logged_in_is_led_to_the_login(client, session, page):
    assert client.get(page)["Location"].startswith("/accounts/login/")


def test_who_has_no_role_sees_nothing(client, session, page):
    client.force_login(people.nemo())
    answer = client.get(page)
    assert answer.status_code == 403
    assert b"Ask an admin" in answer.content


def test_no_inline_script_style_or_event(viewer, session, page):
    html = viewer.get(page, follow=True).content.decode()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:", html)


def test_a_viewer_gets_no_buttons_that_change_things(viewer, session, page):
    html = viewer.get(page, follow=True).content.decode()
    assert not re.search(r"hx-post|data-act=|/retry|/move\b", html)


@pytest.mark.parametrize("path", ["", "cycles/", "pods/", "nodes/", "cycles/1/", "pods/x/retry"])
def test_an_unknown_session_is_404(operator, session, path):
    assert operator.get(f"/sessions/nowhere/{path}").status_code == 404
