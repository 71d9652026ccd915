"""The API server in a box: Kubernetes REST over HTTP for any number of sandboxes below /sandboxes/<name>/.

Run by the `sandbox` command in its own process. It knows who may ask: each sandbox has its own bearer token (in its
kubeconfig), the admin token makes and removes sandboxes. Requests on objects are answered by `rest`. Loopback unless
told otherwise; one server for a folder.
"""

from __future__ import annotations

import asyncio
import fcntl
import hmac
import logging
import re
import secrets
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml
from aiohttp import web

from schedviz.sandbox import rest, scenarios
from schedviz.sandbox.about import as_json
from schedviz.sandbox.controllers import Controllers
from schedviz.sandbox.kubelet import Kubelet
from schedviz.sandbox.scenarios import ScenarioError
from schedviz.sandbox.scenarios.player import Player
from schedviz.sandbox.status import ApiError, bad_request, not_found
from schedviz.sandbox.storage import Database, Object, Storage
from schedviz.sandbox.volume_binder import VolumeBinder

MAX_BODY = 3 * 1024 * 1024
LAST_SECONDS = 0.5
"""How long requests may go on when the server is told to stop."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
log = logging.getLogger(__name__)


class CannotServe(OSError):
    """The message is one line for whoever started the server."""


@dataclass(slots=True)
class Sandbox:
    """One cluster in the box."""

    storage: Storage
    kubelet: Kubelet
    volume_binder: VolumeBinder
    controllers: Controllers
    player: Player
    token: str

    async def close(self) -> None:
        await self.player.stop()
        await self.controllers.stop()
        await self.volume_binder.stop()
        await self.kubelet.stop()
        self.storage.close()


def write_private(path: Path, text: str) -> None:
    """Only this user may read it; whoever reads it meanwhile sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(path)


