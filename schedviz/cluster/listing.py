"""Everything that scheduling reads of a cluster, once: for a question about it as it is now, not for following it.

Called by the task that looks for changes. What cannot be read is left out, as a running session leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.kube import objects
from schedviz.kube.kinds import WATCHED, Kind
from schedviz.kube.objects import KubeObject, MalformedObject

PAGE = 500
ESSENTIAL = frozenset({"Node", "Pod"})
GONE = 410


async def everything(client: ClusterClient, kinds: Iterable[Kind] = WATCHED) -> list[KubeObject]:
    """The kinds one after the other; one that the API server does not serve has no objects. Raises ClusterError."""
    found: list[KubeObject] = []
    for kind in kinds:
        try:
            raws = await _listed(client, kind)
        except ClusterError as error:
            if error.status != 404 or kind.kind in ESSENTIAL:
                raise
            continue
        for raw in raws:
            with suppress(MalformedObject):
                found.append(objects.parse(kind.kind, raw))
    return found


async def _listed(client: ClusterClient, kind: Kind) -> list[dict[str, Any]]:
    """By pages; whole, when the pages' version was compacted while they were read."""
    try:
        return await _pages(client, kind, PAGE)
    except ClusterError as error:
        if error.status != GONE:
            raise
        return await _pages(client, kind, 0)


async def _pages(client: ClusterClient, kind: Kind, limit: int) -> list[dict[str, Any]]:
    raws: list[dict[str, Any]] = []
    query = {"limit": str(limit)} if limit else {}
    while True:
        page = await client.request("GET", kind.path(), query=query)
        raws += page.get("items") or ()
        after = (page.get("metadata") or {}).get("continue")
        if not after:
            return raws
        query["continue"] = str(after)
