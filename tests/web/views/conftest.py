"""What the tests of pages share: a session with a record, and visitors."""

from __future__ import annotations

import pytest

from tests.web import people, sample

HOSTILE = '<script>alert(1)</script>"\u202e'


@pytest.fixture
def session(db):
    made = people.session()
    sample.fill(made)
    return made


@pytest.fixture
def viewer(client, db):
    client.force_login(people.victor())
    return client


@pytest.fixture
def operator(client, db):
    client.force_login(people.olga())
    return client


@pytest.fixture
def hostile_pod(session):
    """A pod whose every text is an attack."""
    pod = session.pods.filter(lane="unschedulable").first()
    pod.name = pod.message = pod.moved_by = HOSTILE
    pod.plugins = [HOSTILE]
    pod.save()
    return pod


PAGES = ["/", "/sessions/"] + [
    f"/sessions/demo/{part}"
    for part in ("", "cycles/", "cycles/1/", "pods/", "pods/uid-1/", "nodes/")
]


@pytest.fixture(params=PAGES)
def page(request):
    return request.param
