"""One Kubernetes request on one sandbox: from method, path, query and body to an answer.

Called by `server` once it knows who asks. What an object goes through is in `resources`, `binding` and `watching`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import yaml
from aiohttp import web

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox import (
    about,
    apply,
    binding,
    fields,
    protobuf,
    resources,
    views,
    watching,
    workloads,
)
from schedviz.sandbox.about import as_json
from schedviz.sandbox.discovery import SCALED
from schedviz.sandbox.resources import Target
from schedviz.sandbox.selectors import test_of
from schedviz.sandbox.status import ApiError, bad_request, no_such_resource, not_allowed
from schedviz.sandbox.storage import Object, Objects, Rehearsal, Storage
from schedviz.sandbox.tables import PLAIN, Form, form_of

YAML_TYPES = ("application/yaml", apply.MEDIA_TYPE)
SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
# A delete of these answers with the object; of all others with a Status.
RETURNED = {
    "Pod",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "VolumeAttachment",
    "Service",
    "Namespace",
}


async def body_of(request: web.Request) -> Any:
    """The body as JSON, {} when there is none. Raises 400, 415."""
    raw = await request.read()
    if not raw:
        return {}
    if request.content_type == protobuf.MEDIA_TYPE:
        return protobuf.decode(raw)
    if request.content_type in YAML_TYPES:
        return _yaml(raw)
    if "cbor" in request.content_type:
        message = f"{request.content_type} is not understood by this sandbox: send JSON"
        raise ApiError(415, "UnsupportedMediaType", message)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"the body of the request is not JSON: {error}"[:300]) from None


def _yaml(raw: bytes) -> Any:
    """JSON is YAML too, and quicker read. Raises 400."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        # What looks like a moment stays text, as in JSON.
        return yaml.load(raw, Loader=_PlainLoader)
    except yaml.YAMLError as error:
        raise bad_request(f"the body of the request is not YAML: {error}"[:300]) from None


class _PlainLoader(yaml.SafeLoader):
    yaml_implicit_resolvers = {
        sign: [(tag, regexp) for tag, regexp in known if tag != "tag:yaml.org,2002:timestamp"]
        for sign, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


async def object_of(request: web.Request) -> Object:
    body = await body_of(request)
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    return body


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: a collection (no name), an object, or a part of it."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def place_of(group: str, version: str, rest: list[str]) -> Place:
    """Raises 404."""
    namespace = ""
    within = len(rest) > 2 and (group, version, rest[2]) in views.ROUTES
    if rest[0] == "namespaces" and group == "" and len(rest) == 3 and rest[2] == "bindings":
        return Place(views.ROUTES["", "v1", "pods"], rest[1], "", "binding")
    if rest[0] == "namespaces" and within:
        namespace, rest = rest[1], rest[2:]
    kind = views.ROUTES.get((group, version, rest[0]))
    if kind is None or len(rest) > 3:
        raise no_such_resource()
    if kind.namespaced != bool(namespace) and (namespace or len(rest) > 1):
        raise no_such_resource()
    return Place(kind, namespace, *rest[1:])


async def answer(storage: Storage, request: web.Request, path: str) -> web.StreamResponse:
    """Answers when what was written is durable. Raises ApiError."""
    parts = [part for part in path.split("/") if part]
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:]
    if not rest or parts[0] not in ("api", "apis"):
        return about.answer(request, parts)
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    place = place_of(group, version, rest)
    if request.method == "GET" and place.subresource in ("", "status", "scale"):
        storage.flush()  # what is shown is what is durable
        if not storage.is_settled:
            raise ApiError(503, "ServiceUnavailable", "the sandbox cannot write to its database")
        form = form_of(request.headers.get("Accept", ""), request.query)
        if place.name:
            return _read_one(storage, place, form)
        return await _read_many(storage, request, place, form)
    raw = await body_of(request)
    warnings = await _looked_over(request, place, raw)
    try:
        response = as_json(*_written(storage, request, place, raw))
        response.headers.extend(("Warning", f'299 - "{_quoted(text)}"') for text in warnings)
        return response
    finally:
        await storage.settled()


def _read_one(storage: Storage, place: Place, form: Form) -> web.Response:
    found = resources.get(storage, Target(place.kind, place.namespace, place.name))
    if place.subresource == "scale":
        return as_json(workloads.as_scale(_scaled_kind(place), found))
    return as_json(form.of_one(place.kind, found))


async def _read_many(
    storage: Storage, request: web.Request, place: Place, form: Form
) -> web.StreamResponse:
    wanted = _wanted(place, request.query, form)
    if request.query.get("watch") in ("1", "true"):
        return await watching.watch(storage, request, wanted)
    body = watching.listing(storage, wanted, request.query)
    return web.Response(body=body, content_type="application/json")


def _wanted(place: Place, query: Mapping[str, str], form: Form = PLAIN) -> watching.Wanted:
    test = test_of(query.get("labelSelector", ""), query.get("fieldSelector", ""))
    return watching.Wanted(place.kind, place.namespace, test, form)


async def _looked_over(request: web.Request, place: Place, body: Any) -> list[str]:
    """What ?fieldValidation=Warn tells of. Raises 400 where Strict refuses."""
    how = request.query.get("fieldValidation", "Ignore")
    if request.method == "PATCH" and request.content_type == apply.MEDIA_TYPE:
        fields.refuse_untyped(place.kind, body)
        return []
    whole = request.method == "PUT" or (request.method == "POST" and not place.subresource)
    if how not in ("Strict", "Warn") or not whole:
        return []
    raw = await request.read() if request.content_type != protobuf.MEDIA_TYPE else b""
    found = fields.complaints(place.kind, raw, body)
    if found and how == "Strict":
        raise fields.refuse(place.kind, found)
    return found


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ---- writes --------------------------------------------------------------------------------------------------------


