"""kill -9 of the real process under load: what was acknowledged is there, and versions never go back."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.sandbox.running import Running
from tests.sandbox.speaking import PODS, pod

ROOT = Path(__file__).parents[2]
WRITERS = 8


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def process(data: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The server as `up` starts it, listening."""
    command = [sys.executable, "manage.py", "sandbox", "--port", str(port)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ
        | {"SCHEDVIZ_DATA": str(data), "DJANGO_SETTINGS_MODULE": "schedviz.settings"},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert "listening" in child.stdout.readline()
            yield child
        finally:
            child.kill()


def sandbox_of(data: Path, port: int) -> Running:
    token = (data / "sandbox" / "admin.token").read_text().strip()
    answer = requests.put(
        f"http://127.0.0.1:{port}/sandboxes/test",
        json={"scenario": "empty"},
        headers={"Authorization": f"Bearer {token}"},
        timeout=20,
    )
    path = Path(answer.json()["kubeconfig"])
    config = yaml.safe_load(path.read_text())
    user = config["users"][0]["user"]["token"]
    return Running(path, config["clusters"][0]["cluster"]["server"], user)


class Writer(threading.Thread):
    """Creates pods, binds every other one and deletes every third, until the server does not answer any more."""

    def __init__(self, sandbox: Running, name: str, enough: threading.Semaphore) -> None:
        super().__init__()
        self.sandbox, self.prefix, self.enough = sandbox, name, enough
        self.there: dict[str, tuple[int, str]] = {}
        self.gone: set[str] = set()
        self.unknown: set[str] = set()

    def run(self) -> None:
        with contextlib.suppress(requests.RequestException):
            for n in range(100_000):
                self.write(f"{self.prefix}-{n}", n)
                self.enough.release()

    def write(self, name: str, n: int) -> None:
        self.unknown.add(name)
        made = self.sandbox.ok("POST", PODS, pod(name))
        self.there[name] = (int(made["metadata"]["resourceVersion"]), "")
        self.unknown.discard(name)
        if n % 2:
            node = f"n{n}"
            body = {"metadata": {"name": name}, "target": {"name": node}}
            self.unknown.add(name)
            self.sandbox.ok("POST", f"{PODS}/{name}/binding", body)
            self.there[name] = (self.there[name][0], node)
            self.unknown.discard(name)
        if n % 3 == 0:
            self.unknown.add(name)
            self.sandbox.ok("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)
            self.unknown.discard(name)
            del self.there[name]
            self.gone.add(name)


def check(writers: list[Writer], held: dict[str, Any]) -> int:
    """The highest version that anybody was told."""
    for writer in writers:
        for name, (version, node) in writer.there.items():
            if name not in writer.unknown:
                assert name in held, f"{name} was acknowledged and is lost"
                assert int(held[name]["metadata"]["resourceVersion"]) >= version
                assert held[name]["spec"].get("nodeName", "") == node
        assert not {name for name in writer.gone if name in held}, "a delete was undone"
    return max(version for writer in writers for version, _ in writer.there.values())


@pytest.mark.parametrize("n_writes", [40, 130])
def test_no_acknowledged_write_is_lost(tmp_path: Path, n_writes: int) -> None:
    port = free_port()
    enough = threading.Semaphore(0)
    with process(tmp_path, port) as child:
        sandbox = sandbox_of(tmp_path, port)
        writers = [Writer(sandbox, f"w{n}", enough) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(n_writes):
            assert enough.acquire(timeout=30)
        child.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.join(30)
    with process(tmp_path, port):
        again = sandbox_of(tmp_path, port)
        assert again.token == sandbox.token
        listed = again.ok("GET", PODS)
        highest = check(writers, {one["metadata"]["name"]: one for one in listed["items"]})
        assert int(listed["metadata"]["resourceVersion"]) >= highest
        made = again.ok("POST", PODS, pod("afterwards"))
        assert int(made["metadata"]["resourceVersion"]) > highest


def test_it_ends_quickly_when_asked(tmp_path: Path) -> None:
    port = free_port()
    with process(tmp_path, port) as child:
        sandbox = sandbox_of(tmp_path, port)
        sandbox.ok("POST", PODS, pod("a"))
        headers = {"Authorization": f"Bearer {sandbox.token}"}
        query = {"watch": "1"}
        with requests.get(
            sandbox.url + PODS, params=query, headers=headers, stream=True, timeout=20
        ) as watch:
            assert watch.status_code == 200
            child.send_signal(signal.SIGTERM)
            assert child.wait(2) == 0
    with process(tmp_path, port):
        assert sandbox_of(tmp_path, port).ok("GET", f"{PODS}/a")["metadata"]["name"] == "a"
