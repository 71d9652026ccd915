"""A bad line to an API server: watches are cut every few seconds, and some bindings fail in one way or another.

`with BadLine(url, seed=1) as line:` listens on loopback, in a thread; `line.url` stands for `url`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from schedviz.web import embedded

FAILING = 0.05
WATCH_SECONDS = (2.0, 6.0)
HOP_HEADERS = {"host", "connection", "transfer-encoding", "content-length", "content-encoding"}


class BadLine:
    """n: what was done to requests, by word."""

    def __init__(self, target: str, seed: int = 1) -> None:
        self.n: Counter[str] = Counter()
        self._target = target
        self._dice = random.Random(seed)
        self._port = embedded.free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._ready, self._stop = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> BadLine:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        limits = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            connector=limits, timeout=timeout, auto_decompress=False
        ) as self._client:
            app = web.Application(client_max_size=1 << 24)
            app.router.add_route("*", "/{path:.*}", self._pass_on)
            runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
            self._ready.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        is_bind = request.method == "POST" and request.path.endswith("/binding")
        fault = ""
        if is_bind and self._dice.random() < FAILING:
            fault = self._dice.choice(["refused", "lost before", "lost after"])
            self.n[fault] += 1
        if fault == "refused":
            status = {"kind": "Status", "code": 500, "message": "the line is bad today"}
            return web.json_response(status, status=500)
        if fault == "lost before":
            return self._hang_up(request)
        async with self._asked(request) as answer:
            if fault == "lost after":
                await answer.read()
                return self._hang_up(request)
            return await self._hand_back(request, answer)

    @contextlib.asynccontextmanager
    async def _asked(self, request: web.Request) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_HEADERS}
        body = await request.read()
        url = self._target + request.raw_path
        async with self._client.request(
            request.method, url, headers=headers, data=body or None
        ) as answer:
            yield answer

    async def _hand_back(
        self, request: web.Request, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        headers = {k: v for k, v in answer.headers.items() if k.lower() not in HOP_HEADERS}
        if encoding := answer.headers.get("Content-Encoding"):
            headers["Content-Encoding"] = encoding
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        is_watch = request.query.get("watch") in ("1", "true")
        seconds = self._dice.uniform(*WATCH_SECONDS) if is_watch else None
        try:
            async with asyncio.timeout(seconds):
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
        except TimeoutError:
            self.n["watches cut"] += 1
            return self._hang_up(request)
        except ConnectionError:  # whoever asked has left
            return response
        await response.write_eof()
        return response

    @staticmethod
    def _hang_up(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=502)
