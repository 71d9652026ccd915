"""The board's stage; what happens on it is tested with `board` and `consumers`."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(5):
        html = viewer.get("/sessions/demo/").content.decode()
    assert 'ws-connect="/ws/sessions/demo/board"' in html
    for lane in ("gated", "unschedulable", "backoff", "active", "binding", "bound"):
        assert f'id="lane-{lane}"' in html


def test_a_filter_in_the_address_goes_to_the_wire(viewer, session):
    html = viewer.get("/sessions/demo/?q=a%22b").content.decode()
    assert 'ws-connect="/ws/sessions/demo/board?q=a%22b"' in html
    assert 'value="a&quot;b"' in html


def test_an_operator_gets_the_rows_tools(operator, session):
    html = operator.get("/sessions/demo/").content.decode()
    assert 'data-act="retry"' in html
    assert 'id="session-control"' in html
