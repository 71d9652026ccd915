"""The API server in a box: Kubernetes REST over HTTP for any number of sandboxes below /sandboxes/<name>/.

Run by the `sandbox` command in its own process. Requests are routed here and answered by `resources`; each sandbox has
its own bearer token (in its kubeconfig), the admin token makes and removes sandboxes. Loopback unless told otherwise.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiohttp import web

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox import resources, scenarios, watching
from schedviz.sandbox.kubelet import Kubelet
from schedviz.sandbox.resources import Target
from schedviz.sandbox.scenarios import Player, ScenarioError
from schedviz.sandbox.selectors import test_of
from schedviz.sandbox.status import ApiError, bad_request, not_found
from schedviz.sandbox.storage import Database, Object, Storage

MAX_BODY = 3 * 1024 * 1024
CORE_EVENT = Kind("Event", "", "v1", "events", True)
VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2+sandbox",
    "platform": "schedviz/sandbox",
}
ROUTES: dict[tuple[str, str, str], Kind] = {
    (kind.group, kind.version, kind.plural): kind for kind in (*KINDS.values(), CORE_EVENT)
}


@dataclass(slots=True)
class Sandbox:
    """One cluster in the box."""

    storage: Storage
    kubelet: Kubelet
    player: Player
    token: str


def write_private(path: Path, text: str) -> None:
    """Only this user may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text)


