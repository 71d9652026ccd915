"""An API server of Nodes and Pods that can be told to fail: what the sandbox, which is well behaved, can't show.

`async with FaultyServer() as server:` listens on loopback, in the test's own event loop. `faults` are played to the
next requests, one each; `break_watches` and `send` act on the watches that are open.
"""

from __future__ import annotations

import asyncio
import copy
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
import yaml
from aiohttp import web

from schedviz.sandbox import patches

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Bell:
    """Rung whenever something happened that a test may wait for."""

    def __init__(self) -> None:
        self._rung = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def ring(self) -> None:
        task = asyncio.ensure_future(self._wake())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wake(self) -> None:
        async with self._rung:
            self._rung.notify_all()

    async def until(self, holds: Callable[[], Any], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds), self._rung:
            await self._rung.wait_for(holds)


def refuse(status: int, reason: str = "", **headers: str) -> Fault:
    """A Status object."""

    async def answer(request: web.Request) -> web.StreamResponse:
        said = {"kind": "Status", "code": status, "reason": reason, "message": f"no: {reason}"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(said, status=status, headers=named)

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse:
    """No answer; nothing was done."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


class FaultyServer:
    """tls: serve https with it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.callers: set[str] = set()  # the common names of client certificates
        self.bell = Bell()
        self.faults: deque[Fault] = deque()
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []  # method, path, query, body
        self.tokens: set[str] = set()
        self.objects: dict[str, dict[str, Any]] = {}  # by path
        self.watches: list[tuple[web.Request, asyncio.Queue[bytes]]] = []  # what is to be sent
        self._events: list[tuple[int, str, dict[str, Any]]] = []
        self._version = 10
        self._oldest = 0
        self._lose_answers = 0
        self._runner: web.AppRunner | None = None
        self.url = ""
        self.is_down = False

    async def __aenter__(self) -> FaultyServer:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{'https' if self._tls else 'http'}://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.break_watches()
        assert self._runner is not None
        await self._runner.cleanup()

    def kubeconfig(
        self,
        folder: Path,
        token: str = "t0",
        *,
        user: dict[str, Any] | None = None,
        **cluster: Any,
    ) -> str:
        """user: its credentials, instead of the token; cluster: more of what the kubeconfig says of the server."""
        path = folder / "kubeconfig"
        config = {
            "clusters": [{"name": "c", "cluster": {"server": self.url, **cluster}}],
            "users": [{"name": "u", "user": user or {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.write_text(yaml.safe_dump(config))
        return str(path)

    # ---- what the test does to it ----------------------------------------------------------------------------------

    def put(self, path: str, **fields: Any) -> dict[str, Any]:
        """Create or change the object at `path` ("/api/v1/nodes/n1"); fields replace its sections."""
        self._version += 1
        known = self.objects.get(path)
        made = copy.deepcopy(known) if known else _blank(path, uid=f"uid-{self._version}")
        made.update(fields)
        made["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = made
        self._tell("MODIFIED" if known else "ADDED", made)
        return made

    def delete(self, path: str) -> None:
        self._version += 1
        gone = self.objects.pop(path)
        gone["metadata"]["resourceVersion"] = str(self._version)
        self._tell("DELETED", gone)

    def compact(self) -> None:
        """Watches from before now are refused with 410."""
        self._oldest = self._version
        self._events.clear()

    def lose_answers(self, n: int) -> None:
        """The next n writes are done, but their answers are lost."""
        self._lose_answers = n

    def break_watches(self) -> None:
        for request, _ in self.watches:
            if request.transport is not None:
                request.transport.abort()

    def send(self, raw: bytes) -> None:
        """These very bytes, in every open watch."""
        for _, queue in self.watches:
            queue.put_nowait(raw)

    def watched(self, plural: str) -> bool:
        return any(request.path.endswith(plural) for request, _ in self.watches)

    def seen(self, method: str, path: str = "") -> list[tuple[str, str, dict[str, str], Any]]:
        return [one for one in self.requests if one[0] == method and one[1].endswith(path)]

    def lists(self) -> int:
        """Lists begun."""
        return sum(
            one[0] == "GET" and "watch" not in one[2] and "continue" not in one[2]
            for one in self.requests
        )

    # ---- answers ---------------------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read() or b"null")
        self.requests.append((request.method, request.path, dict(request.query), body))
        self.tokens.add(request.headers.get("Authorization", ""))
        self.callers |= _common_names(request)
        self.bell.ring()
        if self.is_down:
            return await refuse(503, "Down")(request)
        if self.faults:
            return await self.faults.popleft()(request)
        if "watch" in request.query:
            return await self._watch(request)
        if request.method == "GET":
            return self._read(request)
        answer = self._write(request, body)
        self.bell.ring()
        if self._lose_answers and not request.path.endswith("/status"):
            self._lose_answers -= 1
            return await hang_up(request)
        return answer

    def _read(self, request: web.Request) -> web.Response:
        path = request.path
        if path.rpartition("/")[2] in ("nodes", "pods"):
            return self._list(request)
        if path not in self.objects:
            return web.json_response({"message": "not found", "reason": "NotFound"}, status=404)
        return web.json_response(self.objects[path])

    def _list(self, request: web.Request) -> web.Response:
        plural = request.path.rpartition("/")[2]
        items = [self.objects[path] for path in sorted(self.objects) if f"/{plural}/" in path]
        start = int(request.query.get("continue", "0"))
        end = start + int(request.query.get("limit") or len(items) or 1)
        meta = {"resourceVersion": str(self._version)}
        if end < len(items):
            meta["continue"] = str(end)
        return web.json_response({"metadata": meta, "items": items[start:end]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        if since < self._oldest:
            return await refuse(410, "Expired")(request)
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.watches.append((request, queue))
        for version, kind, raw in self._events:
            if version > since and _is_of(request, raw):
                queue.put_nowait(_line(kind, raw))
        self.bell.ring()
        try:
            while line := await queue.get():
                await response.write(line)
        except ConnectionResetError:
            pass  # broken by the test
        finally:
            self.watches = [one for one in self.watches if one[1] is not queue]
            self.bell.ring()
        return response

    def _write(self, request: web.Request, body: Any) -> web.Response:
        path = request.path
        if request.method == "POST" and path.endswith("/binding"):
            return self._bind(path.removesuffix("/binding"), body)
        if request.method == "DELETE":
            if path not in self.objects:
                return web.json_response({"message": "not found"}, status=404)
            self.delete(path)
        if request.method == "PATCH" and path in self.objects:
            return self._patch(path, body)
        return web.json_response({"metadata": {}}, status=201)

    def _patch(self, path: str, body: Any) -> web.Response:
        asked = body["metadata"].pop("resourceVersion", None)
        if asked not in (None, self.objects[path]["metadata"]["resourceVersion"]):
            return web.json_response({"message": "it has been modified"}, status=409)
        return web.json_response(self.put(path, **patches.merge(self.objects[path], body)))

    def _bind(self, path: str, body: Any) -> web.Response:
        pod = self.objects.get(path)
        if pod is None:
            return web.json_response({"message": "pod not found"}, status=404)
        if body["metadata"]["uid"] != pod["metadata"]["uid"]:
            return web.json_response({"message": "uid differs"}, status=409)
        if pod["spec"].get("nodeName"):
            return web.json_response({"message": "already assigned"}, status=409)
        self.put(path, spec={**pod["spec"], "nodeName": body["target"]["name"]})
        return web.json_response({"kind": "Status"}, status=201)

    def _tell(self, kind: str, raw: dict[str, Any]) -> None:
        made = copy.deepcopy(raw)
        self._events.append((self._version, kind, made))
        for request, queue in self.watches:
            if _is_of(request, made):
                queue.put_nowait(_line(kind, made))


def _common_names(request: web.Request) -> set[str]:
    """Of the client's certificate, if it showed one."""
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    return {value for name, value in pairs if name == "commonName"}


def _is_of(request: web.Request, raw: dict[str, Any]) -> bool:
    return request.path.endswith(f"/{raw['kind'].lower()}s")


def _line(kind: str, raw: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": raw}) + b"\n"


def _blank(path: str, *, uid: str) -> dict[str, Any]:
    parts = path.strip("/").split("/")
    meta = {"name": parts[-1], "uid": uid}
    if "namespaces" in parts:
        meta["namespace"] = parts[parts.index("namespaces") + 1]
        return {
            "kind": "Pod",
            "metadata": meta,
            "spec": {"containers": [{"name": "m", "image": "i"}]},
        }
    return {"kind": "Node", "metadata": meta, "spec": {}, "status": {"allocatable": {"cpu": "4"}}}
