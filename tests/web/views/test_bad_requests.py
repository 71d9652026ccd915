"""What no page sends: bad addresses, forged posts. Answered with a refusal, never with an error; kept in the audit."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.test import Client

from schedviz.web.models import Audit, Command
from tests.web import people

pytestmark = pytest.mark.django_db
S = "/sessions/demo/"
ODD = [
    "\0",
    "-1",
    "9" * 30,
    "9" * 5000,
    "1e9",
    "\U0001f4a9",
    "../..",
    "a" * 3000,
    "\r\nX: 1",
    "\u202ex",
]
PLACES = [
    "/sessions/{}/",
    *(S + page for page in ("cycles/{}/", "cycles/{}/matrix", "pods/{}/", "pods/{}/move")),
    *(
        f"{S}{page}/?{field}={{}}"
        for page in ("pods", "nodes", "cycles")
        for field in ("q", "after", "known")
    ),
    *(S + "pods/?lane={}", S + "cycles/?outcome={}", S + "pods/uid-10/move?to=n&n={}", S + "?q={}"),
    *(S + "flush?which={}&limit=3", S + "flush?preview&which=lane:backoff&limit={}"),
    *("/audit/?user={}", "/audit/?after={}", "/commands/{}/", "/commands/{}/undo"),
]


@pytest.mark.parametrize("place", PLACES)
def test_any_address_has_an_answer(operator, session, place):
    answers = {odd[:9]: operator.get(place.format(quote(odd))).status_code for odd in ODD}
    assert set(answers.values()) <= {200, 204, 302, 400, 404}, answers


@pytest.mark.parametrize("odd", ["%ff%fe", "%00", "%", "%2e%2e%2f"])
def test_bytes_that_are_no_text(operator, session, odd):
    assert operator.get(f"/sessions/demo/pods/{odd}/").status_code in (400, 404)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("pods/uid-10/retry", {}, id="no key"),
        pytest.param("pods/uid-10/retry", {"key": "k" * 65}, id="a key too long"),
        *(
            pytest.param("pods/uid-10/move", {"key": "k", "to": to}, id=f"to {to[:9]!r}")
            for to in ("0", "-1", "1e9", "1000000000", "9" * 5000, "up", "\0", "top\0", "٣")
        ),
        pytest.param("pods/uid-10/move", {"key": "k", "to": "n", "n": "0"}, id="to place 0"),
        pytest.param("pods/uid-10/move", {"key": "k", "to": "n", "n": "9" * 5000}, id="to beyond"),
        pytest.param("pause", {"key": "k", "reason": " "}, id="a pause without a reason"),
        pytest.param("resume", {}, id="a resume without a key"),
        pytest.param("pods/uid-10/hold", {"reason": "r"}, id="a hold without a key"),
        pytest.param("pods/uid-10/release", {}, id="a release without a key"),
        pytest.param("pods/uid-10/reject", {"reason": "no"}, id="a rejection without a key"),
        *(
            pytest.param("flush", {"key": "k", **said}, id=f"a retry of many: {str(said)[:40]}")
            for said in (
                {"which": "lane:bound", "limit": "5"},
                {"which": "nonsense", "limit": "5"},
                {"which": "\0", "limit": "5"},
                {"which": "lane:backoff", "limit": "0"},
                {"which": "lane:backoff", "limit": "-1"},
                {"which": "lane:backoff", "limit": "9" * 5000},
                {"which": "lane:backoff", "limit": "\0"},
            )
        ),
    ],
)
def test_a_forged_wish_is_refused_and_kept(operator, session, path, said):
    assert operator.post(S + path, said).status_code == 409
    assert not Command.objects.exists()
    assert [row.outcome for row in Audit.objects.all()] == ["refused"]


@pytest.mark.parametrize("path", ["pods/nix/retry", "pods/nix/move", "pods/uid-10/\0/retry"])
def test_a_pod_that_is_not_there(operator, session, path):
    assert operator.post(S + path, {"key": "k", "to": "top"}).status_code == 404


def test_a_pod_of_another_session_is_not_there(operator, session):
    people.session("other")
    answer = operator.post("/sessions/other/pods/uid-10/retry", {"key": "k"})
    assert answer.status_code == 404
    assert not Command.objects.exists()


WRITES = [
    *(f"pods/uid-10/{verb}" for verb in ("retry", "move", "hold", "release", "allow", "reject")),
    *("pause", "resume", "flush", "start", "stop"),
]


@pytest.mark.parametrize("path", WRITES)
def test_who_may_only_look_changes_nothing_and_the_try_is_kept(viewer, session, path):
    assert viewer.post(S + path, {"key": "k", "reason": "r"}).status_code == 403
    audit = Audit.objects.get()
    assert (audit.user, audit.outcome, audit.session) == ("victor", "denied", session)
    assert audit.object == ("uid-10" if "uid" in path else "demo")
    session.refresh_from_db()
    assert (session.desired, Command.objects.count()) == ("running", 0)


def test_who_may_only_look_undoes_nothing_and_the_try_is_kept(viewer, session):
    moved = Command.objects.create(
        session=session,
        verb="move",
        args={"uid": "uid-10", "to": "top"},
        key="k",
        ok=True,
        created_by=people.olga(),
    )
    assert viewer.post(f"/commands/{moved.pk}/undo", {"key": "k2"}).status_code == 403
    audit = Audit.objects.get()
    assert (audit.user, audit.outcome, audit.session) == ("victor", "denied", session)
    assert Command.objects.count() == 1


@pytest.mark.parametrize("path", WRITES)
def test_no_post_without_its_token(session, path):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.olga())
    assert client.post(S + path, {"key": "k"}).status_code == 403
    assert not Audit.objects.exists()


@pytest.mark.parametrize("path", WRITES)
def test_a_stranger_is_sent_to_the_login(client, session, path):
    assert client.post(S + path, {"key": "k"}).status_code == 302
    session.refresh_from_db()
    assert session.desired == "running"
