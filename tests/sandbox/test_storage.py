"""The storage: what watchers hear adds up to what is kept, also after a kill and with a disk that says no."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Database, Event, Object, Storage

KEYS = ("ns/a", "ns/b", "ns/c")


DATABASES: list[Database] = []


def opened(folder: Path, name: str = "one") -> Storage:
    DATABASES.append(Database(folder / "sandboxes.sqlite3"))
    return Storage(DATABASES[-1], name)


def close_databases() -> None:
    while DATABASES:
        DATABASES.pop().close()


@pytest.fixture(autouse=True)
def all_are_closed() -> Iterator[None]:
    yield
    close_databases()


def put(storage: Storage, key: str, **more: str) -> Object:
    return storage.put("Pod", key, {"metadata": {"name": key}, **more})


def kept(storage: Storage) -> dict[str, Object]:
    return dict(storage.items("Pod"))


class Mirror:
    """A watcher's picture of the pods."""

    def __init__(self) -> None:
        self.pods: dict[str, Object] = {}
        self.version = 0

    def hear(self, event: Event | None) -> None:
        assert event is not None
        assert event.version > self.version, "in order, and none twice"
        self.version = event.version
        key = event.object["metadata"]["name"]
        assert (key in self.pods) is (event.type != "ADDED")
        if event.type == "DELETED":
            del self.pods[key]
        else:
            self.pods[key] = event.object


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(KEYS)),
        st.tuples(st.just("remove"), st.sampled_from(KEYS)),
        st.tuples(st.sampled_from(["settle", "join", "flush", "reopen"]), st.just("")),
    ),
    max_size=30,
)


@given(steps=STEPS)
def test_every_watcher_sees_what_is_kept(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    """`join`: another watcher goes on from the version of a list. `reopen`: the server is killed and comes again; its
    event loop dies with it, and what waited in it."""
    folder = tmp_path_factory.mktemp("storage")
    acknowledged: dict[str, Object] = {}
    highest = 0
    try:
        for life in _lives(steps):
            acknowledged, highest = asyncio.run(_live(folder, life, acknowledged, highest))
    finally:
        close_databases()


def _lives(steps: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    lives: list[list[tuple[str, str]]] = [[]]
    for step in steps:
        if step[0] == "reopen":
            lives.append([])
        else:
            lives[-1].append(step)
    lives[-1].append(("settle", ""))
    return lives


async def _live(
    folder: Path, steps: list[tuple[str, str]], before: dict[str, Object], highest: int
) -> tuple[dict[str, Object], int]:
    """From the opening to the kill: what its watchers had heard of, and the highest version."""
    storage = opened(folder)
    assert kept(storage) == before
    mirrors = [_joined(storage)]
    for what, key in steps:
        if what == "put":
            put(storage, key)
        elif what == "remove" and storage.get("Pod", key) is not None:
            storage.remove("Pod", key)
        elif what == "join":
            mirrors.append(_joined(storage))
        elif what == "settle":
            await storage.settled()
            assert all(mirror.pods == kept(storage) for mirror in mirrors)
        elif what == "flush":
            storage.flush()
        assert storage.version >= highest
        highest = storage.version
    return mirrors[0].pods, highest


def _joined(storage: Storage) -> Mirror:
    """List, and watch from there; with a look at the events missed, as a client that was away has."""
    storage.flush()
    mirror = Mirror()
    mirror.pods, mirror.version = kept(storage), storage.version
    assert storage.since(storage.version) == []
    storage.listen(mirror.hear)
    return mirror


async def test_writes_of_one_turn_share_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    whole = Database.write
    monkeypatch.setattr(Database, "write", lambda *a: (commits.append(len(a[4])), whole(*a))[1])
    storage = opened(tmp_path)
    for number in range(50):
        put(storage, f"ns/{number}")
    await storage.settled()
    assert commits == [0, 50]


async def test_an_event_is_written_out_once(tmp_path: Path) -> None:
    storage, lines = opened(tmp_path), []
    for _ in range(3):
        storage.listen(lambda event: lines.append(event.line))
    put(storage, "ns/a")
    await storage.settled()
    assert len(lines) == 3
    assert lines[0] is lines[1] is lines[2]


async def test_a_disk_that_says_no_is_heard_of_and_the_write_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, heard = opened(tmp_path), asyncio.Event()
    storage.listen(lambda event: heard.set())
    whole = Database.write

    def full(*args: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Database, "write", full)
    put(storage, "ns/a")
    with pytest.raises(sqlite3.OperationalError):
        await storage.settled()
    assert not heard.is_set(), "what is not durable is not told"
    monkeypatch.setattr(Database, "write", whole)
    await asyncio.wait_for(heard.wait(), 10)
    assert kept(opened(tmp_path)) == kept(storage)


async def test_a_closed_storage_takes_no_more(tmp_path: Path) -> None:
    storage, heard = opened(tmp_path), []
    storage.listen(heard.append)
    put(storage, "ns/a")
    storage.close()
    assert [event and event.type for event in heard] == ["ADDED", None]
    with pytest.raises(ApiError):
        put(storage, "ns/b")


async def test_versions_before_a_restart_are_too_old(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    put(storage, "ns/a")
    before = storage.version
    await storage.settled()
    again = opened(tmp_path)
    with pytest.raises(ApiError) as refused:
        again.since(before)
    assert refused.value.code == 410
