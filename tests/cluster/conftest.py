from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from schedviz.cluster import effects, reflector
from schedviz.cluster.client import ClusterClient
from tests.cluster.faulty import FaultyServer


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with FaultyServer() as one:
        yield one


@pytest.fixture
async def client(server: FaultyServer, tmp_path: Path) -> AsyncIterator[ClusterClient]:
    async with ClusterClient.from_kubeconfig(server.kubeconfig(tmp_path)) as one:
        yield one


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits as short as a test wants them."""
    monkeypatch.setattr(reflector, "FIRST_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(reflector, "LONGEST_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(effects, "FIRST_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(effects, "LONGEST_WAIT_SECONDS", 0.05)
