"""A sandbox server for a test: in a thread of this process, on a port of its own, over real HTTP.

`with running(folder) as sandbox:` gives one sandbox's kubeconfig; `call` speaks Kubernetes REST to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

from schedviz.sandbox.server import Server, serve


@dataclass
class Running:
    """url, token: the sandbox's own."""

    kubeconfig: Path
    url: str
    token: str

    def call(self, method: str, path: str, body: Any = None, **params: Any) -> requests.Response:
        form = params.pop("form", "application/json")
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": form}
        return requests.request(
            method, self.url + path, json=body, params=params, headers=headers, timeout=20
        )

    def raw(self, method: str, path: str, body: str | bytes, **params: Any) -> requests.Response:
        form = params.pop("form", "application/json")
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": form}
        return requests.request(
            method, self.url + path, data=body, params=params, headers=headers, timeout=20
        )

    def ok(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        answer = self.call(method, path, body, **params)
        assert answer.status_code < 300, answer.text
        return answer.json()


@contextlib.contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Server]:
    """The server with the sandboxes that the folder has."""
    started = threading.Event()
    state: dict[str, Any] = {}

    def ready(server: Server) -> None:
        state.update(server=server, loop=asyncio.get_running_loop())
        started.set()

    async def run() -> None:
        state["stop"] = asyncio.Event()
        await serve(folder, host="127.0.0.1", port=port, stop=state["stop"], started=ready)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield state["server"]
    finally:
        state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(10)


def make(server: Server, name: str = "test", scenario: str = "empty") -> Running:
    token = (server.data / "admin.token").read_text()
    answer = requests.put(
        f"{server.url}/sandboxes/{name}",
        json={"scenario": scenario},
        headers={"Authorization": f"Bearer {token}"},
        timeout=20,
    )
    assert answer.status_code in (200, 201), answer.text
    path = Path(answer.json()["kubeconfig"])
    config = yaml.safe_load(path.read_text())
    return Running(path, f"{server.url}/sandboxes/{name}", config["users"][0]["user"]["token"])


@contextlib.contextmanager
def running(folder: Path, name: str = "test", scenario: str = "empty") -> Iterator[Running]:
    with serving(folder) as server:
        yield make(server, name, scenario)