class Server:
    """data: the folder for the database, the tokens and the kubeconfigs. url: how clients reach this server."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.url = ""
        self._database = Database(data / "sandboxes.sqlite3")
        self._sandboxes: dict[str, Sandbox] = {}
        token_path = data / "admin.token"
        if not token_path.exists():
            write_private(token_path, secrets.token_urlsafe(32))
        self._admin_token = token_path.read_text().strip()

    def app(self) -> web.Application:
        app = web.Application(middlewares=[answer_errors], client_max_size=MAX_BODY)
        app.router.add_get("/healthz", _healthz)
        app.router.add_get("/sandboxes/{name}", self._get_sandbox)
        app.router.add_put("/sandboxes/{name}", self._put_sandbox)
        app.router.add_delete("/sandboxes/{name}", self._delete_sandbox)
        app.router.add_route("*", "/sandboxes/{name}/{path:.*}", self._kubernetes)
        app.on_startup.append(self._open_all)
        app.on_shutdown.append(self._close_all)
        return app

    # ---- sandboxes -------------------------------------------------------------------------------------------------

    async def _open_all(self, app: web.Application) -> None:
        for name in self._database.names():
            self._open(name, None)

    async def _close_all(self, app: web.Application) -> None:
        for sandbox in self._sandboxes.values():
            await sandbox.player.stop()
            await sandbox.kubelet.stop()
            await sandbox.storage.settled()
        self._database.close()

    def _open(self, name: str, scenario: str | None) -> Sandbox:
        about = None
        if scenario is not None:
            about = {"token": secrets.token_urlsafe(32), "scenario": scenario, "step": 0}
        storage = Storage(self._database, name, about)
        sandbox = Sandbox(
            storage,
            Kubelet(storage),
            Player(storage, scenarios.load(storage.about["scenario"])),
            storage.about["token"],
        )
        self._sandboxes[name] = sandbox
        sandbox.kubelet.start()
        sandbox.player.start()
        self._write_kubeconfig(name, sandbox)
        return sandbox

    def _write_kubeconfig(self, name: str, sandbox: Sandbox) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": f"{self.url}/sandboxes/{name}"}}],
            "users": [{"name": name, "user": {"token": sandbox.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
        write_private(self.data / f"{name}.kubeconfig", yaml.safe_dump(config))

    def _admin(self, request: web.Request) -> str:
        _check_token(request, self._admin_token)
        name = request.match_info["name"]
        if not name.isascii() or not name.replace("-", "").isalnum() or len(name) > 63:
            raise bad_request(
                f"{name[:80]!r} is no name for a sandbox: use letters, digits and dashes"
            )
        return name

    async def _get_sandbox(self, request: web.Request) -> web.Response:
        name = self._admin(request)
        if name not in self._sandboxes:
            raise not_found("sandboxes", name)
        return _json(self._about(name))

    async def _put_sandbox(self, request: web.Request) -> web.Response:
        """Make it unless it is there; its scenario is only read when it is made."""
        name = self._admin(request)
        body = await _body(request)
        if name in self._sandboxes:
            return _json(self._about(name))
        scenario = str(body.get("scenario") or "empty")
        try:
            scenarios.load(scenario)
        except ScenarioError as error:
            raise bad_request(str(error)) from None
        sandbox = self._open(name, scenario)
        await sandbox.storage.settled()
        return _json(self._about(name), 201)

    async def _delete_sandbox(self, request: web.Request) -> web.Response:
        name = self._admin(request)
        sandbox = self._sandboxes.pop(name, None)
        if sandbox is None:
            raise not_found("sandboxes", name)
        await sandbox.player.stop()
        await sandbox.kubelet.stop()
        self._database.drop(name)
        (self.data / f"{name}.kubeconfig").unlink(missing_ok=True)
        return _json({"name": name})

    def _about(self, name: str) -> Object:
        about = self._sandboxes[name].storage.about
        path = str((self.data / f"{name}.kubeconfig").resolve())
        return {"name": name, "scenario": about["scenario"], "kubeconfig": path}

    # ---- Kubernetes ------------------------------------------------------------------------------------------------

    async def _kubernetes(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise not_found("sandboxes", name)
        _check_token(request, sandbox.token)
        parts = [part for part in request.match_info["path"].split("/") if part]
        if parts in (["version"], ["healthz"], ["livez"], ["readyz"]):
            return _json(VERSION) if parts == ["version"] else web.Response(text="ok")
        if parts and parts[0] in ("api", "apis"):
            rest = parts[2:] if parts[0] == "api" else parts[3:]
            if not rest:
                return _json(_discovery(parts))
            group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
            return await _Call(sandbox.storage, request, group, version).answer(rest)
        raise ApiError(404, "NotFound", "the server could not find the requested resource")


class _Call:
    """One request on objects."""

    def __init__(self, storage: Storage, request: web.Request, group: str, version: str) -> None:
        self._storage = storage
        self._request = request
        self._group, self._version = group, version

    async def answer(self, rest: list[str]) -> web.StreamResponse:
        namespace = ""
        if (
            rest[0] == "namespaces"
            and len(rest) > 2
            and (self._group, self._version, rest[2]) in ROUTES
        ):
            namespace, rest = rest[1], rest[2:]
        elif rest[0] == "namespaces" and len(rest) == 3 and rest[2] == "bindings":
            return await self._bind(rest[1], "")
        kind = ROUTES.get((self._group, self._version, rest[0]))
        if kind is None or len(rest) > 3:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if len(rest) == 1:
            return await self._collection(kind, namespace)
        return await self._object(
            Target(kind, namespace, rest[1]), rest[2] if len(rest) == 3 else ""
        )

    async def _collection(self, kind: Kind, namespace: str) -> web.StreamResponse:
        method, query = self._request.method, self._request.query
        if method == "GET":
            test = test_of(query.get("labelSelector", ""), query.get("fieldSelector", ""))
            await self._storage.settled()
            if query.get("watch") in ("1", "true"):
                return await watching.watch(
                    self._storage, self._request, kind, namespace=namespace, test=test
                )
            return web.Response(
                body=watching.listing(self._storage, kind, namespace, test=test, query=query),
                content_type="application/json",
            )
        if method == "POST":
            body = await _body(self._request)
            if query.get("dryRun"):
                raise bad_request("dryRun is not supported by this sandbox yet")
            return await self._done(
                resources.create(self._storage, kind, namespace, _own_form(kind, body)), 201
            )
        if method == "DELETE":
            test = test_of(query.get("labelSelector", ""), query.get("fieldSelector", ""))
            options = await _body(self._request)
            for key, one in list(self._storage.items(kind.kind)):
                if (not namespace or key.startswith(f"{namespace}/")) and (
                    test is None or test(one)
                ):
                    meta = one["metadata"]
                    target = Target(kind, meta.get("namespace", ""), meta["name"])
                    resources.delete(self._storage, target, options)
            return await self._done(
                {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
            )
        raise _not_allowed()

    async def _object(self, target: Target, subresource: str) -> web.StreamResponse:
        method = self._request.method
        if target.kind.kind == "Pod" and subresource == "binding" and method == "POST":
            return await self._bind(target.namespace, target.name)
        if target.kind.kind == "Pod" and subresource == "eviction" and method == "POST":
            body = await _body(self._request)
            resources.delete(self._storage, target, body.get("deleteOptions") or {})
            return await self._done(
                {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201
            )
        if subresource not in ("", "status"):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if method == "GET":
            await self._storage.settled()
            return _json(resources.get(self._storage, target))
        body = await _body(self._request)
        if method == "PUT":
            new = resources.update(
                self._storage, target, _own_form(target.kind, body), subresource=subresource
            )
        elif method == "PATCH":
            form = self._request.content_type
            new = resources.patch(self._storage, target, body, form=form, subresource=subresource)
        elif method == "DELETE" and not subresource:
            grace = self._request.query.get("gracePeriodSeconds")
            if grace is not None and grace.isdecimal():
                body.setdefault("gracePeriodSeconds", int(grace))
            new = resources.delete(self._storage, target, body)
        else:
            raise _not_allowed()
        return await self._done(new)

    async def _bind(self, namespace: str, name: str) -> web.Response:
        if self._request.method != "POST":
            raise _not_allowed()
        body = await _body(self._request)
        resources.bind(
            self._storage, namespace, name or (body.get("metadata") or {}).get("name", ""), body
        )
        return await self._done(
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201
        )

    async def _done(self, answer: Object, status: int = 200) -> web.Response:
        """The acknowledgement: only once the write is durable."""
        await self._storage.settled()
        return _json(answer, status)


def _own_form(kind: Kind, body: Object) -> Object:
    """Both Event APIs show the same objects: keep them under the fields of either."""
    if kind.kind != "Event":
        return body
    other = body.get("regarding") or body.get("involvedObject") or {}
    note = body.get("note") or body.get("message") or ""
    return {**body, "regarding": other, "involvedObject": other, "note": note, "message": note}


def _not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def _check_token(request: web.Request, token: str) -> None:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), token.encode()):
        raise ApiError(401, "Unauthorized", "Unauthorized")


async def _body(request: web.Request) -> Object:
    raw = await request.read()
    if not raw:
        return {}
    try:
        body = orjson.loads(raw) if raw[:1] in b"{[ \n" else yaml.safe_load(raw)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise bad_request(f"the body of the request is not JSON: {error}"[:300]) from None
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    return body


def _json(body: Object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


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
        return _json(error.as_status(), error.code)
    except web.HTTPException as error:
        return _json(
            ApiError(error.status, error.reason.replace(" ", ""), error.text or "").as_status(),
            error.status,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        status = bad_request(
            f"the object does not have the form that the API defines ({error})"[:300]
        )
        return _json(status.as_status(), 400)


def _discovery(parts: list[str]) -> dict[str, Any]:
    """/api, /api/v1, /apis, /apis/<group>, /apis/<group>/<version>."""
    groups = sorted({kind.group for kind in ROUTES.values()} - {""})
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if parts == ["apis"]:
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(group) for group in groups],
        }
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in groups:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1])}
    group, version = (
        ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2] if len(parts) > 2 else "")
    )
    kinds = [kind for kind in ROUTES.values() if (kind.group, kind.version) == (group, version)]
    if not kinds:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    listed: list[dict[str, Any]] = []
    for kind in kinds:
        one = {
            "name": kind.plural,
            "singularName": kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
        }
        listed.append({**one, "verbs": verbs})
        listed.append({**one, "name": f"{kind.plural}/status", "verbs": ["get", "patch", "update"]})
    api_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": listed,
    }


def _group(group: str) -> dict[str, Any]:
    versions = sorted({kind.version for kind in ROUTES.values() if kind.group == group})
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}
