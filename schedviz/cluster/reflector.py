"""Keeps one kind's store like the API server's: list once, then watch; list again when the watch can't go on.

One task a kind, in the session's event loop; Changes go to `emit`. Mirrors client-go's
tools/cache/reflector.go (v1.36). Left out on purpose: streaming lists (WatchList). Lists ask for the most recent state.

    [listing] --ok--> [watching] --in good order or silent--> [watching] from the last resourceVersion
        ^   \\            |  error: wait ----------------------^
        |    error       |  410, 504 or 400 (as status or in the stream), a line that is no event: wait
        +--- wait <------+

A wait is 0.8 s doubling to 30 s, jittered; it begins at 0.8 s again once a watch has lived. A watch that ends at once
and brought nothing counts as an error. Assumption: resourceVersions are opaque; only equality matters.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.cluster.store import Store
from schedviz.kube.kinds import Kind
from schedviz.kube.watch import WatchEvent
from schedviz.scheduler.framework.steps import Change

PAGE = 500
WATCH_SECONDS = 300
SILENCE_SECONDS = 90.0
"""After so long without a byte the watch is opened anew: should the peer be dead, that tells."""
SHORT_SECONDS = 1.0
FIRST_WAIT_SECONDS = 0.8
LONGEST_WAIT_SECONDS = 30.0
MAX_LINE = 64 << 20
RESUMABLE = frozenset({0, 200, 401, 403, 429, 500, 502, 503})
"""Statuses after which a watch goes on from its version; after any other one the version itself is doubtful."""
ESSENTIAL = frozenset({"Node", "Pod"})
"""An API server that does not serve one of the other kinds has none of them."""
EVENT_TYPES = frozenset({"ADDED", "MODIFIED", "DELETED"})


@dataclass(slots=True)
class ReflectorState:
    """What the board is told. error: the last one, "" while all is well."""

    kind: str
    is_synced: bool = False
    is_connected: bool = False
    error: str = ""
    n_lists: int = 0
    n_events: int = 0


class Reflector:
    """`run` never returns by itself; cancel it. `synced`: the first list is in the store and was emitted."""

    def __init__(
        self,
        client: ClusterClient,
        kind: Kind,
        *,
        emit: Callable[[list[Change]], None],
        keeps_wire: bool = False,
    ) -> None:
        self.state = ReflectorState(kind.kind)
        self.store = Store(kind.kind, keeps_wire=keeps_wire)
        self.synced = asyncio.Event()
        self._client = client
        self._kind = kind
        self._emit = emit
        self._version = ""
        self._listed_at = 0.0
        self._wait = FIRST_WAIT_SECONDS

    async def run(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ClusterError as error:
                is_outdated = error.status == 410 and self._may_list_at_once()
                if error.status not in RESUMABLE:
                    self._version = ""
                if is_outdated:
                    continue
                if error.status == 404 and self._kind.kind not in ESSENTIAL:
                    self._take_in([])
                    await asyncio.sleep(LONGEST_WAIT_SECONDS)
                    continue
                self._say(error=f"{self._kind.plural}: {error}")
                wait = max(self._wait * (0.75 + random.random() / 2), error.retry_after)
                self._wait = min(self._wait * 2, LONGEST_WAIT_SECONDS)
                await asyncio.sleep(wait)

    def _may_list_at_once(self) -> bool:
        """The server answers, but has forgotten what we saw last: no reason to wait, if we saw it not just now."""
        since = asyncio.get_running_loop().time() - self._listed_at
        return bool(self._version) and since > SHORT_SECONDS

    # ---- listing ---------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        self.state.n_lists += 1
        try:
            version, raws = await self._pages(PAGE)
        except ClusterError as error:
            if error.status != 410:  # else: the pages' version was compacted while we read them
                raise
            version, raws = await self._pages(0)
        if not version:
            raise ClusterError(f"GET {self._kind.path()}: the list has no resourceVersion")
        self._take_in(raws)
        self._version = version
        self._listed_at = asyncio.get_running_loop().time()

    def _take_in(self, raws: list[dict[str, Any]]) -> None:
        self._emit(self.store.replace(raws))
        self.state.is_synced = True
        self.synced.set()
        self._say(error="")

    async def _pages(self, limit: int) -> tuple[str, list[dict[str, Any]]]:
        """The first page's version, from which a watch misses nothing that later pages may have been too early for."""
        version = ""
        raws: list[dict[str, Any]] = []
        query = {"limit": str(limit)} if limit else {}
        while True:
            page = await self._client.request("GET", self._kind.path(), query=query)
            if not isinstance(page, dict) or not isinstance(page.get("metadata"), dict):
                raise ClusterError(f"GET {self._kind.path()}: the answer is not a list")
            raws += [raw for raw in page.get("items") or () if isinstance(raw, dict)]
            version = version or str(page["metadata"].get("resourceVersion") or "")
            after = page["metadata"].get("continue")
            if not after:
                return version, raws
            query["continue"] = str(after)

    # ---- watching --------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(int(WATCH_SECONDS * (1 + random.random()))),
        }
        loop = asyncio.get_running_loop()
        began, n_before = loop.time(), self.state.n_events
        async with (
            self._client.stream("GET", self._kind.path(), query=query) as response,
            aclosing(_line_batches(response)) as batches,
        ):
            self._say(error="")
            async for lines in batches:
                changes: list[Change] = []
                try:
                    for line in lines:
                        changes += self._line(line)
                finally:
                    if changes:
                        self._emit(changes)
                self._wait = FIRST_WAIT_SECONDS
        if loop.time() - began < SHORT_SECONDS and self.state.n_events == n_before:
            raise ClusterError("the watch ended at once and brought nothing", status=200)
        self._wait = FIRST_WAIT_SECONDS

    def _line(self, line: bytes) -> list[Change]:
        try:
            raw = orjson.loads(line)
            kind, one = raw["type"], raw["object"]
            version = "" if kind == "ERROR" else one["metadata"]["resourceVersion"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise ClusterError("the watch sent a line that is no event", status=400) from None
        if kind == "ERROR":
            raise _in_stream(one)
        self.state.n_events += 1
        changes: list[Change] = []
        if kind in EVENT_TYPES:
            changes = self.store.apply(WatchEvent(kind, one))
        self._version = version or self._version
        return changes

    def _say(self, *, error: str) -> None:
        self.state.is_connected, self.state.error = not error, error


def _in_stream(status: Any) -> ClusterError:
    """The Status object of an ERROR event, as the error it would have been as an answer."""
    said = status if isinstance(status, dict) else {}
    code = said.get("code")
    return ClusterError(
        f"the watch ended: {said.get('message') or 'the server does not say why'}"[:300],
        status=code if isinstance(code, int) else 500,
        reason=str(said.get("reason") or ""),
    )


async def _line_batches(response: aiohttp.ClientResponse) -> AsyncGenerator[list[bytes], None]:
    """Whole lines as they arrive; the end of a stream that broke off within a line is dropped. Ends when silent."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                chunk = await response.content.readany()
        except TimeoutError:
            return
        if not chunk:
            return
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            parts.append(head)
            yield [line for line in b"".join(parts).split(b"\n") if line]
            parts, size = [], 0
        if tail:
            parts.append(tail)
            size += len(tail)
            if size > MAX_LINE:
                raise ClusterError(f"the watch sent a line of over {MAX_LINE} bytes", status=400)
