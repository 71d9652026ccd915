"""The web process's end of the wire: a snapshot, then frames; gaps and silence are noticed."""

from __future__ import annotations

import asyncio
import contextlib
import time

import orjson
import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from schedviz.web import live, readers
from schedviz.web.live import BoardState, Hub, group_of
from schedviz.web.models import NodeState, PodState, Session
from tests.web import people

pytestmark = pytest.mark.django_db(transaction=True)


def pod_row(uid, lane="active", **fields):
    row = dict.fromkeys(readers.POD_FIELDS, "")
    return row | {"uid": uid, "name": uid, "lane": lane, "since": 1.0} | fields


def frame(seq, prev=None, **fields):
    blank = {"pods": [], "nodes": [], "gone_nodes": [], "counters": {}, "cycle": None}
    head = {"seq": seq, "prev": seq - 1 if prev is None else prev, "at": 1.0, "results": []}
    return blank | head | fields


async def change(session, **fields):
    await database_sync_to_async(Session.objects.filter(pk=session.pk).update)(**fields)


async def send(session, *frames):
    for each in frames:
        message = {"type": "session.frame", "frame": orjson.dumps(each)}
        await get_channel_layer().group_send(group_of(session.pk), message)


@pytest.fixture
def session():
    session = people.session(seq=10)
    PodState.objects.create(
        session=session, uid="u1", namespace="a", name="p1", lane="active", since=1.0
    )
    NodeState.objects.create(session=session, name="n1")
    return session


@pytest.fixture
async def view(valkey, session):
    subscription = Hub().subscribe(session.pk)
    async with asyncio.timeout(20):
        yield subscription
    await subscription.close()
    await get_channel_layer().flush()


async def test_it_works(view, session):
    changes = await view.changes()
    assert changes.reset
    assert view.state.seq == 10
    assert list(view.state.pods) == ["u1"]
    assert list(view.state.nodes) == ["n1"]
    await send(session, frame(11, pods=[pod_row("u2")], counters={"active": 2}))
    changes = await view.changes()
    assert (changes.reset, changes.pods, view.state.seq) == (False, {"u2"}, 11)
    assert view.state.counters == {"active": 2}
    assert view.state.is_live


async def test_what_a_slow_view_missed_is_folded_together(view, session):
    await view.changes()
    other = view._feed.join()
    await other.changes()
    for seq in (11, 12, 13):
        await send(session, frame(seq, pods=[pod_row(f"u{seq}")]))
    while view.state.seq < 13:
        await other.changes()
    assert (await view.changes()).pods == {"u11", "u12", "u13"}


async def test_a_gap_brings_the_snapshot_again(view, session):
    await view.changes()
    row = {"session": session, "uid": "u7", "namespace": "a", "name": "p7", "lane": "gated"}
    await database_sync_to_async(PodState.objects.create)(**row, since=1.0)
    await change(session, seq=15)
    await send(session, frame(16, prev=15, pods=[pod_row("u8")]))
    changes = await view.changes()
    assert changes.reset
    assert set(view.state.pods) == {"u1", "u7", "u8"}
    assert view.state.seq == 16


async def test_a_frame_older_than_the_snapshot_changes_no_row(view, session):
    await view.changes()
    results = [{"command": 1, "ok": True, "message": ""}]
    await send(session, frame(9, pods=[pod_row("u1", "gone")], results=results))
    changes = await view.changes()
    assert changes.results == results
    assert set(view.state.pods) == {"u1"}
    assert view.state.seq == 10


async def test_silence_is_stale_and_a_frame_is_live_again(view, session, monkeypatch):
    monkeypatch.setattr(live, "STALE_SECONDS", 0.2)
    await view.changes()
    await send(session, frame(11))
    await view.changes()
    assert view.state.is_live
    while view.state.is_live:
        await view.changes()
    await send(session, frame(12))
    while not view.state.is_live:
        await view.changes()


async def test_a_board_that_opens_on_a_fresh_snapshot_is_live_at_once(valkey, session):
    await change(session, heartbeat_at=time.time())
    view = Hub().subscribe(session.pk)
    async with asyncio.timeout(20):
        await view.changes()
    assert view.state.is_live
    await view.close()


async def test_a_board_that_opens_on_an_old_snapshot_is_stale(view, session):
    await view.changes()
    assert not view.state.is_live


async def test_while_stale_the_database_is_looked_at(view, session, monkeypatch):
    monkeypatch.setattr(live, "STALE_SECONDS", 0.2)
    monkeypatch.setattr(live, "RESYNC_SECONDS", 0.2)
    await view.changes()
    await change(session, state="stopped", state_message="Done.")
    while view.state.state != "stopped":
        await view.changes()
    assert view.state.state_message == "Done."


async def test_the_broker_dies_and_comes_back(view, session, valkey):
    await view.changes()
    await send(session, frame(11))
    await view.changes()
    await asyncio.to_thread(valkey.kill)
    await asyncio.to_thread(valkey.start)
    seq = 11
    while view.state.seq < 13 or not view.state.is_live:
        seq += 1
        with contextlib.suppress(*live.BROKER_ERRORS):
            await send(session, frame(seq, prev=11))
        await asyncio.sleep(0.05)
    assert view.state.is_live


async def test_a_view_that_comes_before_the_broker_gets_the_snapshot(session, valkey):
    valkey.kill()
    view = Hub().subscribe(session.pk)
    try:
        async with asyncio.timeout(20):
            changes = await view.changes()
        assert changes.reset
        assert not view.state.is_live
        assert set(view.state.pods) == {"u1"}
    finally:
        await view.close()


async def test_the_last_view_ends_the_feed(valkey, session):
    hub = Hub()
    one, two = hub.subscribe(session.pk), hub.subscribe(session.pk)
    assert one._feed is two._feed
    await one.close()
    assert hub._feeds
    await two.close()
    assert not hub._feeds
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("feed")]


@pytest.mark.parametrize("seconds", [0, 0.002, 0.004, 0.006, 0.01])
async def test_a_view_that_leaves_while_the_snapshot_is_read_leaves_nothing(
    valkey, session, seconds
):
    hub = Hub()
    async with asyncio.timeout(20):
        for _ in range(5):
            view = hub.subscribe(session.pk)
            await asyncio.sleep(seconds)
            await view.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("feed")]
    await get_channel_layer().flush()


def test_bound_pods_are_shown_lately_only():
    state = BoardState(1)
    bound = [pod_row(f"u{i}", "bound", since=float(i)) for i in range(readers.BOUND_LATELY)]
    state.load({"seq": 1, "at": 1.0, "pods": bound, "nodes": [], "counters": {}, "cycle": None})
    dropped = state.apply(frame(2, pods=[pod_row("new", "bound", since=99.0)]))
    assert dropped == {"u0"}
    assert len(state.pods) == readers.BOUND_LATELY
    state.apply(frame(3, pods=[pod_row("new", "gone")]))
    assert "new" not in state.pods


async def test_changes_say_from_where_to_where(view, session):
    first = await view.changes()
    await send(session, frame(11, pods=[pod_row("u2")]))
    second = await view.changes()
    assert second.since == first.until < second.until == view.state.revision
    assert view._feed.join()._changes.since == second.until
