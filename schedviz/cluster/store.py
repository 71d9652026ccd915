"""The last known object of each key, for one kind; every difference comes out as a Change.

Filled by `reflector`. Contract: after any sequence of `replace` and `apply`, the store holds what the server last said;
a Change's `old` is what the Change before it called `new`; deletes that were missed are found by `replace`. An object
that can't be read comes out as a Change with `error`, once per version, and does not stop the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schedviz.kube import objects
from schedviz.kube.objects import KubeObject, MalformedObject
from schedviz.kube.watch import WatchEvent
from schedviz.scheduler.framework.steps import Change


class Store:
    """Objects by key."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._objects: dict[str, KubeObject] = {}
        self._malformed: dict[
            str, tuple[str, MalformedObject]
        ] = {}  # key -> (resourceVersion, error)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> KubeObject | None:
        return self._objects.get(key)

    def keys(self) -> set[str]:
        return self._objects.keys() | self._malformed.keys()

    def replace(self, raws: Iterable[dict[str, Any]]) -> list[Change]:
        """A fresh list: what is new, what differs, what is gone."""
        changes: list[Change] = []
        seen: set[str] = set()
        for raw in raws:
            seen.add(_key(raw))
            changes += self._upsert(raw)
        for key in self.keys() - seen:
            changes += self._forget(key)
        return changes

    def apply(self, event: WatchEvent) -> list[Change]:
        if event.type == "DELETED":
            return self._forget(_key(event.object))
        return self._upsert(event.object)

    def _upsert(self, raw: dict[str, Any]) -> list[Change]:
        key, version = _key(raw), _version(raw)
        old = self._objects.get(key)
        if old is not None and old.resource_version == version and version:
            return []
        if key in self._malformed and self._malformed[key][0] == version and version:
            return []
        try:
            new = objects.parse(self.kind, raw)
        except MalformedObject as error:
            self._malformed[key] = (version, error)
            self._objects.pop(key, None)
            return [Change(self.kind, old, None, error)]
        self._malformed.pop(key, None)
        self._objects[key] = new
        return [Change(self.kind, old, new)]

    def _forget(self, key: str) -> list[Change]:
        old = self._objects.pop(key, None)
        malformed = self._malformed.pop(key, None)
        if malformed is not None:
            return [Change(self.kind, old, None, malformed[1], is_gone=True)]
        return [] if old is None else [Change(self.kind, old, None)]


def _meta(raw: dict[str, Any]) -> dict[str, Any]:
    meta = raw.get("metadata")
    return meta if isinstance(meta, dict) else {}


def _key(raw: dict[str, Any]) -> str:
    meta = _meta(raw)
    namespace, name = meta.get("namespace") or "", meta.get("name") or ""
    return f"{namespace}/{name}" if namespace else str(name)


def _version(raw: dict[str, Any]) -> str:
    return str(_meta(raw).get("resourceVersion") or "")
