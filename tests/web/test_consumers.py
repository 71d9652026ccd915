"""The board's websocket, over the real broker."""

from __future__ import annotations

import asyncio
import json

import orjson
import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from django.contrib.auth.models import AnonymousUser
from django.urls import path

from schedviz.web import board, consumers
from schedviz.web.live import group_of
from schedviz.web.models import PodState
from tests.web import people, sample
from tests.web.test_live import frame, pod_row

pytestmark = pytest.mark.django_db(transaction=True)
ROUTES = URLRouter([path("ws/sessions/<slug:name>/board", consumers.BoardConsumer.as_asgi())])


@pytest.fixture
def session(valkey):
    board._boards.clear()
    made = people.session()
    sample.fill(made)
    return made


class Link(ApplicationCommunicator):
    """A browser's websocket. (Channels' own communicator is not importable without another server.)"""

    def __init__(self, user, query=b""):
        path = "/ws/sessions/demo/board"
        super().__init__(
            ROUTES, {"type": "websocket", "path": path, "query_string": query, "user": user}
        )

    async def connect(self):
        """(is it accepted, code)"""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(20)
        return answer["type"] == "websocket.accept", answer.get("code")

    async def say(self, text):
        await self.send_input({"type": "websocket.receive", "text": text})

    async def disconnect(self):
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(20)


def visit(user, query=b""):
    return Link(user, query)


async def texts(link, until):
    """What the browser was sent, until something is in it."""
    said = ""
    async with asyncio.timeout(20):
        while until not in said:
            message = await link.receive_output(20)
            said += message.get("text") or ""
    return said


async def leave(link):
    await link.disconnect()
    await get_channel_layer().flush()


async def test_it_works(session):
    link = visit(await database_sync_to_async(people.victor)())
    assert (await link.connect())[0]
    said = await texts(link, "pod-12")
    assert "node-0003" in said
    assert 'id="cycle"' in said
    row = pod_row(
        "u99", "active", name="brand-new", namespace="n", priority=0, attempts=0, rank=1.0
    )
    news = frame(session.seq + 1, pods=[row], counters={"cycles_per_s": 3.5})
    message = {"type": "session.frame", "frame": orjson.dumps(news)}
    await get_channel_layer().group_send(group_of(session.pk), message)
    said = await texts(link, "brand-new")
    assert "pod-12" not in said, "only what changed"
    await leave(link)


async def test_the_last_recorded_cycle_is_shown_while_nothing_happens(session):
    link = visit(await database_sync_to_async(people.victor)())
    await link.connect()
    assert "Cycle 12" in await texts(link, 'id="cycle"')
    await leave(link)


async def test_a_filter_is_obeyed(session):
    link = visit(await database_sync_to_async(people.victor)(), b"q=pod-9")
    await link.connect()
    assert "pod-11" not in await texts(link, "pod-9<")
    await link.say(json.dumps({"filter": "pod-11"}))
    await texts(link, "pod-11<")
    await leave(link)


@pytest.mark.parametrize("said", ["", "nonsense", "[1]", '{"filter": 3}'])
async def test_nonsense_from_a_browser_is_left_alone(session, said):
    link = visit(await database_sync_to_async(people.victor)())
    await link.connect()
    await texts(link, "pod-12")
    await link.say(said)
    await link.say(json.dumps({"filter": "pod-9"}))
    await texts(link, "data-order")
    await leave(link)


@pytest.mark.parametrize("who", [AnonymousUser, people.nemo])
async def test_who_may_not_look_is_sent_away(session, who):
    link = visit(await database_sync_to_async(who)())
    assert await link.connect() == (False, consumers.NOT_ALLOWED)


async def test_an_unknown_session_is_said(session):
    session.name = "other"
    await database_sync_to_async(session.save)()
    link = visit(await database_sync_to_async(people.victor)())
    assert await link.connect() == (False, consumers.NO_SESSION)


async def test_who_may_no_longer_look_is_sent_away(session, monkeypatch):
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(consumers, "REST_SECONDS", 0.0)
    user = await database_sync_to_async(people.victor)()
    link = visit(user)
    await link.connect()
    await texts(link, "pod-12")
    await database_sync_to_async(user.groups.clear)()
    async with asyncio.timeout(20):
        while (message := await link.receive_output(20))["type"] != "websocket.close":
            pass
    assert message["code"] == consumers.NOT_ALLOWED
    await leave(link)


async def test_hostile_names_are_harmless(session):
    evil = "<script>alert(1)</script>"
    await database_sync_to_async(PodState.objects.filter(uid="uid-10").update)(
        name=evil, message=evil
    )
    link = visit(await database_sync_to_async(people.victor)())
    await link.connect()
    said = await texts(link, "&lt;script&gt;")
    assert evil not in said
    await leave(link)


async def test_a_browser_that_left_meanwhile_is_no_error(session, monkeypatch, caplog):
    left = asyncio.Event()

    async def send(self, **said):
        left.set()
        raise OSError("the browser is gone")  # as uvicorn says it

    monkeypatch.setattr(consumers.BoardConsumer, "send", send)
    link = visit(await database_sync_to_async(people.victor)())
    assert (await link.connect())[0]
    async with asyncio.timeout(20):
        await left.wait()
    await leave(link)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
