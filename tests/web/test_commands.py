"""Sessions and first users from the command line."""

from __future__ import annotations

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from schedviz.web.models import Audit, Cluster, Session
from tests.web import people

pytestmark = pytest.mark.django_db


def run(*args, **options):
    out = io.StringIO()
    call_command(*args, stdout=out, **options)
    return out.getvalue()


def test_create_start_stop_and_list():
    run("session", "create", "prod", "--kubeconfig", "/etc/kubeconfig", "--context", "blue")
    assert Cluster.objects.get().context == "blue"
    assert run("session", "list").split("\t")[:4] == ["prod", "stopped", "prod", "schedviz"]
    run("session", "start", "prod")
    assert run("session", "list").split("\t")[1] == "waiting"
    run("session", "stop", "prod")
    assert Session.objects.get().desired == "stopped"
    assert set(Audit.objects.values_list("user", flat=True)) == {"manage.py"}


def test_a_second_session_on_a_known_cluster():
    run("session", "create", "one", "--kubeconfig", "/etc/kubeconfig")
    run("session", "create", "two", "--cluster", "one", "--scheduler-name", "mine")
    assert Session.objects.get(name="two").scheduler_names == ["mine"]
    assert Cluster.objects.count() == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(("start", "nobody"), "there is no session 'nobody'", id="no such session"),
        pytest.param(("create", "x"), "give --kubeconfig", id="no cluster"),
        pytest.param(("create", "x", "--kubeconfig", "rel"), "relative", id="a relative path"),
        pytest.param(("create", "demo", "--cluster", "box"), "already exists", id="taken"),
    ],
)
def test_what_cannot_be_is_one_line(args, words):
    people.session()
    with pytest.raises(CommandError, match=words):
        run("session", *args)


def test_the_demo_is_made_once():
    for path in ("/a/demo.kubeconfig", "/b/demo.kubeconfig"):
        run("bootstrap_demo", kubeconfig=path)
    session = Session.objects.get()
    assert (session.name, session.desired) == ("demo", "running")
    assert session.scheduler_names == ["default-scheduler"]
    assert Cluster.objects.get().kubeconfig_path == "/b/demo.kubeconfig"
    assert [user.username for user in User.objects.all()] == ["demo"]


def test_a_demo_that_was_stopped_stays_stopped():
    run("bootstrap_demo", kubeconfig="/a/demo.kubeconfig")
    run("session", "stop", "demo")
    run("bootstrap_demo", kubeconfig="/a/demo.kubeconfig")
    assert Session.objects.get().desired == "stopped"


def test_a_real_cluster_gets_no_demo_user():
    run("bootstrap_demo", kubeconfig="/a/kubeconfig", name="prod", cluster_kind="kubeconfig")
    assert not User.objects.exists()
    assert Session.objects.get().scheduler_names == ["schedviz"]


def test_the_first_admin_is_printed_once():
    assert "one-time password" in run("first_admin")
    User.objects.create_superuser("root")
    assert run("first_admin") == ""


def test_a_first_admin_cannot_take_a_users_name():
    people.person("admin", "viewer")
    with pytest.raises(CommandError, match="choose another --name"):
        run("first_admin")
