"""Pages that fail."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from schedviz.web import readers

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        pytest.param(
            OperationalError("database or disk is full <b>"),
            503,
            "database or disk is full &lt;b&gt;",
            id="no database",
        ),
        pytest.param(ZeroDivisionError("secret"), 500, "Something broke on our side", id="a fault"),
    ],
)
def test_a_page_that_fails_says_what_it_may(operator, session, monkeypatch, error, status, words):
    def fail(*_):
        raise error

    monkeypatch.setattr(readers, "sessions_list", fail)
    operator.raise_request_exception = False
    answer = operator.get("/sessions/")
    html = answer.content.decode()
    assert answer.status_code == status
    assert words in html
    assert "secret" not in html
