"""Lists and watches: how clients read many objects and hear what becomes of them.

Called by `rest`. An event is serialised once for all its watchers; a watcher that does not keep up is told 410 and cut
off. Pages of one list share the first page's resourceVersion: a watch from there brings what changed meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from aiohttp import web

from schedviz.kube.kinds import Kind
from schedviz.sandbox import views
from schedviz.sandbox.selectors import Test
from schedviz.sandbox.status import bad_request, expired
from schedviz.sandbox.storage import Event, Object, Storage, line_of
from schedviz.sandbox.tables import PLAIN, Form

BOOKMARK_SECONDS = 15.0
MAX_BEHIND = 20_000
"""Events that a watcher may have waiting before it is told to list again."""
STUCK_SECONDS = 30.0
"""How long a client may leave the stream unread."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which objects a list or watch is about."""

    kind: Kind
    namespace: str
    test: Test | None
    form: Form = PLAIN

    def has(self, one: Object) -> bool:
        if self.namespace and one["metadata"].get("namespace") != self.namespace:
            return False
        return self.test is None or self.test(one)

    def line(self, event: Event) -> bytes | None:
        """What a watcher sees of it: nothing, itself, or ADDED / DELETED when it crosses the selector's border."""
        if event.kind != self.kind.kind:
            return None
        now = event.type != "DELETED" and self.has(event.object)
        before = event.old is not None and self.has(event.old)
        if not now and not before:
            return None
        change = "DELETED" if not now else "MODIFIED" if before else "ADDED"
        if change == event.type and self.form.is_plain:
            return views.line(self.kind, event)
        return self.line_of(change, event.object)

    def line_of(self, change: str, one: Object) -> bytes:
        return line_of(change, orjson.dumps(self.form.of_one(self.kind, one)))


# ---- list ----------------------------------------------------------------------------------------------------------


def listing(storage: Storage, wanted: Wanted, query: Mapping[str, str]) -> bytes:
    """The list as JSON, a page of it when `limit` says so. Raises 400 for a bad continue, 410 for an old one."""
    kind = wanted.kind
    limit = _number(query.get("limit") or "0", "limit")
    version, after = _continue(query.get("continue", ""), storage)
    picked: list[Object] = []
    meta: dict[str, object] = {"resourceVersion": str(version)}
    last = ""
    for key, one in storage.items(kind.kind):
        if (after and key <= after) or not wanted.has(one):
            continue
        if limit and len(picked) == limit:
            meta["continue"] = base64.urlsafe_b64encode(orjson.dumps([version, last])).decode()
            break
        picked.append(one)
        last = key
    return orjson.dumps(wanted.form.of_list(kind, picked, meta))


def _number(text: str, field: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise bad_request(f"{field}: {text[:40]!r} is not a number")
    return int(text)


def _continue(token: str, storage: Storage) -> tuple[int, str]:
    """(version of the first page, key of the last object seen)."""
    if not token:
        return storage.version, ""
    try:
        version, key = orjson.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, ValueError, TypeError):
        raise bad_request("continue key is not valid") from None
    if not isinstance(version, int) or version > storage.version:
        raise bad_request("continue key is not valid")
    storage.since(version)
    return version, str(key)


# ---- watch ---------------------------------------------------------------------------------------------------------


class _Behind:
    """The events that a watcher has still to be sent."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._events: deque[Event] = deque()
        self._awake = asyncio.Event()
        self.too_many = False
        self.closed = False

    def heard(self, event: Event | None) -> None:
        if event is None:
            self.closed = True
        elif event.kind != self._kind or self.too_many:
            return
        elif len(self._events) >= MAX_BEHIND:
            self._events.clear()
            self.too_many = True
        else:
            self._events.append(event)
        self._awake.set()

    async def wait(self, seconds: float) -> None:
        """Until there is something, or the time is over."""
        try:
            await asyncio.wait_for(self._awake.wait(), seconds)
        except TimeoutError:
            return

    @property
    def waiting(self) -> bool:
        return bool(self._events)

    def take(self) -> list[Event]:
        events = list(self._events)
        self._events.clear()
        self._awake.clear()
        return events


async def watch(storage: Storage, request: web.Request, wanted: Wanted) -> web.StreamResponse:
    """Events after resourceVersion (none or 0: first what is there, as ADDED) until the client or the time ends it."""
    query = request.query
    seconds = float(_number(query.get("timeoutSeconds") or "1800", "timeoutSeconds"))
    version = _number(query.get("resourceVersion") or "0", "resourceVersion")
    initial = query.get("sendInitialEvents") in ("1", "true")
    if version > storage.version:
        raise expired(version, storage.version)
    behind = _Behind(wanted.kind.kind)
    stop_listening = storage.listen(behind.heard)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    try:
        lines = _backlog(storage, wanted, 0 if initial else version)
        if initial:
            lines.append(_bookmark(storage, wanted.kind, {"k8s.io/initial-events-end": "true"}))
        response.enable_chunked_encoding()
        await response.prepare(request)
        stream = _Stream(response, storage, wanted)
        await stream.write(lines)
        bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
        await stream.follow(behind, seconds=seconds, bookmarks=bookmarks)
        await response.write_eof()
    except (ConnectionResetError, TimeoutError):
        if request.transport is not None:
            request.transport.abort()
    finally:
        stop_listening()
    return response


def _backlog(storage: Storage, wanted: Wanted, version: int) -> list[bytes]:
    if version:
        return [line for event in storage.since(version) if (line := wanted.line(event))]
    return [
        wanted.line_of("ADDED", one)
        for _, one in storage.items(wanted.kind.kind)
        if wanted.has(one)
    ]


def _bookmark(storage: Storage, kind: Kind, annotations: Mapping[str, str]) -> bytes:
    meta: dict[str, object] = {"resourceVersion": str(storage.version)}
    if annotations:
        meta["annotations"] = annotations
    mark = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
    return line_of("BOOKMARK", orjson.dumps(mark))


@dataclass(frozen=True, slots=True)
class _Stream:
    """Raises TimeoutError when the client does not read."""

    response: web.StreamResponse
    storage: Storage
    wanted: Wanted

    async def write(self, lines: list[bytes]) -> None:
        if lines:
            await asyncio.wait_for(self.response.write(b"".join(lines)), STUCK_SECONDS)

    async def follow(self, behind: _Behind, *, seconds: float, bookmarks: bool) -> None:
        """Write what comes, in order, until the time is up, the sandbox closes or the client is too slow."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        bookmark_at = loop.time() + BOOKMARK_SECONDS
        while (now := loop.time()) < end:
            await behind.wait(max(0.0, min(end, bookmark_at) - now if bookmarks else end - now))
            await self.write([line for e in behind.take() if (line := self.wanted.line(e))])
            if behind.too_many:
                gone = expired(0, self.storage.version).as_status()
                return await self.write([line_of("ERROR", orjson.dumps(gone))])
            if behind.closed:
                return None
            if bookmarks and loop.time() >= bookmark_at:
                await self._mark(behind)
                bookmark_at = loop.time() + BOOKMARK_SECONDS
        return None

    async def _mark(self, behind: _Behind) -> None:
        """A bookmark holds only when every event up to it has been sent."""
        self.storage.flush()
        await self.write([line for e in behind.take() if (line := self.wanted.line(e))])
        if self.storage.is_settled and not behind.waiting:
            await self.write([_bookmark(self.storage, self.wanted.kind, {})])
