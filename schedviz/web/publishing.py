"""The worker's end of the live wire: folds committed batches together and sends each session's newest state.

`recording` offers a batch after its commit and `runner` a session's change of state; neither ever waits. One thread
sends at most FRAMES_PER_SECOND to the channel group `session.<pk>`. A frame that the broker does not take is folded
under the next one, so that a restarted broker gets the newest state and memory stays bounded by the rows that changed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

import orjson
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from schedviz.web.frames import Pending
from schedviz.web.live import group_of

if TYPE_CHECKING:
    from schedviz.session import Batch

log = logging.getLogger(__name__)

FRAMES_PER_SECOND = 5
SEND_SECONDS = 2.0


class Publisher(threading.Thread):
    """One a worker. `offer` and `offer_state` may be called from any thread, before and after it runs."""

    def __init__(self) -> None:
        super().__init__(name="publisher", daemon=True)
        self._lock = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._sent: dict[int, int] = {}  # seq of the last frame sent, by session
        self._stopping = threading.Event()

    def begin(self, session_id: int, seq: int) -> None:
        """The session starts here with `seq` in the database: what was sent before is not joined on."""
        with self._lock:
            self._sent[session_id] = seq
            self._pending.pop(session_id, None)

    def offer(self, session_id: int, seq: int, batch: Batch) -> None:
        with self._lock:
            self._pending.setdefault(session_id, Pending()).add(seq, batch)

    def offer_state(self, session_id: int, state: str, message: str, at: float) -> None:
        with self._lock:
            pending = self._pending.setdefault(
                session_id, Pending(seq=self._sent.get(session_id, 0))
            )
            pending.state, pending.state_message, pending.at = state, message, at

    def stop(self, timeout: float = 1.0) -> None:
        """Sends what is pending, if the broker takes it in time."""
        self._stopping.set()
        if self.is_alive():
            self.join(timeout)

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        reachable = True
        while not self._stopping.is_set():
            sent = await self._send_all()
            if sent != reachable:
                log.warning("the broker is %s", "back" if sent else "gone: live pages wait")
                reachable = sent
            await asyncio.to_thread(self._stopping.wait, 1 / FRAMES_PER_SECOND)
        await self._send_all()
        await get_channel_layer().flush()

    async def _send_all(self) -> bool:
        with self._lock:
            batch, self._pending = self._pending, {}
        ok = True
        for session_id, pending in batch.items():
            ok = await self._send(session_id, pending) and ok
        return ok

    async def _send(self, session_id: int, pending: Pending) -> bool:
        frame = orjson.dumps(
            pending.frame(session_id, self._sent.get(session_id, 0)),
            option=orjson.OPT_SERIALIZE_NUMPY,
        )
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await get_channel_layer().group_send(
                    group_of(session_id), {"type": "session.frame", "frame": frame}
                )
        except (OSError, RedisError, TimeoutError):
            with self._lock:
                newer = self._pending.get(session_id)
                self._pending[session_id] = pending.under(newer) if newer else pending
            return False
        with self._lock:
            self._sent[session_id] = pending.seq
        return True
