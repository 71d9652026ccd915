"""The board's websocket: one for each browser that looks at a session.

Routed by `asgi` after the origin and the login were checked. Sends HTML only: the whole board at first, then what
changed; a slow browser is sent the newest state when it is ready for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from schedviz.web import board, permissions, readers
from schedviz.web.live import Changes, Subscription, hub

LEAST_SECONDS = 0.2
"""Between two frames to one browser."""
NOT_ALLOWED, NOT_FOUND = 4403, 4404


class BoardConsumer(AsyncWebsocketConsumer):
    """Nothing that the browser sends is acted on: actions are POSTs."""

    _task: asyncio.Task[None] | None = None
    _place: Subscription | None = None

    async def connect(self) -> None:
        await self.accept()
        name = self.scope["url_route"]["kwargs"]["name"]
        if not await database_sync_to_async(permissions.may)(self.scope["user"], "session.view"):
            await self.close(NOT_ALLOWED)
            return
        session = await database_sync_to_async(readers.session_by_name)(name)
        if session is None:
            await self.close(NOT_FOUND)
            return
        self._place = hub.subscribe(session.pk)
        self._task = asyncio.create_task(self._follow(self._place, name))

    async def disconnect(self, code: int) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._place is not None:
            await self._place.close()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignored."""

    async def _follow(self, place: Subscription, name: str) -> None:
        view = board.Board(name)
        while True:
            changes = await place.changes()
            for text in _fragments(view, place.state, changes):
                await self.send(text_data=text)
            await asyncio.sleep(LEAST_SECONDS)


def _fragments(view: board.Board, state: Any, changes: Changes) -> list[str]:
    """Head, strip and nodes in one message, the lanes in another: the page may hold the lanes back."""
    if changes.reset:
        view.sent.clear()
        view.tiles.clear()
        view.counts.clear()
    parts = [board.head(state)]
    if changes.cycle or changes.reset:
        parts.append(board.strip(state, view.session_name))
    if changes.nodes or changes.cycle or changes.reset:
        parts.append(view.nodes(state))
    parts.append(board.results(changes.results))
    lanes = view.lanes(state) if changes.pods or changes.reset else ""
    return ["".join(parts), *(["<!--lanes-->" + lanes] if lanes else [])]
