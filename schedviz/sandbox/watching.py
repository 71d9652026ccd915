"""Lists and watches: how clients read many objects and hear what becomes of them.

Called by `server`. An event is serialised once for all its watchers; a watcher that does not read is cut off.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping

import orjson
from aiohttp import web

from schedviz.kube.kinds import Kind
from schedviz.sandbox.selectors import Test
from schedviz.sandbox.status import bad_request, expired
from schedviz.sandbox.storage import Event, Object, Storage, line_of

BOOKMARK_SECONDS = 15.0
MAX_BEHIND = 20_000
"""Events that a watcher may have waiting before its stream is closed."""


def listing(
    storage: Storage, kind: Kind, namespace: str, *, test: Test | None, query: Mapping[str, str]
) -> bytes:
    """The list as JSON, a page of it when `limit` says so. Raises 400 for a bad limit or continue."""
    prefix = f"{namespace}/" if namespace else ""
    limit, after = (
        _number(query.get("limit") or "0", "limit"),
        _continue(query.get("continue", ""), storage),
    )
    picked: list[Object] = []
    meta: dict[str, object] = {"resourceVersion": str(storage.version)}
    last = ""
    for key, one in storage.items(kind.kind):
        if (
            (after and key <= after)
            or not key.startswith(prefix)
            or (test is not None and not test(one))
        ):
            continue
        if limit and len(picked) == limit:
            token = orjson.dumps([storage.version, last])
            meta["continue"] = base64.urlsafe_b64encode(token).decode()
            break
        picked.append(one)
        last = key
    head = {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": meta,
        "items": picked,
    }
    return orjson.dumps(head)


def _number(text: str, field: str) -> int:
    if not text.isdecimal():
        raise bad_request(f"{field}: {text[:40]!r} is not a number")
    return int(text)


def _continue(token: str, storage: Storage) -> str:
    if not token:
        return ""
    try:
        version, key = orjson.loads(base64.urlsafe_b64decode(token))
    except (binascii.Error, orjson.JSONDecodeError, ValueError, TypeError):
        raise bad_request("continue key is not valid") from None
    if not isinstance(version, int) or version > storage.version:
        raise bad_request("continue key is not valid")
    return str(key)


async def watch(
    storage: Storage, request: web.Request, kind: Kind, *, namespace: str, test: Test | None
) -> web.StreamResponse:
    """Events after resourceVersion (none or 0: first what is there, as ADDED) until the client or the time ends it."""
    query = request.query
    seconds = float(_number(query.get("timeoutSeconds") or "1800", "timeoutSeconds"))
    bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
    version = _number(query.get("resourceVersion") or "0", "resourceVersion")
    if version > storage.version:
        raise expired(version, storage.version)
    behind: asyncio.Queue[Event] = asyncio.Queue()
    stop_listening = storage.listen(behind.put_nowait)
    try:
        lines = _backlog(storage, kind, namespace, test=test, version=version)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if lines:
            await response.write(b"".join(lines))
        await _follow(
            storage,
            response,
            behind,
            pick=Picker(kind, namespace, test),
            seconds=seconds,
            bookmarks=kind if bookmarks else None,
        )
        await response.write_eof()
        return response
    except (ConnectionResetError, asyncio.CancelledError):
        return web.StreamResponse()
    finally:
        stop_listening()


def _backlog(
    storage: Storage, kind: Kind, namespace: str, *, test: Test | None, version: int
) -> list[bytes]:
    if version == 0:
        prefix = f"{namespace}/" if namespace else ""
        return [
            line_of("ADDED", one)
            for key, one in storage.items(kind.kind)
            if key.startswith(prefix) and (test is None or test(one))
        ]
    pick = Picker(kind, namespace, test)
    return [line for event in storage.since(version) if (line := pick(event))]


class Picker:
    """What a watcher sees of an event: nothing, itself, or ADDED / DELETED when it crosses the selector's border."""

    def __init__(self, kind: Kind, namespace: str, test: Test | None) -> None:
        self._kind, self._namespace, self._test = kind.kind, namespace, test

    def __call__(self, event: Event) -> bytes | None:
        if event.kind != self._kind:
            return None
        if self._namespace and event.object["metadata"].get("namespace") != self._namespace:
            return None
        if self._test is None:
            return event.line
        now = event.type != "DELETED" and self._test(event.object)
        before = event.old is not None and self._test(event.old)
        if now:
            return event.line if before or event.type == "ADDED" else line_of("ADDED", event.object)
        return line_of("DELETED", event.object) if before else None


async def _follow(
    storage: Storage,
    response: web.StreamResponse,
    behind: asyncio.Queue[Event],
    *,
    pick: Picker,
    seconds: float,
    bookmarks: Kind | None,
) -> None:
    """Write what comes, in order, until the time is up or the client is too slow."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    bookmark_at = loop.time() + BOOKMARK_SECONDS
    while (now := loop.time()) < end:
        due = min(end, bookmark_at) if bookmarks else end
        try:
            events = [await asyncio.wait_for(behind.get(), due - now)] if due > now else []
        except TimeoutError:
            events = []
        while not behind.empty():
            events.append(behind.get_nowait())
        if len(events) > MAX_BEHIND:
            return
        if lines := [line for event in events if (line := pick(event))]:
            await response.write(b"".join(lines))
        if bookmarks and loop.time() >= bookmark_at and behind.empty():
            await storage.settled()
            meta = {"resourceVersion": str(storage.version)}
            mark = {"kind": bookmarks.kind, "apiVersion": bookmarks.api_version, "metadata": meta}
            if behind.empty():
                await response.write(line_of("BOOKMARK", mark))
            bookmark_at = loop.time() + BOOKMARK_SECONDS
