"""The board's websocket: HTML of what changed, as out-of-band swaps, and small binary frames for the map of nodes.

One consumer a browser. It waits for news of the session, sends the difference, and rests a moment: whatever happens in
between is folded together, so a slow browser gets fewer and newer messages, never a queue of old ones. The browser
says only one thing: `{"filter": "text"}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth import get_user_model

from schedviz.web import frames, live, permissions, readers
from schedviz.web.board import BoardView, shared_board
from schedviz.web.live import hub

if TYPE_CHECKING:
    from schedviz.web.live import BoardState
    from schedviz.web.models import Session

log = logging.getLogger(__name__)

REST_SECONDS = 0.2  # between two messages
CHECK_SECONDS = 30.0  # how often it is asked whether this user may still look
MAX_FILTER = 200
NOT_ALLOWED, NO_SESSION = 4403, 4404


class BoardConsumer(AsyncWebsocketConsumer):
    task: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        name = self.scope["url_route"]["kwargs"]["name"]
        session = await self._session(name)
        if session is None:
            await self.close(NO_SESSION)
            return
        if not await self._may_look(session):
            await self.close(NOT_ALLOWED)
            return
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        self.view = BoardView(shared_board(session.pk, name), clean_filter(query.get("q", [""])[0]))
        await self.accept()
        self.task = asyncio.create_task(self._push(session), name=f"board of {name}")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            said = orjson.loads(text_data or "")
        except orjson.JSONDecodeError:
            return
        if isinstance(said, dict) and isinstance(said.get("filter"), str):
            self.view.text = clean_filter(said["filter"])
            self.subscription.wake()

    async def disconnect(self, code: int) -> None:
        if self.task is not None:
            await live.end(self.task)

    async def _push(self, session: Session) -> None:
        self.subscription = hub.subscribe(session.pk)
        try:
            await self._send_news(session)
        except OSError:
            log.debug("a browser left the board of %s while it was told", session.name)
        except Exception:
            log.exception("the board of %s", session.name)
            with contextlib.suppress(RuntimeError):  # the browser was faster
                await self.close(1011)
        finally:
            await self.subscription.close()

    async def _send_news(self, session: Session) -> None:
        checked = time.monotonic()
        while True:
            changes = await self.subscription.changes()
            state = self.subscription.state
            if changes.reset and state.cycle is None:
                await self._recall_cycle(session, state)
            news = self.view.news(state, changes)
            await self.send(text_data=news.html)
            for frame in news.frames:
                await self.send(bytes_data=frame)
            await asyncio.sleep(REST_SECONDS)
            if time.monotonic() - checked > CHECK_SECONDS:
                checked = time.monotonic()
                if not await self._may_look(session, again=True):
                    await self.close(NOT_ALLOWED)
                    return

    # ---- the database ----------------------------------------------------------------------------------------------

    @database_sync_to_async
    def _session(self, name: str) -> Session | None:
        return readers.session_by_name(name)

    @database_sync_to_async
    def _may_look(self, session: Session, *, again: bool = False) -> bool:
        user: Any = self.scope["user"]
        if again and user.is_authenticated:
            user = get_user_model().objects.filter(pk=user.pk).first()
        return user is not None and permissions.may(user, "session.view", session)

    @database_sync_to_async
    def _recall_cycle(self, session: Session, state: BoardState) -> None:
        """A board that opens while nothing happens shows the last cycle that the record has."""
        newest = readers.cycles_page(session, limit=1).rows
        detail = readers.cycle_detail(session, newest[0].number) if newest else None
        if detail is not None and state.cycle is None:
            short = frames.cycle_in_short(detail.record)
            state.cycle = orjson.loads(orjson.dumps(short, option=orjson.OPT_SERIALIZE_NUMPY))


class NobodyConsumer(AsyncWebsocketConsumer):
    """Any other address: refused, as a page that is not there."""

    async def connect(self) -> None:
        await self.close(NO_SESSION)


def clean_filter(text: str) -> str:
    return text.strip()[:MAX_FILTER]
