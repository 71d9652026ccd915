"""The worker's end of the wire: newest state, few frames, and a broker that may die."""

from __future__ import annotations

import asyncio
import time

import orjson
import pytest
from channels.layers import get_channel_layer

from schedviz.scheduler.framework.steps import CommandResult, Lane
from schedviz.web import publishing
from schedviz.web.live import Hub, group_of
from schedviz.web.publishing import Publisher
from tests.web import people, sample

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def publisher(valkey):
    publisher = Publisher()
    yield publisher
    publisher.stop()
    assert not publisher.is_alive()


@pytest.fixture
async def frames(valkey):
    """The frames of session 7, as they come."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(group_of(7), channel)

    async def receive():
        while True:
            message = await layer.receive(channel)
            yield orjson.loads(message["frame"])

    async with asyncio.timeout(20):
        stream = receive()
        yield stream
        await stream.aclose()
    await layer.flush()


def pods(*numbers, lane=Lane.ACTIVE):
    refs = [sample.pod_ref(number) for number in numbers]
    return {ref.uid: sample.pod_view(ref, lane) for ref in refs}


async def test_a_frame_has_the_newest_state_of_what_changed(publisher, frames):
    publisher.begin(7, 4)
    made = sample.record(3, sample.pod_ref(3))
    publisher.offer(7, 5, sample.batch(pods=pods(1, 2), nodes={"n1": sample.node_view("n1")}))
    publisher.offer(
        7, 6, sample.batch(pods=pods(2, lane=Lane.BOUND), nodes={"n1": None}, cycles=[made])
    )
    publisher.offer(7, 7, sample.batch(results=[CommandResult(9, True, "moved")]))
    publisher.start()
    frame = await anext(frames)
    assert (frame["session"], frame["prev"], frame["seq"]) == (7, 4, 7)
    assert {row["uid"]: row["lane"] for row in frame["pods"]} == {
        "uid-1": "active",
        "uid-2": "bound",
    }
    assert (frame["nodes"], frame["gone_nodes"]) == ([], ["n1"])
    assert frame["results"] == [{"command": 9, "ok": True, "message": "moved"}]
    assert frame["cycle"]["number"] == 3
    assert frame["cycle"]["chosen"] == made.chosen
    publisher.offer(7, 8, sample.batch())
    frame = await anext(frames)
    assert (frame["prev"], frame["seq"], frame["cycle"]) == (7, 8, None)


async def test_frames_are_few_however_many_batches(publisher, frames):
    publisher.start()
    began = time.monotonic()
    seq, got = 0, []
    while time.monotonic() - began < 1.0:
        seq += 1
        publisher.offer(7, seq, sample.batch(pods=pods(seq % 10)))
        await asyncio.sleep(0.005)
    while not got or got[-1]["seq"] < seq:
        got.append(await anext(frames))
    assert len(got) <= publishing.FRAMES_PER_SECOND + 2


async def test_a_dead_broker_gets_the_newest_state_when_it_is_back(
    publisher, session_of_hub, valkey
):
    session, view = session_of_hub
    publisher.begin(session.pk, 0)
    publisher.start()
    await view.changes()
    publisher.offer(session.pk, 1, sample.batch(pods=pods(1)))
    while "uid-1" not in view.state.pods:
        await view.changes()
    await asyncio.to_thread(valkey.kill)
    publisher.offer(session.pk, 2, sample.batch(pods=pods(2)))
    await asyncio.sleep(0.5)
    publisher.offer(session.pk, 3, sample.batch(pods=pods(3)))
    await asyncio.to_thread(valkey.start)
    seq = 3
    while not {"uid-2", "uid-3"} <= set(view.state.pods):
        seq += 1
        publisher.offer(session.pk, seq, sample.batch(pods=pods(2, 3)))
        await asyncio.sleep(0.1)


@pytest.fixture
def session():
    return people.session()


@pytest.fixture
async def session_of_hub(valkey, session):
    view = Hub().subscribe(session.pk)
    async with asyncio.timeout(20):
        yield session, view
    await view.close()
    await get_channel_layer().flush()


async def test_a_change_of_state_is_told(publisher, frames):
    publisher.begin(7, 3)
    publisher.offer_state(7, "failed", "no such file", 12.0)
    publisher.start()
    frame = await anext(frames)
    assert (frame["state"], frame["state_message"]) == ("failed", "no such file")
    assert (frame["seq"], frame["pods"]) == (3, [])


async def test_what_is_pending_is_sent_at_the_end(publisher, frames):
    publisher.start()
    publisher.offer(7, 1, sample.batch(pods=pods(1)))
    await asyncio.to_thread(publisher.stop)
    assert (await anext(frames))["seq"] == 1


def test_stopping_without_a_broker_takes_no_time(publisher, valkey):
    publisher.start()
    valkey.kill()
    publisher.offer(7, 1, sample.batch(pods=pods(1)))
    began = time.monotonic()
    publisher.stop()
    assert time.monotonic() - began < 1.0
