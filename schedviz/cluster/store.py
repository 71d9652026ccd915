"""The last known object of each key, for one kind; every difference comes out as a Change.

Filled by `reflector`. Contract: after any sequence of `replace` and `apply`, the store holds what the server last said;
a Change's `old` is what the last Change without an error called `new`, so whoever applies them knows what to undo;
deletes that were missed are found by `replace`. An object that can't be read comes out as a Change with `error`, once
per version, and does not stop the others; when it is deleted, its last readable form (if any) is deleted before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from schedviz.kube import objects
from schedviz.kube.objects import KubeObject, MalformedObject
from schedviz.kube.watch import WatchEvent
from schedviz.scheduler.framework.steps import Change


class Store:
    """Objects by key. keeps_wire: they keep their JSON, for extenders."""

    def __init__(self, kind: str, *, keeps_wire: bool = False) -> None:
        self.kind = kind
        self._keeps_wire = keeps_wire
        self._objects: dict[str, KubeObject] = {}  # the last readable form
        self._malformed: dict[str, tuple[str, MalformedObject]] = {}  # key -> (version, error)

    def __len__(self) -> int:
        return len(self.keys())

    def get(self, key: str) -> KubeObject | None:
        """None too for an object that can't be read now."""
        return None if key in self._malformed else self._objects.get(key)

    def keys(self) -> set[str]:
        return self._objects.keys() | self._malformed.keys()

    def replace(self, raws: Iterable[dict[str, Any]]) -> list[Change]:
        """A fresh list: what is gone, what is new, what differs."""
        listed = {_key(raw): raw for raw in raws}
        changes: list[Change] = []
        for key in self.keys() - listed.keys():
            changes += self._forget(key)
        for raw in listed.values():
            changes += self._upsert(raw)
        return changes

    def apply(self, event: WatchEvent) -> list[Change]:
        if event.type == "DELETED":
            return self._forget(_key(event.object))
        return self._upsert(event.object)

    def _upsert(self, raw: dict[str, Any]) -> list[Change]:
        key, version = _key(raw), _version(raw)
        old = self._objects.get(key)
        broken = self._malformed.get(key)
        known = broken[0] if broken else old.resource_version if old is not None else ""
        if version and version == known:
            return []
        try:
            new = objects.parse(self.kind, raw)
        except MalformedObject as error:
            return self._reject(key, version, error)
        if self._keeps_wire:
            new.wire = _wire(raw)
        self._objects[key] = new
        if broken is None:
            return [Change(self.kind, old, new)]
        del self._malformed[key]
        return [*self._end(broken[1], unless=new.uid), Change(self.kind, old, new)]

    def _reject(self, key: str, version: str, error: MalformedObject) -> list[Change]:
        old = self._objects.get(key)
        broken = self._malformed.get(key)
        changes = self._end(broken[1], unless=error.uid) if broken else []
        if old is not None and old.uid != error.uid:  # another object took the name
            changes.append(Change(self.kind, self._objects.pop(key), None))
            old = None
        self._malformed[key] = (version, error)
        return [*changes, Change(self.kind, old, None, error)]

    def _forget(self, key: str) -> list[Change]:
        old = self._objects.pop(key, None)
        broken = self._malformed.pop(key, None)
        changes = [] if old is None else [Change(self.kind, old, None)]
        return changes + (self._end(broken[1]) if broken else [])

    def _end(self, error: MalformedObject, unless: str = "") -> list[Change]:
        """The unreadable object is gone, `unless` it is the one of that uid."""
        if error.uid == unless:
            return []
        return [Change(self.kind, None, None, error, is_gone=True)]


def _meta(raw: dict[str, Any]) -> dict[str, Any]:
    meta = raw.get("metadata")
    return meta if isinstance(meta, dict) else {}


def _key(raw: dict[str, Any]) -> str:
    meta = _meta(raw)
    namespace, name = meta.get("namespace") or "", meta.get("name") or ""
    return f"{namespace}/{name}" if namespace else str(name)


def _version(raw: dict[str, Any]) -> str:
    return str(_meta(raw).get("resourceVersion") or "")


def _wire(raw: dict[str, Any]) -> bytes:
    """Without the fields' managers, as kube-scheduler's informers drop them."""
    meta = {name: value for name, value in _meta(raw).items() if name != "managedFields"}
    return orjson.dumps({**raw, "metadata": meta})
