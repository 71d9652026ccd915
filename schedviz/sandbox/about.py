"""What the server answers about itself: version, health, and what there is (discovery).

Called by `rest` for every path that leads to no object.
"""

from __future__ import annotations

import orjson
from aiohttp import web

from schedviz.sandbox.discovery import AGGREGATED, VERSION, discovery
from schedviz.sandbox.status import no_such_resource, not_allowed
from schedviz.sandbox.storage import Object

JSON = "application/json"
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
    if first not in ("", "api", "apis"):
        raise no_such_resource()
    if request.method != "GET":
        raise not_allowed()
    if not parts:
        return as_json({"paths": [*ROOTS, "/version"]})
    wants = request.headers.get("Accept", "").replace(" ", "")
    if len(parts) == 1 and "g=apidiscovery.k8s.io;v=v2;" in wants:
        return as_json(discovery(parts, aggregated=True), 200, AGGREGATED)
    return as_json(discovery(parts))
