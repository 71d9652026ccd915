"""What the server answers about itself: version, health, what there is (discovery), and its schemas (OpenAPI).

Called by `rest` for every path that leads to no object.
"""

from __future__ import annotations

import orjson
from aiohttp import web

from schedviz.sandbox import openapi
from schedviz.sandbox.discovery import AGGREGATED, VERSION, discovery
from schedviz.sandbox.status import ApiError, no_such_resource, not_allowed
from schedviz.sandbox.storage import Object

JSON = "application/json"
PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
EMPTY_V2 = b"\x0a\x032.0"
"""A document that says swagger: "2.0" and no more. kubectl reads v2 only so; then it leaves checking to the server."""
ROOTS = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz"]


def as_json(body: Object, status: int = 200, content_type: str = JSON) -> web.Response:
    headers = {"Content-Type": content_type}
    return web.Response(body=orjson.dumps(body), status=status, headers=headers)


def answer(request: web.Request, parts: list[str]) -> web.Response:
    """Raises 404, 405."""
    first = parts[0] if parts else ""
    if first in ("healthz", "livez", "readyz"):
        return web.Response(text="ok")
    if parts == ["version"]:
        return as_json(VERSION)
    if first not in ("", "api", "apis", "openapi"):
        raise no_such_resource()
    if request.method != "GET":
        raise not_allowed()
    if first == "openapi":
        return _openapi(request, parts[1:])
    if not parts:
        return as_json({"paths": [*ROOTS, "/version"]})
    wants = request.headers.get("Accept", "").replace(" ", "")
    if len(parts) == 1 and "g=apidiscovery.k8s.io;v=v2;" in wants:
        return as_json(discovery(parts, aggregated=True), 200, AGGREGATED)
    return as_json(discovery(parts))


def _openapi(request: web.Request, parts: list[str]) -> web.Response:
    """v2, v3, v3/api/v1, v3/apis/<group>/<version>. Raises 404, 406."""
    accepted = request.headers.get("Accept", "*/*")
    if parts == ["v2"] and PROTOBUF_V2 in accepted and JSON not in accepted:
        return web.Response(body=EMPTY_V2, headers={"Content-Type": PROTOBUF_V2.replace("@", ".")})
    if not any(media in accepted for media in (JSON, "*/*", "application/*")):
        raise ApiError(406, "NotAcceptable", f"only the following media types are accepted: {JSON}")
    if parts == ["v2"]:
        return as_json(openapi.whole())
    if parts == ["v3"]:
        return as_json(openapi.root())
    found = None
    if parts[:1] == ["v3"] and len(parts) in (3, 4):
        group = "" if parts[1] == "api" else parts[2]
        found = openapi.document(group, parts[-1])
    if found is None:
        raise no_such_resource()
    return as_json(found)
