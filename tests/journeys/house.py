"""The whole product as a user has it: `manage.py up` in a process of its own, and what a test wants of it.

Its port is free, its data folder the test's own. It is asked over HTTP, through the Kubernetes API with the official
client, in a browser, and, for what was kept, by reading its database.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from kubernetes import client, config

from schedviz.web import embedded

ROOT = Path(__file__).parent.parent.parent
PATIENCE_SECONDS = 30.0
# How each process of `up` is known by its command line.
MARKS = {
    "valkey": "valkey-server",
    "sandbox": " sandbox ",
    "worker": "celery",
    "web": "uvicorn",
}


def wait_until(what: str, is_so: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer of `is_so`; fails with `what` in words when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        if answer := is_so():
            return answer
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


def clean_env(**more: str) -> dict[str, str]:
    """The environment without what this test run has put into it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEDVIZ_", "DJANGO_"))}
    return {**kept, **more}


class House:
    def __init__(self, data: Path, *options: str) -> None:
        self.data = data
        self.options = options
        self.port = embedded.free_port()
        self.lines: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    # ---- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when it says that it is up."""
        self.lines = []
        self.process = subprocess.Popen(
            [
                *(sys.executable, "manage.py", "up", "--no-browser"),
                *("--port", str(self.port), "--data", str(self.data), *self.options),
            ],
            cwd=ROOT,
            env=clean_env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()
        wait_until("up", lambda: self.has_said("SchedViz is up") or self.process.poll(), 60)
        assert self.process.poll() is None, "\n".join(self.lines)

    def _read(self, pipe) -> None:
        with pipe:
            for line in pipe:
                self.lines.append(line.rstrip())

    def stop(self, number: signal.Signals = signal.SIGINT, *, seconds: float = 5.0) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=seconds)
        self._reader.join()
        return code

    def end(self) -> None:
        """However the test went: nothing stays."""
        if self.process is not None and self.process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                self._reader.join()

    def has_said(self, words: str) -> bool:
        return any(words in line for line in self.lines)

    # ---- its processes -----------------------------------------------------------------------

    def children(self) -> dict[str, psutil.Process]:
        found = {}
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error):
                command = " ".join(child.cmdline())
                found |= {name: child for name, mark in MARKS.items() if mark in command}
        return found

    def kill(self, name: str) -> None:
        self.children()[name].kill()

    # ---- asking it ---------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.data / "sandbox" / "demo.kubeconfig"

    def api(self) -> client.CoreV1Api:
        """The sandbox's Kubernetes API through the official client."""
        return client.CoreV1Api(config.new_client_from_config(str(self.kubeconfig)))

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """What is kept in the database."""
        connection = sqlite3.connect(
            f"file:{self.data / 'db.sqlite3'}?mode=ro", uri=True, timeout=20
        )
        with contextlib.closing(connection):
            return connection.execute(sql, values).fetchall()


# ---- Kubernetes objects, as a user writes them -----------------------------------------------


def node(name: str, *, cpu: str = "4", memory: str = "16Gi", pods: str = "110") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, *, cpu: str = "", image: str = "luksa/kubia", **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": image, "ports": [{"containerPort": 8080}]}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }
