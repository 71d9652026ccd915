"""What operators ask of pods and of the queue: the dialog, the wish, its answer."""

from __future__ import annotations

import pytest

from schedviz.web.answers import answer
from schedviz.web.models import Audit, Command, PodState

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
@pytest.mark.parametrize("verb", ["retry", "move", "hold", "release", "allow", "reject"])
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


# ---- hold and release ----------------------------------------------------------------------------------------------

HELD = {"by": "<b>otto", "since": 1.0, "reason": "until <i>Monday"}


def test_a_hold_is_wished_with_its_reason(operator, queue):
    assert (
        "not tried until somebody releases it"
        in operator.get(path("third", "hold")).content.decode()
    )
    operator.post(path("third", "hold"), {"key": "k", "reason": " until Monday "})
    command = Command.objects.get()
    assert (command.verb, command.args["reason"]) == ("hold", "until Monday")
    assert command.action == "pod.hold"


def test_a_held_pod_says_by_whom_and_is_released(operator, queue):
    PodState.objects.filter(uid="third").update(lane="gated", hold=HELD)
    for page in (path("third", "release"), path("third", "hold"), "/sessions/demo/pods/third/"):
        html = operator.get(page).content.decode()
        assert "&lt;b&gt;otto" in html
        assert "<b>otto" not in html
    assert b"until &lt;i&gt;Monday" in operator.get(path("third", "release")).content
    operator.post(path("third", "release"), {"key": "k"})
    assert Command.objects.get().verb == "release"


@pytest.mark.parametrize("verb", ["retry", "move"])
def test_a_held_pod_is_to_be_released_first(operator, queue, verb):
    PodState.objects.filter(uid="third").update(lane="gated", hold=HELD)
    html = operator.get(path("third", verb)).content.decode()
    assert "held by" in html
    assert "primary" not in html


@pytest.mark.parametrize(
    ("uid", "shown"),
    [
        pytest.param("third", {"move", "hold"}, id="active"),
        pytest.param("uid-9", {"retry", "hold"}, id="backoff"),
        pytest.param("held", {"release"}, id="held"),
        pytest.param("gated", {"hold"}, id="gated"),
        pytest.param("permit", {"allow", "reject"}, id="waits at Permit"),
        pytest.param("binding", set(), id="being bound"),
        pytest.param("uid-1", set(), id="bound"),
    ],
)
def test_a_pod_has_the_buttons_of_its_place(queue, client, uid, shown):
    from tests.web import people

    for name, more in (
        ("held", {"lane": "gated", "hold": HELD}),
        ("gated", {"lane": "gated", "plugins": ["SchedulingGates"]}),
        ("permit", {"lane": "binding", "plugins": ["Guard"]}),
        ("binding", {"lane": "binding"}),
    ):
        PodState.objects.create(
            session=queue, uid=name, namespace="shop", name=name, since=1.0, **more
        )
    client.force_login(people.person("otto", "operator"))
    html = client.get(f"/sessions/demo/pods/{uid}/").content.decode()
    verbs = {"retry", "move", "hold", "release", "allow", "reject"}
    assert {verb for verb in verbs if f'id="do-{verb}"' in html} == shown
    client.force_login(people.person("vera", "viewer"))
    html = client.get(f"/sessions/demo/pods/{uid}/").content.decode()
    assert not [verb for verb in verbs if f'id="do-{verb}"' in html]


# ---- retry to the top ----------------------------------------------------------------------------------------------


def test_what_waits_can_be_retried_and_moved_to_the_top_in_one(operator, queue):
    for verb in ("move", "retry"):
        assert b"Retry and move to the top" in operator.get(path("uid-9", verb)).content
    operator.post(path("uid-9", "retry"), {"key": "k", "to": "top"})
    command = Command.objects.get()
    assert (command.verb, command.args["to"]) == ("retry", "top")


# ---- allow and reject at Permit ------------------------------------------------------------------------------------


@pytest.fixture
def at_permit(queue):
    return PodState.objects.create(
        session=queue,
        uid="permit",
        namespace="shop",
        name="permit",
        lane="binding",
        node_name="n1",
        since=1.0,
        plugins=["Guard", "Other"],
        message="it waits at Permit for Guard, Other, 1m0s at most",
    )