class Server:
    """data: the folder for the database, the tokens and the kubeconfigs. url: how clients reach this server."""

    def __init__(self, data: Path, url: str) -> None:
        self.data, self.url = data, url
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(data)
        self._database = Database(data / "sandboxes.sqlite3")
        self._sandboxes: dict[str, Sandbox] = {}
        token_path = data / "admin.token"
        if not token_path.exists() or not token_path.read_text().strip():
            write_private(token_path, secrets.token_urlsafe(32))
        self._admin_token = token_path.read_text().strip()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[answer_errors], client_max_size=MAX_BODY)
        app.router.add_get("/healthz", _healthz)
        app.router.add_get("/sandboxes", self._list_sandboxes)
        app.router.add_get("/sandboxes/{name}", self._get_sandbox)
        app.router.add_put("/sandboxes/{name}", self._put_sandbox)
        app.router.add_delete("/sandboxes/{name}", self._delete_sandbox)
        app.router.add_route("*", "/sandboxes/{name}/with/{token}/{path:.*}", self._kubernetes)
        app.router.add_route("*", "/sandboxes/{name}/{path:.*}", self._kubernetes)
        app.on_startup.append(self._open_all)
        app.on_shutdown.append(self._end_watches)
        app.on_cleanup.append(self._close)
        return app

    # ---- sandboxes -------------------------------------------------------------------------------------------------

    async def _open_all(self, app: web.Application) -> None:
        for name in self._database.names():
            self._open(name, None)

    async def _end_watches(self, app: web.Application) -> None:
        for sandbox in self._sandboxes.values():
            await sandbox.close()

    async def _close(self, app: web.Application) -> None:
        self._database.close()
        self._lock.close()

    def _open(self, name: str, scenario: str | None) -> Sandbox:
        about = None
        if scenario is not None:
            about = {"token": secrets.token_urlsafe(32), "scenario": scenario}
        storage = Storage(self._database, name, about)
        try:
            plan = scenarios.load(storage.about["scenario"])
        except ScenarioError as error:
            log.warning("sandbox %s goes on without its scenario: %s", name, error)
            plan = scenarios.load("empty")
        kubelet, binder = Kubelet(storage), VolumeBinder(storage)
        controllers, player = Controllers(storage), Player(storage, plan)
        token = storage.about["token"]
        sandbox = Sandbox(storage, kubelet, binder, controllers, player, token)
        self._sandboxes[name] = sandbox
        kubelet.start()
        binder.start()
        controllers.start()
        player.start()
        self._write_kubeconfig(name, sandbox)
        return sandbox

    def _write_kubeconfig(self, name: str, sandbox: Sandbox) -> None:
        """The token stands in the path too: without TLS, kubectl (client-go) reads no user's credentials."""
        server = f"{self.url}/sandboxes/{name}/with/{sandbox.token}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": server}}],
            "users": [{"name": name, "user": {"token": sandbox.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
        write_private(self.data / f"{name}.kubeconfig", yaml.safe_dump(config))

    def _admin(self, request: web.Request) -> str:
        _check_token(request, self._admin_token)
        name = request.match_info.get("name", "")
        if name and not _NAME.fullmatch(name):
            raise bad_request(
                f"{name[:80]!r} is no name for a sandbox: use up to 63 letters, digits and dashes"
            )
        return name

    async def _list_sandboxes(self, request: web.Request) -> web.Response:
        self._admin(request)
        return as_json({"items": [self._about(name) for name in sorted(self._sandboxes)]})

    async def _get_sandbox(self, request: web.Request) -> web.Response:
        name = self._admin(request)
        if name not in self._sandboxes:
            raise not_found("sandboxes", name)
        return as_json(self._about(name))

    async def _put_sandbox(self, request: web.Request) -> web.Response:
        """Make it unless it is there; its scenario is only read when it is made."""
        name = self._admin(request)
        body = await rest.object_of(request)
        if name in self._sandboxes:
            return as_json(self._about(name))
        scenario = str(body.get("scenario") or "empty")
        try:
            scenarios.load(scenario)
        except ScenarioError as error:
            raise bad_request(str(error)) from None
        sandbox = self._open(name, scenario)
        await sandbox.storage.settled()
        return as_json(self._about(name), 201)

    async def _delete_sandbox(self, request: web.Request) -> web.Response:
        name = self._admin(request)
        sandbox = self._sandboxes.pop(name, None)
        if sandbox is None:
            raise not_found("sandboxes", name)
        await sandbox.close()
        self._database.drop(name)
        (self.data / f"{name}.kubeconfig").unlink(missing_ok=True)
        return as_json({"name": name})

    def _about(self, name: str) -> Object:
        scenario = self._sandboxes[name].storage.about["scenario"]
        path = str((self.data / f"{name}.kubeconfig").resolve())
        return {"name": name, "scenario": scenario, "kubeconfig": path}

    async def _kubernetes(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise not_found("sandboxes", name)
        _check_token(request, sandbox.token, request.match_info.get("token"))
        return await rest.answer(sandbox.storage, request, request.match_info["path"])


def _locked(data: Path) -> IO[str]:
    """Held until it is closed or the process ends."""
    lock = (data / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise CannotServe(
            f"another sandbox server keeps its data in {data}: stop it or choose another folder"
        ) from None
    return lock


def _check_token(request: web.Request, token: str, in_path: str | None = None) -> None:
    """In the path or in the header. Raises 401."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if in_path is not None:
        scheme, given = "bearer", in_path
    right = hmac.compare_digest(given.strip().encode(errors="replace"), token.encode())
    if scheme.lower() != "bearer" or not right:
        raise ApiError(401, "Unauthorized", "Unauthorized")


async def _healthz(request: web.Request) -> web.Response:
    return web.Response(text="ok")


@web.middleware
async def answer_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Every error is a Status object."""
    try:
        return await handler(request)
    except ApiError as error:
        return as_json(error.as_status(), error.code)
    except web.HTTPException as error:
        reason = error.reason.title().replace(" ", "")
        status = ApiError(error.status, reason, error.text or "")
        return as_json(status.as_status(), error.status)
    except sqlite3.Error as error:
        log.error("the database of the sandboxes refuses a write: %s", error)
        refused = ApiError(
            500, "InternalError", f"the sandbox's database refuses the write: {error}"
        )
        return as_json(refused.as_status(), 500)


# ---- the process ---------------------------------------------------------------------------------------------------


async def serve(
    data: Path, *, host: str, port: int, stop: asyncio.Event, started: Callable[[Server], None]
) -> None:
    """Serve until `stop` is set. Raises CannotServe. port 0: any free one."""
    with _listening(host, port) as listener:
        reachable = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host
        server = Server(data, f"http://{reachable}:{listener.getsockname()[1]}")
        runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=LAST_SECONDS)
        try:
            await runner.setup()
            await web.SockSite(runner, listener).start()
            started(server)
            await stop.wait()
        finally:
            await runner.cleanup()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotServe(
            f"the sandbox can't listen on {host}:{port} ({why}): choose another --port"
        ) from None
