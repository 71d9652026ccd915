"""The web process's end of the live wire: one Hub a process, one Feed a session, any number of Subscriptions.

A Feed listens to the session's channel group, reads the database once for a snapshot, and applies each frame to one
shared BoardState. A Subscription only remembers which rows changed since it last asked: a slow browser costs a set of
names, never a queue of frames. Used by `consumers`; the other end is `publishing`.

    no frame for STALE_SECONDS -> stale -> (a frame) live          a frame that does not join on -> the snapshot again
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import DatabaseError
from redis.exceptions import RedisError

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import readers

if TYPE_CHECKING:
    from collections.abc import Iterable

log = logging.getLogger(__name__)

STALE_SECONDS = 3.0
RESYNC_SECONDS = 5.0  # while stale: how often the database is asked whether it knows more
RETRY_SECONDS = 0.5  # between tries to reach the broker
CANCEL_SECONDS = 0.2  # between two cancellations of the same task
BROKER_ERRORS = (OSError, RedisError)
Frame = dict[str, Any]


def group_of(session_id: int) -> str:
    return f"session.{session_id}"


@dataclass(slots=True)
class BoardState:
    """The newest known state of a session, rows as the wire's dicts. Shared by all views of the process: read only."""

    session_id: int
    seq: int = -1
    at: float = 0.0
    state: str = ""
    state_message: str = ""
    counters: dict[str, Any] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    cycle: dict[str, Any] | None = None
    is_live: bool = False
    received_at: float = 0.0
    """When the last frame came, on this machine's wall clock."""
    revision: int = 0
    """Grows with each snapshot and frame taken in, by which who shares work knows what it has seen."""
    _bound: dict[str, None] = field(default_factory=dict)  # bound pods kept, oldest first

    def load(self, snapshot: Frame) -> None:
        self.revision += 1
        self.seq, self.at = snapshot["seq"], snapshot["at"]
        self.pods = {row["uid"]: row for row in snapshot["pods"]}
        bound = [row for row in snapshot["pods"] if row["lane"] == Lane.BOUND]
        self._bound = {row["uid"]: None for row in sorted(bound, key=lambda row: row["since"])}
        self.nodes = {row["name"]: row for row in snapshot["nodes"]}
        self._take_head(snapshot)

    def apply(self, frame: Frame) -> set[str]:
        """Takes the frame over; returns the uids of pods that are no longer shown because newer ones are."""
        self.revision += 1
        self.seq, self.at = frame["seq"], frame["at"]
        for row in frame["pods"]:
            self._take_pod(row)
        for row in frame["nodes"]:
            self.nodes[row["name"]] = row
        for name in frame["gone_nodes"]:
            self.nodes.pop(name, None)
        self._take_head(frame)
        return self._drop_old_bound()

    def _take_pod(self, row: dict[str, Any]) -> None:
        uid = row["uid"]
        self._bound.pop(uid, None)
        if row["lane"] == Lane.GONE:
            self.pods.pop(uid, None)
            return
        self.pods[uid] = row
        if row["lane"] == Lane.BOUND:
            self._bound[uid] = None

    def _drop_old_bound(self) -> set[str]:
        dropped = set()
        while len(self._bound) > readers.BOUND_LATELY:
            uid = next(iter(self._bound))
            del self._bound[uid], self.pods[uid]
            dropped.add(uid)
        return dropped

    def _take_head(self, frame: Frame) -> None:
        self.counters = frame["counters"] or self.counters
        self.state = frame.get("state") or self.state
        self.state_message = frame.get("state_message", self.state_message)
        self.cycle = frame["cycle"] or self.cycle


@dataclass(slots=True)
class Changes:
    """What is new in the BoardState since the subscription last asked: all of its revisions after `since`, up to
    `until`. `reset`: draw everything anew."""

    reset: bool = False
    since: int = 0
    until: int = 0
    pods: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    cycle: bool = False
    results: list[dict[str, Any]] = field(default_factory=list)

    def add(self, frame: Frame, dropped: Iterable[str] = ()) -> None:
        self.pods.update(row["uid"] for row in frame["pods"])
        self.pods.update(dropped)
        self.nodes.update(row["name"] for row in frame["nodes"])
        self.nodes.update(frame["gone_nodes"])
        self.cycle = self.cycle or bool(frame["cycle"])
        self.results = [*self.results, *frame["results"]][-100:]