def _written(storage: Storage, request: web.Request, place: Place, raw: Any) -> tuple[Object, int]:
    """(answer, status)."""
    objects: Objects = storage
    options = raw if request.method == "DELETE" and isinstance(raw, dict) else {}
    dry = request.query.getall("dryRun", []) or options.get("dryRun") or []
    if dry:
        if dry != ["All"]:
            raise bad_request(f'dryRun: Unsupported value: {dry}: supported values: "All"')
        objects = Rehearsal(storage)
    is_apply = request.method == "PATCH" and request.content_type == apply.MEDIA_TYPE
    if not isinstance(raw, dict) and (is_apply or request.method != "PATCH"):
        raise bad_request("the body of the request is not an object")
    if is_apply and place.name and place.subresource in ("", "status"):
        return _apply(objects, place, request.query, raw)
    if request.method == "POST":
        return _post(objects, place, raw)
    if request.method == "DELETE" and not place.subresource:
        return _delete(objects, place, request.query, options)
    if place.name and place.subresource == "scale" and request.method in ("PUT", "PATCH"):
        return _scale(objects, place, request, raw), 200
    if place.name and place.subresource in ("", "status") and request.method in ("PUT", "PATCH"):
        return _change(objects, place, request, raw), 200
    if place.subresource not in ("", "status", "binding", "eviction"):
        raise no_such_resource()
    raise not_allowed()


def _post(storage: Objects, place: Place, body: Object) -> tuple[Object, int]:
    if not place.name and not place.subresource:
        kept = views.kept(place.kind, body)
        made = resources.create(storage, KINDS[place.kind.kind], place.namespace, kept)
        return views.shown(place.kind, made), 201
    act = _REQUESTS.get(place.subresource) if place.kind.kind == "Pod" else None
    if act is None:
        raise no_such_resource() if place.subresource not in ("", "status") else not_allowed()
    act(storage, place, body)
    return SUCCESS | {"code": 201}, 201


def _bind(storage: Objects, place: Place, body: Object) -> None:
    meta = body.get("metadata")
    named = meta.get("name") if isinstance(meta, dict) else None
    binding.bind(storage, place.namespace, place.name or str(named or ""), body)


def _evict(storage: Objects, place: Place, body: Object) -> None:
    binding.evict(storage, Target(place.kind, place.namespace, place.name), body)


_REQUESTS: dict[str, Callable[[Objects, Place, Object], None]] = {
    "binding": _bind,
    "eviction": _evict,
}


def _change(storage: Objects, place: Place, request: web.Request, raw: Any) -> Object:
    target = Target(KINDS[place.kind.kind], place.namespace, place.name)
    if request.method == "PUT":
        body = views.kept(place.kind, raw)
        new = resources.update(
            storage, target, body, subresource=place.subresource, manager=_manager(request)
        )
    else:
        if isinstance(raw, dict):
            raw = views.kept_part(place.kind, raw)
        new = resources.patch(
            storage,
            target,
            raw,
            form=request.content_type,
            subresource=place.subresource,
            manager=_manager(request),
        )
    return views.shown(place.kind, new)


def _manager(request: web.Request) -> str:
    """Who owns what this request changes."""
    agent = request.headers.get("User-Agent", "").partition("/")[0]
    return request.query.get("fieldManager") or agent[:128] or "unknown"


def _apply(
    storage: Objects, place: Place, query: Mapping[str, str], raw: Object
) -> tuple[Object, int]:
    force = query.get("force") in ("1", "true")
    by = apply.Applier(query.get("fieldManager", ""), force, place.subresource)
    target = Target(place.kind, place.namespace, place.name)
    made, is_new = apply.apply(storage, target, views.kept(place.kind, raw), by)
    return views.shown(place.kind, made), 201 if is_new else 200


def _scaled_kind(place: Place) -> Kind:
    """Raises 404 for what cannot be scaled."""
    if place.kind.kind not in SCALED:
        raise no_such_resource()
    return place.kind


def _scale(storage: Objects, place: Place, request: web.Request, raw: Any) -> Object:
    kind = _scaled_kind(place)
    target = Target(kind, place.namespace, place.name)
    one = resources.get(storage, target)
    if request.method == "PATCH":
        raw = resources.patched(workloads.as_scale(kind, one), raw, form=request.content_type)
    changed = resources.update(
        storage, target, workloads.scaled(one, raw), subresource="", manager=_manager(request)
    )
    return workloads.as_scale(kind, changed)


def _delete(
    storage: Objects, place: Place, query: Mapping[str, str], options: Object
) -> tuple[Object, int]:
    grace = query.get("gracePeriodSeconds")
    if grace is not None and "gracePeriodSeconds" not in options:
        if not grace.isascii() or not grace.isdecimal():
            raise bad_request(f"gracePeriodSeconds: {grace[:40]!r} is not a number of seconds")
        options = {**options, "gracePeriodSeconds": int(grace[:9])}
    if not isinstance(options.get("preconditions") or {}, dict):
        raise bad_request("preconditions: the API defines an object here")
    kind = place.kind
    if place.name:
        gone = resources.delete(storage, Target(kind, place.namespace, place.name), options)
        if kind.kind in RETURNED:
            return gone, 200
        uid = gone["metadata"]["uid"]
        return SUCCESS | {"details": {"name": place.name, "kind": kind.plural, "uid": uid}}, 200
    wanted = _wanted(place, query)
    for one in storage.values(kind.kind):
        if wanted.has(one):
            meta = one["metadata"]
            resources.delete(
                storage, Target(kind, meta.get("namespace", ""), meta["name"]), options
            )
    return SUCCESS, 200
