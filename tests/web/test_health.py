"""/healthz answers without a login and leaves no session behind."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session

from schedviz.web import auth


@pytest.mark.django_db
def test_it_works(client, settings):
    settings.DEMO = True
    auth.demo_operator()
    answer = client.get("/healthz", HTTP_HOST="127.0.0.1:8000")
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert not Session.objects.exists()


@pytest.mark.django_db
def test_it_is_read_only(client):
    assert client.post("/healthz").status_code == 405