class Subscription:
    """One view's place at a Feed. `changes()` waits for news; what happens meanwhile is folded together."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._news = asyncio.Event()
        self._changes = Changes(reset=True, since=feed.state.revision)
        if feed.ready:
            self._news.set()

    @property
    def state(self) -> BoardState:
        return self._feed.state

    async def changes(self) -> Changes:
        await self._news.wait()
        self._news.clear()
        now = self.state.revision
        taken, self._changes = self._changes, Changes(since=now)
        taken.until = now
        return taken

    def note(self, frame: Frame, dropped: Iterable[str]) -> None:
        self._changes.add(frame, dropped)
        self._news.set()

    def wake(self, *, reset: bool = False) -> None:
        if reset:
            now = self.state.revision
            self._changes = Changes(reset=True, since=now, results=self._changes.results)
        self._news.set()

    async def close(self) -> None:
        await self._feed.leave(self)


class Feed:
    """A session's live state in this process, as long as somebody looks."""

    def __init__(self, hub: Hub, session_id: int) -> None:
        self._hub = hub
        self._views: set[Subscription] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self.state = BoardState(session_id)
        self.ready = False

    def join(self) -> Subscription:
        view = Subscription(self)
        self._views.add(view)
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._listen(), name=f"feed {self.state.session_id}"),
                asyncio.create_task(self._watch(), name=f"feed watch {self.state.session_id}"),
            ]
        return view

    async def leave(self, view: Subscription) -> None:
        self._views.discard(view)
        if self._views:
            return
        self._hub.forget(self)
        tasks, self._tasks = self._tasks, []
        await end(*tasks)

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (*BROKER_ERRORS, DatabaseError) as error:
                log.warning("session %s: not live: %s", self.state.session_id, error)
                self._set_live(False)
                await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        layer, group = get_channel_layer(), group_of(self.state.session_id)
        channel = await layer.new_channel()
        try:
            await layer.group_add(group, channel)
            await self._load(is_listening=True)
            while True:
                message = await layer.receive(channel)
                await self._take(orjson.loads(message["frame"]))
        finally:
            with contextlib.suppress(*BROKER_ERRORS):
                await layer.group_discard(group, channel)

    async def _take(self, frame: Frame) -> None:
        self.state.received_at = time.time()
        if frame["prev"] > self.state.seq:
            await self._load()
        if frame["seq"] < self.state.seq:  # the snapshot knows more: only what it has not is news
            frame = {**frame, "pods": [], "nodes": [], "gone_nodes": [], "counters": {}}
            frame |= {"seq": self.state.seq, "at": self.state.at}
        dropped = self.state.apply(frame)
        self.state.is_live = True
        for view in self._views:
            view.note(frame, dropped)

    async def _load(self, *, is_listening: bool = False) -> None:
        """Reads the snapshot. To who listens already, a fresh one is as good as a frame."""
        snapshot = await database_sync_to_async(readers.board_snapshot)(self.state.session_id)
        self.state.load(snapshot)
        self.ready = True
        if is_listening and time.time() - self.state.at < STALE_SECONDS:
            self.state.received_at, self.state.is_live = self.state.at, True
        for view in self._views:
            view.wake(reset=True)

    async def _watch(self) -> None:
        """Says so when the frames stop; then looks into the database now and again, for what it knows."""
        looked = time.time()
        while True:
            await asyncio.sleep(0.5)
            silent = time.time() - self.state.received_at
            if silent < STALE_SECONDS:
                continue
            self._set_live(False)
            if not self.ready or time.time() - looked >= RESYNC_SECONDS:
                looked = time.time()
                await self._look()

    async def _look(self) -> None:
        try:
            await self._load()
        except DatabaseError as error:
            log.warning("session %s: no database: %s", self.state.session_id, error)

    def _set_live(self, is_live: bool) -> None:
        if self.state.is_live != is_live:
            self.state.is_live = is_live
            for view in self._views:
                view.wake()


async def end(*tasks: asyncio.Task[None]) -> None:
    """Cancels tasks until they have ended: who awaits a database call may swallow the first cancellation."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)


class Hub:
    """The process's feeds. All calls on one event loop."""

    def __init__(self) -> None:
        self._feeds: dict[int, Feed] = {}

    def subscribe(self, session_id: int) -> Subscription:
        """A place at the session's feed; its first `changes()` is a reset, as soon as the snapshot is read."""
        feed = self._feeds.get(session_id)
        if feed is None:
            feed = self._feeds[session_id] = Feed(self, session_id)
        return feed.join()

    def forget(self, feed: Feed) -> None:
        if self._feeds.get(feed.state.session_id) is feed:
            del self._feeds[feed.state.session_id]


hub = Hub()
