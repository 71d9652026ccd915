"""Retry and move: the dialog, the wish, its answer."""

from __future__ import annotations

import pytest

from schedviz.web.answers import answer
from schedviz.web.models import Command, PodState

pytestmark = pytest.mark.django_db


def path(uid, verb):
    return f"/sessions/demo/pods/{uid}/{verb}"


@pytest.fixture
def queue(session):
    """Three active pods of one priority and one above them."""
    for place, name in enumerate(["vip", "first", "second", "third"]):
        PodState.objects.create(
            session=session,
            uid=name,
            namespace="shop",
            name=name,
            lane="active",
            priority=0 if place else 100,
            rank=place,
            since=1.0,
        )
    return session


def test_it_works(operator, queue):
    html = operator.get(path("uid-9", "retry")).content.decode()
    assert "Backoff" in html
    assert "tried before it" in html
    posted = operator.post(path("uid-9", "retry"), {"key": "k1"})
    command = Command.objects.get()
    assert (command.verb, command.args["uid"]) == ("retry", "uid-9")
    assert f"/commands/{command.pk}/" in posted.content.decode()
    answer(
        command.pk,
        ok=True,
        message="Done so.",
        before={"lane": "backoff"},
        after={"lane": "active"},
    )
    html = operator.get(f"/commands/{command.pk}/").content.decode()
    assert "Done so." in html
    assert "Backoff" in html
    assert "hx-trigger" not in html


@pytest.mark.parametrize(
    ("uid", "query", "now", "then", "passed"),
    [
        pytest.param("third", {"to": "top"}, 3, 1, ["first", "second"], id="to the top"),
        pytest.param("first", {"to": "bottom"}, 1, 3, ["second", "third"], id="to the bottom"),
        pytest.param("third", {"to": "n", "n": "2"}, 3, 2, ["second"], id="to a place"),
        pytest.param(
            "first", {"to": "n", "n": "99"}, 1, 3, ["second", "third"], id="beyond the end"
        ),
        pytest.param("first", {"to": "n", "n": "x"}, 1, 1, [], id="nonsense stays"),
    ],
)
def test_a_move_says_what_will_change(operator, queue, uid, query, now, then, passed):
    context = operator.get(path(uid, "move"), query).context
    assert (context["position"], context["wanted"], context["of"]) == (now, then, 3)
    assert [row.name for row in context["passed"]] == passed


def test_a_move_is_wished(operator, queue):
    operator.post(path("third", "move"), {"key": "k", "to": "n", "n": "2"})
    assert Command.objects.get().args["to"] == 2


def test_nonsense_is_refused_in_words(operator, queue):
    answer = operator.post(path("third", "move"), {"key": "k", "to": "up"})
    assert answer.status_code == 409
    assert b"is no place" in answer.content


def test_what_is_not_active_cannot_be_moved(operator, queue):
    assert b"only active pods" in operator.get(path("uid-9", "move")).content


def test_what_is_bound_cannot_be_retried(operator, queue):
    assert b"only pods in Backoff" in operator.get(path("uid-1", "retry")).content


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("verb", ["retry", "move"])
def test_a_viewer_may_not(viewer, queue, verb, method):
    assert (
        getattr(viewer, method)(path("third", verb), {"key": "k", "to": "top"}).status_code == 403
    )
    assert not Command.objects.exists()


def test_a_viewer_sees_no_answers(operator, client, queue):
    operator.post(path("third", "move"), {"key": "k", "to": "top"})
    from tests.web import people

    client.force_login(people.victor())
    assert client.get(f"/commands/{Command.objects.get().pk}/").status_code == 403


def test_an_unknown_command_is_404(operator, queue):
    assert operator.get("/commands/999/").status_code == 404


def test_a_post_without_the_token_is_refused(queue):
    from django.test import Client

    from tests.web import people

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.olga())
    answer = strict.post(path("third", "move"), {"key": "k", "to": "top"})
    assert answer.status_code == 403
    assert b"too old" in answer.content


def test_pausing_asks_why_and_says_what_it_means(operator, session):
    html = operator.get("/sessions/demo/pause").content.decode()
    assert "No pod is taken from the queue" in html
    refused = operator.post("/sessions/demo/pause", {"key": "k", "reason": "", "for": "300"})
    assert (refused.status_code, b"say why" in refused.content) == (409, True)
    operator.post("/sessions/demo/pause", {"key": "k", "reason": "upgrade", "for": "300"})
    command = Command.objects.get()
    assert (command.verb, command.args) == ("pause", {"reason": "upgrade", "seconds": 300.0})


def test_resuming_says_who_paused_it(operator, session):
    session.counters = {
        "pause": {"by": "<b>olga", "since": 1.0, "reason": "upgrade", "until": None}
    }
    session.save()
    html = operator.get("/sessions/demo/resume").content.decode()
    assert "&lt;b&gt;olga" in html
    assert "upgrade" in html
    operator.post("/sessions/demo/resume", {"key": "k"})
    assert Command.objects.get().verb == "resume"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_viewer_sees_no_pause_and_posts_none(viewer, session, verb):
    assert f"do-{verb}" not in viewer.get("/sessions/demo/").content.decode()
    posted = viewer.post(f"/sessions/demo/{verb}", {"key": "k", "reason": "x"})
    assert posted.status_code == 403
    assert not Command.objects.exists()
