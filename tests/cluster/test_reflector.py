"""The reflector against a server that fails in every way we know of: it ends up saying what the server holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import orjson
import pytest

from schedviz.cluster import reflector as module
from schedviz.cluster.client import ClusterClient
from schedviz.cluster.reflector import Reflector
from schedviz.kube.kinds import KINDS
from schedviz.scheduler.framework.steps import Change
from tests.cluster.faulty import Bell, Fault, FaultyServer, hang_up, refuse

NODES = "/api/v1/nodes"


class Follower:
    """What a scheduler would know, from nothing but the Changes."""

    def __init__(self, client: ClusterClient, bell: Bell, kind: str = "Node") -> None:
        self.objects: dict[str, str] = {}  # key: resourceVersion
        self.malformed: dict[str, str] = {}
        self.changes: list[Change] = []
        self.reflector = Reflector(client, KINDS[kind], emit=self.take)
        self._bell = bell

    def take(self, changes: list[Change]) -> None:
        for change in changes:
            self.changes.append(change)
            if change.error is not None:
                self.malformed[change.error.key] = change.error.message
                if change.is_gone:
                    del self.malformed[change.error.key]
            if change.old is not None:
                assert self.objects[change.old.key] == change.old.resource_version
            if change.new is not None:
                self.malformed.pop(change.new.key, None)
                self.objects[change.new.key] = change.new.resource_version
            elif change.old is not None and change.error is None:
                del self.objects[change.old.key]
        self._bell.ring()


def held(server: FaultyServer) -> dict[str, str]:
    metas = [one["metadata"] for one in server.objects.values()]
    return {meta["name"]: meta["resourceVersion"] for meta in metas}


@contextlib.asynccontextmanager
async def following(client: ClusterClient, server: FaultyServer) -> AsyncIterator[Follower]:
    follower = Follower(client, server.bell)
    task = asyncio.create_task(follower.reflector.run())
    try:
        yield follower
        assert not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def agree(follower: Follower, server: FaultyServer) -> None:
    await server.bell.until(lambda: follower.objects == held(server))
    store = follower.reflector.store
    keys = store.keys()
    assert {key: store.get(key).resource_version for key in keys} == held(server)


async def test_lists_in_pages_then_watches(
    client: ClusterClient, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    for n in range(8):
        server.put(f"{NODES}/n{n}")
    async with following(client, server) as follower:
        await follower.reflector.synced.wait()
        assert len(server.seen("GET")) == 3
        await agree(follower, server)
        await server.bell.until(lambda: server.watches)
        server.put(f"{NODES}/n8")
        server.put(f"{NODES}/n1", spec={"unschedulable": True})
        server.delete(f"{NODES}/n2")
        await agree(follower, server)
    assert server.lists() == 1
    assert follower.reflector.state.is_connected


async def test_a_broken_watch_goes_on_where_it_was(
    client: ClusterClient, server: FaultyServer
) -> None:
    async with following(client, server) as follower:
        for n in range(3):
            await server.bell.until(lambda: len(server.watches) == 1)
            server.put(f"{NODES}/n{n}")
            await agree(follower, server)
            server.break_watches()
            server.put(f"{NODES}/while-away-{n}")
            await server.bell.until(lambda: not server.watches)
        await agree(follower, server)
    assert server.lists() == 1


async def test_a_half_line_at_the_break_is_not_read(
    client: ClusterClient, server: FaultyServer
) -> None:
    async with following(client, server) as follower:
        await server.bell.until(lambda: server.watches)
        server.send(b'{"type":"ADDED","object":{"metadata":{"name":"half","resourceVersion":"99"')
        server.put(f"{NODES}/n1")  # glued to the half line, should that be kept
        server.send(b"")  # ends the stream in good order
        await server.bell.until(lambda: len(server.seen("GET")) >= 3)
        await agree(follower, server)
    assert "half" not in follower.objects


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(orjson.dumps(GONE), id="410 in the stream"),
        pytest.param(b"not json", id="a line that is no JSON"),
        pytest.param(b'{"type":"ADDED"}', id="a line without an object"),
        pytest.param(b'{"type":"ADDED","object":[]}', id="an object that is none"),
    ],
)
async def test_what_cannot_go_on_lists_again(
    client: ClusterClient, server: FaultyServer, line: bytes
) -> None:
    server.put(f"{NODES}/n1")
    async with following(client, server) as follower:
        await server.bell.until(lambda: server.watches)
        server.send(line + b"\n")
        await server.bell.until(lambda: server.lists() == 2)
        await agree(follower, server)


async def test_a_server_that_has_forgotten_what_we_saw_is_not_silent(
    client: ClusterClient, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WAIT_SECONDS", 1000.0)
    monkeypatch.setattr(module, "SHORT_SECONDS", 0.0)
    server.put(f"{NODES}/n1")
    async with following(client, server) as follower:
        await server.bell.until(lambda: server.watches)
        server.send(orjson.dumps(GONE) + b"\n")
        await server.bell.until(lambda: server.lists() == 2)
        await agree(follower, server)
        assert follower.reflector.state.is_connected


async def test_deletes_missed_before_a_410_are_noticed(
    client: ClusterClient, server: FaultyServer
) -> None:
    for n in range(3):
        server.put(f"{NODES}/n{n}")
    async with following(client, server) as follower:
        await agree(follower, server)
        await server.bell.until(lambda: server.watches)
        server.delete(f"{NODES}/n1")
        server.break_watches()
        server.delete(f"{NODES}/n2")
        server.put(f"{NODES}/n3")
        server.compact()
        await server.bell.until(lambda: server.lists() == 2)
        await agree(follower, server)
    gone = [change.old.key for change in follower.changes if change.new is None]
    assert sorted(gone) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(refuse(401, "Unauthorized"), "not accepted", id="credentials refused"),
        pytest.param(refuse(403, "Forbidden"), "bind the cluster role", id="not allowed"),
        pytest.param(refuse(500, "Internal"), "no: Internal", id="the server fails"),
        pytest.param(refuse(429, "Slow", Retry_After="0"), "no: Slow", id="too many requests"),
        pytest.param(hang_up, "does not answer", id="no answer"),
    ],
)
async def test_a_refusal_is_said_and_tried_again(
    client: ClusterClient, server: FaultyServer, fault: Fault, words: str
) -> None:
    server.put(f"{NODES}/n1")
    server.faults.extend([fault] * 5)
    async with following(client, server) as follower:
        state = follower.reflector.state
        await server.bell.until(lambda: state.error)
        assert words in state.error
        assert state.error.startswith("nodes: ")
        assert not state.is_connected
        assert not state.is_synced
        assert "t0" not in state.error
        await agree(follower, server)
        assert state.is_synced


async def test_a_silent_watch_is_opened_anew(
    client: ClusterClient, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.05)
    async with following(client, server) as follower:
        await server.bell.until(lambda: len(server.seen("GET")) > 4)
        server.put(f"{NODES}/n1")
        await agree(follower, server)
    assert server.lists() == 1


async def test_a_bookmark_moves_the_version_on(client: ClusterClient, server: FaultyServer) -> None:
    async with following(client, server) as follower:
        await server.bell.until(lambda: server.watches)
        bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "77"}}}
        server.send(orjson.dumps(bookmark) + b"\n")
        server.send(b"")
        await server.bell.until(lambda: len(server.seen("GET")) >= 3)
    assert server.seen("GET")[-1][2]["resourceVersion"] == "77"
    assert follower.changes == []


async def test_an_unreadable_object_does_not_stop_the_others(
    client: ClusterClient, server: FaultyServer
) -> None:
    async with following(client, server) as follower:
        await server.bell.until(lambda: server.watches)
        server.put(f"{NODES}/bad", status={"allocatable": {"cpu": "lots"}})
        server.put(f"{NODES}/good")
        await server.bell.until(lambda: "good" in follower.objects)
        assert "bad" in follower.malformed
        server.put(f"{NODES}/bad", status={"allocatable": {"cpu": "2"}})
        await agree(follower, server)
    assert follower.malformed == {}
