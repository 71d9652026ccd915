"""What `manage.py up` decides before it starts anything."""

from __future__ import annotations

import io
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.core.management import call_command

from schedviz.web import embedded
from schedviz.web.embedded import CannotStart
from schedviz.web.management.commands.up import make_plan

KUBECONFIG = "{current-context: blue, contexts: [{name: blue}]}"


@pytest.fixture
def data(tmp_path: Path, settings) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def planned(data, monkeypatch):
    """The plan for these options; what it holds is given back after the test."""
    monkeypatch.delenv("SCHEDVIZ_REDIS_URL", raising=False)
    with ExitStack() as stack:

        def plan(**options):
            defaults = {
                "host": "127.0.0.1",
                "port": embedded.free_port(),
                "scenario": "steady",
                "config": "",
                "kubeconfig": "",
                "context": "",
            }
            return make_plan(stack, defaults | options)

        yield plan


def names(programs) -> list[str]:
    return [program.name for program in programs]


def test_demo_starts_a_sandbox_and_lets_visitors_in(planned, data):
    plan = planned()
    assert names(plan.store_and_cluster()) == ["valkey", "sandbox"]
    assert names(plan.worker_and_web()) == ["worker", "web"]
    assert plan.env()["SCHEDVIZ_DEMO"] == "1"
    assert plan.env()["SCHEDVIZ_REDIS_URL"] == f"unix://{data}/valkey.sock"


def test_real_cluster_starts_no_sandbox_and_wants_a_login(planned, data):
    (data / "config").write_text(KUBECONFIG)
    plan = planned(kubeconfig=str(data / "config"))
    assert plan.context == "blue"
    assert names(plan.store_and_cluster()) == ["valkey"]
    assert plan.env()["SCHEDVIZ_DEMO"] == "0"


def test_redis_of_ones_own_is_used(planned, monkeypatch):
    monkeypatch.setenv("SCHEDVIZ_REDIS_URL", "redis://127.0.0.1:6379/0")
    plan = planned()
    assert names(plan.store_and_cluster()) == ["sandbox"]
    assert "SCHEDVIZ_REDIS_URL" not in plan.env()


def test_listening_for_others_wants_a_login(planned, settings):
    settings.PUBLIC_HOSTS = ["board.example.org"]
    plan = planned(host="0.0.0.0")
    assert plan.env()["SCHEDVIZ_DEMO"] == "0"
    assert plan.url.startswith("http://127.0.0.1:")


def test_listening_for_others_without_their_names_is_refused(planned, settings):
    settings.PUBLIC_HOSTS = []
    with pytest.raises(CannotStart, match="set SCHEDVIZ_ALLOWED_HOSTS"):
        planned(host="0.0.0.0")


def test_next_start_has_the_same_sandbox_port(planned, data):
    port = planned().sandbox_port
    assert embedded.kept_port(data / "sandbox" / "port") == port


def test_obstacle_is_one_line_and_an_exit_code(data):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        err = io.StringIO()
        with pytest.raises(SystemExit) as ending:
            call_command("up", port=port, no_browser=True, stderr=err)
    assert ending.value.code == 1
    assert err.getvalue().count(os.linesep) == 1
    assert err.getvalue().startswith(f"schedviz: port {port} is in use")