def test_a_pod_at_permit_is_allowed_or_rejected(operator, at_permit):
    html = operator.get(path("permit", "allow")).content.decode()
    assert "it waits at Permit for Guard" in html
    assert "Guard only" in html
    operator.post(path("permit", "allow"), {"key": "k1", "plugin": "Guard"})
    operator.post(path("permit", "reject"), {"key": "k2", "reason": "no room"})
    first, second = Command.objects.order_by("id")
    assert (first.verb, first.args["plugin"]) == ("allow", "Guard")
    assert (second.verb, second.args["reason"]) == ("reject", "no room")


def test_what_does_not_wait_at_permit_has_nothing_to_allow(operator, queue):
    html = operator.get(path("third", "allow")).content.decode()
    assert "does not wait at Permit" in html
    assert "primary" not in html


# ---- flush ---------------------------------------------------------------------------------------------------------

FLUSH = "/sessions/demo/flush"


def waiting(session, lane, n, plugins, priority=0):
    for number in range(n):
        PodState.objects.create(
            session=session,
            uid=f"{lane}-{plugins}-{number}",
            namespace="w",
            name=f"{lane}-{priority}-{number}",
            lane=lane,
            plugins=plugins,
            priority=priority,
            rank=number,
            since=1.0,
        )


@pytest.fixture
def full(session):
    PodState.objects.filter(lane__in=["backoff", "unschedulable"]).delete()
    waiting(session, "backoff", 3, ["NodePorts"], priority=7)
    waiting(session, "unschedulable", 7, ["NodePorts"])
    waiting(session, "unschedulable", 2, ["NodeName", "NodePorts"])
    return session


@pytest.mark.parametrize(
    ("which", "limit", "found", "moved", "first"),
    [
        pytest.param("lane:backoff", "", 3, 3, "backoff-7-0", id="a lane"),
        pytest.param("lane:unschedulable", "4", 9, 4, "unschedulable-0-0", id="some of a lane"),
        pytest.param("plugin:NodePorts", "", 10, 10, "backoff-7-0", id="one plugin alone"),
        pytest.param("plugin:NodeName", "", 0, 0, None, id="not alone"),
        pytest.param("plugin:<b>", "x", 0, 0, None, id="nonsense"),
    ],
)
def test_a_flush_says_what_will_change(operator, full, which, limit, found, moved, first):
    answer = operator.get(FLUSH, {"which": which, "limit": limit, "preview": ""})
    assert answer.status_code == 200
    assert (answer.context["n_found"], answer.context["n_moved"]) == (found, moved)
    assert [row.name for row in answer.context["shown"][:1]] == ([first] if first else [])
    assert b"<b>&lt;" not in answer.content


def test_a_flush_offers_each_lane_and_each_plugin_that_refused_alone(operator, full):
    html = operator.get(FLUSH, {"which": "lane:backoff"}).content.decode()
    assert "all in Backoff: 3" in html
    assert "refused by NodePorts alone: 10" in html
    assert "NodeName alone" not in html


def test_a_flush_is_wished_and_its_result_kept_in_one_row(operator, full):
    operator.post(FLUSH, {"key": "k", "which": "plugin:NodePorts", "limit": "5"})
    command = Command.objects.get()
    assert (command.verb, command.args) == ("flush", {"plugin": "NodePorts", "limit": 5})
    after = {"moved": 2, "left": 8, "pods": ["w/a", "w/b"]}
    answer(command.pk, ok=True, message="Of 10", before={"waiting": 10}, after=after)
    audit = Audit.objects.get()
    assert (audit.action, audit.object, audit.after) == ("session.flush", "demo", after)
    html = operator.get("/audit/").content.decode()
    assert "2 tried now, 8 left" in html
    assert "<bdi>w/b</bdi>" in html


