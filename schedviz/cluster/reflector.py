"""Keeps one kind's store like the API server's: list once, then watch; list again when the watch can't go on.

One task a kind, in the session's event loop; Changes go to `emit`. Mirrors client-go's tools/cache/reflector.go.

    [listing] --ok--> [watching] --stream ends, time is up--> [watching] from the last resourceVersion
        ^   \\            |  410 Gone (as status or in the stream), or the stream makes no sense
        |    error        +-----------------------------------------------> [listing]
        +--- wait (0.8 s doubling to 30 s, jittered; reset when something arrives) <--- error

Assumption: resourceVersions are opaque; only equality with what was sent matters.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from schedviz.cluster.client import ClusterClient, ClusterError
from schedviz.cluster.store import Store
from schedviz.kube.kinds import Kind
from schedviz.kube.watch import WatchEvent
from schedviz.scheduler.framework.steps import Change

PAGE = 500
WATCH_SECONDS = 300
SILENCE_SECONDS = 90.0
"""A stream without a byte for so long is dead: bookmarks come more often than that from any server we know."""
FIRST_WAIT_SECONDS = 0.8
LONGEST_WAIT_SECONDS = 30.0


@dataclass(slots=True)
class ReflectorState:
    """What the board is told. error: the last one, "" while all is well."""

    kind: str
    is_synced: bool = False
    is_connected: bool = False
    error: str = ""


class _Gone(Exception):
    """The version that we have is too old to go on from."""


class Reflector:
    """`run` never returns by itself; cancel it."""

    def __init__(
        self,
        client: ClusterClient,
        kind: Kind,
        *,
        emit: Callable[[list[Change]], None],
        changed: Callable[[], None],
        longest_wait: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        self.state = ReflectorState(kind.kind)
        self.store = Store(kind.kind)
        self._client = client
        self._kind = kind
        self._emit = emit
        self._changed = changed
        self._longest_wait = longest_wait
        self._version = ""
        self._wait = FIRST_WAIT_SECONDS

    async def run(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except _Gone:
                self._version = ""
            except ClusterError as error:
                if error.status == 410:
                    self._version = ""
                    continue
                self._say(connected=False, error=f"{self._kind.plural}: {error}")
                await asyncio.sleep(self._wait * (0.75 + random.random() / 2))
                self._wait = min(self._wait * 2, self._longest_wait)

    async def _list(self) -> None:
        raws: list[dict[str, Any]] = []
        query = {"limit": str(PAGE)}
        while True:
            page = await self._client.request("GET", self._kind.path(), query=query)
            if not isinstance(page, dict) or not isinstance(page.get("metadata"), dict):
                raise ClusterError(f"GET {self._kind.path()}: the answer is not a list")
            raws += [raw for raw in page.get("items") or () if isinstance(raw, dict)]
            after = page["metadata"].get("continue")
            if not after:
                break
            query["continue"] = after
        self._version = str(page["metadata"].get("resourceVersion") or "")
        self._emit(self.store.replace(raws))
        self.state.is_synced = True
        self._healthy()

    async def _watch(self) -> None:
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(int(WATCH_SECONDS * (1 + random.random()))),
        }
        async with self._client.stream("GET", self._kind.path(), query=query) as response:
            self._healthy()
            rest = b""
            while chunk := await self._next_chunk(response):
                *lines, rest = (rest + chunk).split(b"\n")
                changes: list[Change] = []
                for line in lines:
                    if line:
                        changes += self._line(line)
                if changes:
                    self._emit(changes)

    async def _next_chunk(self, response: aiohttp.ClientResponse) -> bytes:
        """What arrived; b"" when the stream ended in good order."""
        try:
            return await asyncio.wait_for(response.content.readany(), SILENCE_SECONDS)
        except TimeoutError:
            raise ClusterError(f"the watch was silent for {SILENCE_SECONDS:g} s") from None

    def _line(self, line: bytes) -> list[Change]:
        try:
            raw = orjson.loads(line)
            event = WatchEvent(raw["type"], raw["object"])
            version = (
                event.object["metadata"].get("resourceVersion") if event.type != "ERROR" else ""
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise ClusterError("the watch sent a line that is no event") from None
        if event.type == "ERROR":
            if event.object.get("code") == 410:
                raise _Gone
            raise ClusterError(f"the watch ended: {event.object.get('message', '')}"[:300])
        if version:
            self._version = version
        if event.type == "BOOKMARK":
            return []
        return self.store.apply(event)

    def _healthy(self) -> None:
        self._wait = FIRST_WAIT_SECONDS
        self._say(connected=True, error="")

    def _say(self, *, connected: bool, error: str) -> None:
        self.state.is_connected, self.state.error = connected, error
        self._changed()
