"""The list of cycles."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db
PATH = "/sessions/demo/cycles/"


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(5):
        html = viewer.get(PATH).content.decode()
    assert html.count('<tr class="go">') == 12
    assert html.index("/cycles/12/") < html.index("/cycles/1/")


def test_by_outcome(viewer, session):
    html = viewer.get(PATH, {"outcome": "unschedulable"}).content.decode()
    assert html.count('<tr class="go">') == 4


def test_new_ones_are_announced(viewer, session):
    assert b"2 new cycles" in viewer.get(PATH, {"newer": "10"}).content
    assert viewer.get(PATH, {"newer": "12"}).status_code == 204
    assert b"12 new" in viewer.get(PATH, {"newer": "nonsense"}).content


def test_older_ones_come_as_rows(viewer, session):
    html = viewer.get(PATH, {"after": "5"}, headers={"HX-Request": "true"}).content.decode()
    assert html.count('<tr class="go">') == 4
    assert "<html" not in html


def test_an_empty_record_says_what_to_do(viewer, session):
    session.cycles.all().delete()
    assert b"kubectl" in viewer.get(PATH).content
