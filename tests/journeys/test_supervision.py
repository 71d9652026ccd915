"""Starting, stopping and starting again, as a person at a terminal does it."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from schedviz.web.embedded import free_port
from tests.journeys.house import ROOT, House, clean_env, node, pod, wait_until


def test_ctrl_c_leaves_no_process_and_the_next_start_keeps_all(folder):
    house = House(folder, "--scenario", "empty")
    try:
        house.start()
        house.api().create_node(node("ceph1"))
        house.api().create_namespaced_pod("default", pod("kubia"))
        wait_until(
            "kubia is bound",
            lambda: house.api().read_namespaced_pod("kubia", "default").spec.node_name,
        )
        wait_until("its cycle is kept", lambda: house.rows("select number from web_cycle"))
        children = list(house.children().values())
        assert len(children) == 4
        assert house.stop() == 0
        assert not [child for child in children if child.is_running()]
        cycles = house.rows("select number, node_name from web_cycle")

        house.start()
        assert house.api().read_namespaced_pod("kubia", "default").spec.node_name == "ceph1"
        assert house.rows("select number, node_name from web_cycle") == cycles
        house.api().create_namespaced_pod("default", pod("kubia-2"))
        wait_until(
            "a second pod is scheduled, and its cycle counted on",
            lambda: house.rows(
                "select 1 from web_cycle where pod_name = 'kubia-2' and number > ?", cycles[-1][0]
            ),
        )

        second = run_up("--data", str(folder), "--port", str(free_port()))
        assert second.returncode == 1
        assert "is running on" in second.stdout

        busy = run_up("--data", str(folder / "other"), "--port", str(house.port))
        assert busy.returncode == 1
        assert f"port {house.port} is in use" in busy.stdout

        children = list(house.children().values())
        house.process.kill()
        _gone, alive = psutil.wait_procs(children, timeout=5)
        assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
    finally:
        house.end()
        print("\n".join(house.lines))


def up(*options: str) -> list[str]:
    return [sys.executable, "manage.py", "up", "--no-browser", *options]


def run_up(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        up(*options),
        cwd=ROOT,
        env=clean_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_while_starting(folder, number):
    process = subprocess.Popen(
        up("--port", str(free_port()), "--data", str(folder / number.name), "--scenario", "empty"),
        cwd=ROOT,
        env=clean_env(),
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        for line in process.stdout:
            if "database is ready" in line:
                break
        children = psutil.Process(process.pid).children()
        process.send_signal(number)
        process.stdout.read()
        assert process.wait(timeout=5) == 0
    assert children
    assert not [child for child in children if child.is_running()]