@pytest.mark.parametrize(
    "said",
    [
        {"which": ""},
        {"which": "lane:active"},
        {"which": "lane:backoff", "limit": "501"},
        {"which": "lane:backoff", "limit": "0"},
        {"which": "lane:backoff", "limit": "many"},
    ],
)
def test_a_flush_of_nothing_sensible_is_refused(operator, full, said):
    assert operator.post(FLUSH, {"key": "k", **said}).status_code == 409
    assert Audit.objects.get().outcome == "refused"
    assert not Command.objects.exists()


def test_a_viewer_flushes_nothing(viewer, full):
    assert viewer.get(FLUSH).status_code == 403
    assert viewer.post(FLUSH, {"key": "k", "which": "lane:backoff"}).status_code == 403
    assert "flush" not in viewer.get("/sessions/demo/").content.decode()
    assert Audit.objects.get().outcome == "denied"


# ---- undo ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def moved(operator, queue):
    """`third` stands at the top, by a move that is answered."""
    operator.post(path("third", "move"), {"key": "move", "to": "top"})
    command = Command.objects.get()
    before = {"lane": "active", "position": 3, "of": 3, "rank": 3.0, "moved_by": ""}
    after = before | {"position": 1, "rank": 0.0, "moved_by": "olga"}
    answer(command.pk, ok=True, message="Moved.", before=before, after=after)
    PodState.objects.filter(uid="third").update(rank=0.0, moved_by="olga")
    return command


def test_a_move_can_be_undone_from_its_result_and_from_the_audit_log(operator, moved):
    undo = f"/commands/{moved.pk}/undo"
    for page in (f"/commands/{moved.pk}/", "/audit/"):
        assert undo in operator.get(page).content.decode()
    assert b"from position 3 to 1 of 3" in operator.get(undo).content
    operator.post(undo, {"key": "undo"})
    command = Command.objects.get(verb="undo")
    assert command.args["undoes"] == moved.pk
    assert (command.args["before"]["rank"], command.args["after"]["rank"]) == (3.0, 0.0)
    assert (command.action, command.about) == ("pod.undo", "shop/third")


@pytest.mark.parametrize(
    "since",
    [
        pytest.param({"lane": "backoff"}, id="it was tried"),
        pytest.param({"rank": 2.0}, id="it was moved again, or tried and came back"),
        pytest.param({"lane": "gone"}, id="it is gone"),
    ],
)
def test_a_move_that_no_longer_stands_offers_no_undo(operator, moved, since):
    PodState.objects.filter(uid="third").update(**since)
    for page in (f"/commands/{moved.pk}/", "/audit/"):
        assert "undo" not in operator.get(page).content.decode()
    assert b"can't be undone any more" in operator.get(f"/commands/{moved.pk}/undo").content


def test_only_moves_are_undone(operator, queue):
    operator.post(path("third", "hold"), {"key": "k"})
    assert operator.get(f"/commands/{Command.objects.get().pk}/undo").status_code == 404


def test_a_refused_move_is_not_undone(operator, queue):
    operator.post(path("third", "move"), {"key": "k", "to": "top"})
    command = Command.objects.get()
    answer(command.pk, ok=False, message="No.")
    assert operator.post(f"/commands/{command.pk}/undo", {"key": "k2"}).status_code == 409


def test_a_viewer_undoes_nothing(client, moved):
    from tests.web import people

    client.force_login(people.victor())
    assert client.post(f"/commands/{moved.pk}/undo", {"key": "k"}).status_code == 403
    assert Audit.objects.filter(outcome="denied", action="pod.undo", user="victor").exists()


# ---- pods of other schedulers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["", "retry", "move", "hold", "release", "allow", "reject"])
def test_a_pod_that_the_session_does_not_schedule_has_no_page_and_no_buttons(operator, queue, verb):
    """Pods of other scheduler names are in no session's record; another session's pods are not this one's."""
    from tests.web import people

    other = people.session("other", scheduler_names=["second"])
    PodState.objects.create(
        session=other, uid="theirs", namespace="shop", name="theirs", lane="active", since=1.0
    )
    assert operator.get(path("theirs", verb)).status_code == 404
    assert operator.post(path("theirs", verb), {"key": "k"}).status_code in (404, 405)
    assert not Command.objects.exists()
