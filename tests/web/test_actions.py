"""What people ask for: checked, audited, done once."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied

from schedviz.web import actions
from schedviz.web.actions import Refused
from schedviz.web.models import Audit, Cluster, Command, Lease, PodState
from schedviz.web.permissions import Shell
from tests.web import people

pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    return people.session()


@pytest.fixture
def pod(session):
    return PodState.objects.create(
        session=session, uid="u1", namespace="team", name="kubia", lane="backoff", since=1.0
    )


def test_start_says_what_people_want_and_leaves_a_trace(session):
    session.desired = "stopped"
    session.save()
    actions.session_start(people.olga(), session)
    session.refresh_from_db()
    assert session.desired == "running"
    audit = Audit.objects.get()
    assert (audit.user, audit.action, audit.object) == ("olga", "session.start", "demo")
    assert audit.before == {"desired": "stopped", "state": "running"}
    assert audit.after == {"desired": "running"}


def test_a_viewer_stops_nothing_and_the_try_is_kept(session):
    with pytest.raises(PermissionDenied):
        actions.session_stop(people.victor(), session)
    session.refresh_from_db()
    assert session.desired == "running"
    assert Audit.objects.get().outcome == "denied"


def test_retry_becomes_a_command(session, pod):
    command = actions.pod_retry(people.olga(), session, "u1", key="k1")
    assert (command.verb, command.args) == ("retry", {"uid": "u1", "pod": "team/kubia"})
    assert command.ok is None


def test_the_same_wish_twice_is_one_command(session, pod):
    olga = people.olga()
    first = actions.pod_move(olga, session, "u1", to="top", key="k1")
    assert actions.pod_move(olga, session, "u1", to="top", key="k1") == first
    assert Command.objects.count() == 1


def test_a_key_is_good_for_one_wish(session, pod):
    olga = people.olga()
    actions.pod_move(olga, session, "u1", to="top", key="k1")
    with pytest.raises(Refused, match="load the page again"):
        actions.pod_move(olga, session, "u1", to="bottom", key="k1")


@pytest.mark.parametrize(
    ("to", "kept"),
    [
        pytest.param("top", "top", id="top"),
        pytest.param("bottom", "bottom", id="bottom"),
        pytest.param("3", 3, id="a place as a form sends it"),
        pytest.param(1, 1, id="the first place"),
    ],
)
def test_places(session, pod, to, kept):
    assert actions.pod_move(people.olga(), session, "u1", to=to, key="k").args["to"] == kept


@pytest.mark.parametrize("to", ["", "0", "-1", "2.5", "up", "٣", "9" * 30, "9" * 5000])
def test_no_place(session, pod, to):
    with pytest.raises(Refused, match="no place"):
        actions.pod_move(people.olga(), session, "u1", to=to, key="k")


def test_an_unknown_pod_is_said(session):
    with pytest.raises(Refused, match="no such pod"):
        actions.pod_retry(people.olga(), session, "u9", key="k")


def test_a_stopped_session_takes_no_commands(session, pod):
    session.state = "stopped"
    session.save()
    with pytest.raises(Refused, match="session demo is stopped"):
        actions.pod_retry(people.olga(), session, "u1", key="k")


@pytest.mark.parametrize("key", ["", "x" * 65])
def test_a_wish_without_a_usable_key_is_refused(session, pod, key):
    with pytest.raises(Refused, match="key"):
        actions.pod_retry(people.olga(), session, "u1", key=key)


@pytest.mark.parametrize(
    ("ask", "on"),
    [
        pytest.param(
            lambda by, session: actions.pod_move(by, session, "u1", to="up", key="k"),
            "team/kubia",
            id="no place",
        ),
        pytest.param(
            lambda by, session: actions.pod_retry(by, session, "u\0", key="k"),
            "u\ufffd",
            id="no such pod",
        ),
        pytest.param(
            lambda by, session: actions.session_pause(by, session, reason=" ", key="k"),
            "demo",
            id="no reason",
        ),
        pytest.param(
            lambda by, session: actions.session_resume(by, session, key=""), "demo", id="no key"
        ),
    ],
)
def test_what_is_refused_leaves_a_trace(session, pod, ask, on):
    with pytest.raises(Refused) as refused:
        ask(people.olga(), session)
    audit = Audit.objects.get()
    assert (audit.outcome, audit.object, audit.message) == ("refused", on, str(refused.value))


def test_a_viewer_moves_nothing(session, pod):
    with pytest.raises(PermissionDenied):
        actions.pod_move(people.victor(), session, "u1", to="top", key="k")
    assert not Command.objects.exists()


@pytest.mark.parametrize(
    ("in_sandbox", "names"),
    [
        pytest.param(True, ["default-scheduler"], id="all pods of a sandbox"),
        pytest.param(False, ["schedviz"], id="on a cluster only those that ask for it"),
    ],
)
def test_a_new_session_schedules(in_sandbox, names):
    cluster = actions.cluster_add(
        Shell(), "c1", kubeconfig_path="/etc/kubeconfig", sandbox=in_sandbox
    )
    session = actions.session_create(people.alice(), "s1", cluster=cluster)
    assert session.scheduler_names == names
    assert session.desired == "stopped"
    assert Lease.objects.filter(session=session, fence=0).exists()
    assert list(Audit.objects.values_list("action", flat=True)) == ["cluster.add", "session.create"]


@pytest.mark.parametrize(
    ("name", "scheduler_names", "words"),
    [
        pytest.param("demo", ["a"], "already exists", id="a name that is taken"),
        pytest.param("no good", ["a"], "name:", id="a name that is no slug"),
        pytest.param("s1", ["Bad_Name"], "no scheduler name", id="a scheduler name that is none"),
    ],
)
def test_a_session_that_cannot_be(session, name, scheduler_names, words):
    with pytest.raises(Refused, match=words):
        actions.session_create(
            people.alice(), name, cluster=session.cluster, scheduler_names=scheduler_names
        )


def test_a_kubeconfig_is_named_in_full():
    with pytest.raises(Refused, match="relative"):
        actions.cluster_add(people.alice(), "c1", kubeconfig_path="kubeconfig")
    assert not Cluster.objects.exists()


def test_an_operator_adds_no_cluster():
    with pytest.raises(PermissionDenied):
        actions.cluster_add(people.olga(), "c1", kubeconfig_path="/etc/kubeconfig")


def test_a_pause_becomes_a_command_about_the_session(session):
    olga = people.olga()
    command = actions.session_pause(olga, session, reason=" upgrade ", seconds=300, key="k")
    assert (command.action, command.about) == ("session.pause", "demo")
    assert command.args == {"reason": "upgrade", "seconds": 300}
    assert actions.session_resume(olga, session, key="k2").action == "session.resume"


@pytest.mark.parametrize(
    ("reason", "seconds", "words"),
    [
        pytest.param(" ", None, "say why", id="without a reason"),
        pytest.param("x", 0, "more than 0", id="no time at all"),
        pytest.param("x", 1e9, "at most", id="for years"),
    ],
)
def test_a_pause_that_cannot_be(session, reason, seconds, words):
    with pytest.raises(Refused, match=words):
        actions.session_pause(people.olga(), session, reason=reason, seconds=seconds, key="k")


def test_a_viewer_pauses_nothing(session):
    victor = people.victor()
    with pytest.raises(PermissionDenied):
        actions.session_pause(victor, session, reason="x", key="k")
    with pytest.raises(PermissionDenied):
        actions.session_resume(victor, session, key="k")
    assert not Command.objects.exists()
