"""What every controller needs: what is to be looked at, who owns what, and the usual writes on pods.

Used by the modules of `controllers` only. The index is kept by what the storage tells after each commit.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

from schedviz.kube.kinds import KINDS
from schedviz.kube.matching import SelectorError
from schedviz.sandbox import patches, resources
from schedviz.sandbox.resources import Target
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Object, Storage

FAILURES = (ApiError, SelectorError, AttributeError, KeyError, TypeError, ValueError)
"""An object that cannot be read, or a write that is refused: others go on."""
SOON_SECONDS = 0.1
BATCH = 500
"""Pods made in one round for one object."""
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
Key = tuple[str, str]


class World:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.awake = asyncio.Event()
        self.terminating: set[str] = set()
        self._dirty: dict[Key, None] = {}
        self._soon: set[Key] = set()
        self._owned: dict[str, dict[Key, None]] = {}  # by the owner's uid

    # ---- what is to be looked at -----------------------------------------------------------------------------------

    def look_at(self, kind: str, key: str) -> None:
        self._dirty[kind, key] = None
        self.awake.set()

    def look_at_soon(self, kind: str, key: str) -> None:
        """Once for all that is told of it in the next moment."""
        if (kind, key) not in self._soon:
            self._soon.add((kind, key))
            asyncio.get_running_loop().call_later(SOON_SECONDS, self._now, kind, key)

    def _now(self, kind: str, key: str) -> None:
        self._soon.discard((kind, key))
        self.look_at(kind, key)

    def look_at_later(self, seconds: float, kind: str, key: str) -> None:
        asyncio.get_running_loop().call_later(seconds, self.look_at, kind, key)

    def look_at_owner_in_foreground(self, owner: dict[str, Any], namespace: str) -> None:
        """An owner that waits for what it owns to go."""
        kind = KINDS.get(str(owner.get("kind")))
        if kind is None:
            return
        key = resources.key_of(kind, namespace, str(owner.get("name")))
        found = self.storage.get(kind.kind, key)
        if found is not None and found["metadata"].get("deletionTimestamp"):
            self.look_at("foreground", f"{kind.kind}:{key}")

    def take(self) -> list[Key]:
        dirty, self._dirty = self._dirty, {}
        self.awake.clear()
        return list(dirty)

    # ---- who owns what ---------------------------------------------------------------------------------------------

    def note(self, kind: str, one: Object, old: Object | None = None) -> None:
        before = (old or {}).get("metadata", {}).get("ownerReferences") or ()
        now = one["metadata"].get("ownerReferences") or ()
        if before == now:
            return
        at = (kind, self.key_of(one))
        for owner in before:
            self._drop(str(owner.get("uid")), at)
        for owner in now:
            self._owned.setdefault(str(owner.get("uid")), {})[at] = None

    def forget(self, kind: str, one: Object) -> None:
        for owner in one["metadata"].get("ownerReferences") or ():
            self._drop(str(owner.get("uid")), (kind, self.key_of(one)))

    def _drop(self, uid: str, at: Key) -> None:
        held = self._owned.get(uid)
        if held is not None:
            held.pop(at, None)
            if not held:
                del self._owned[uid]

    def keys_owned(self, uid: str) -> list[Key]:
        return list(self._owned.get(uid, ()))

    def owned(self, owner: Object, kind: str) -> list[Object]:
        """What it controls, of this kind, as it is now."""
        uid = owner["metadata"]["uid"]
        found = [self.storage.get(kind, key) for held, key in self.keys_owned(uid) if held == kind]
        return [one for one in found if one is not None and controller_uid(one) == uid]

    @staticmethod
    def key_of(one: Object) -> str:
        meta = one["metadata"]
        namespace = meta.get("namespace")
        return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])

    # ---- writing ---------------------------------------------------------------------------------------------------

    def make_pod(self, owner: Object, template: dict[str, Any], **meta: Any) -> Object:
        """Raises ApiError."""
        said = template.get("metadata") or {}
        labels = (said.get("labels") or {}) | meta.pop("labels", {})
        made = {
            "generateName": f"{owner['metadata']['name']}-",
            "labels": labels,
            "annotations": said.get("annotations"),
            "finalizers": said.get("finalizers"),
            "ownerReferences": [reference(owner)],
            **meta,
        }
        kept = {name: value for name, value in made.items() if value}
        body = {"metadata": kept, "spec": dict(template.get("spec") or {})}
        return self.make("Pod", owner, body)

    def make(self, kind: str, owner: Object, body: Object) -> Object:
        namespace = owner["metadata"]["namespace"]
        return resources.create(self.storage, KINDS[kind], namespace, body)

    def delete(self, one: Object, **options: Any) -> None:
        meta = one["metadata"]
        target = Target(KINDS[one["kind"]], meta.get("namespace", ""), meta["name"])
        if self.storage.get(one["kind"], target.key) is not None:
            resources.delete(self.storage, target, options)

    def patch(self, one: Object, change: Object) -> Object:
        """A merge patch; nothing is written where nothing changes."""
        key = self.key_of(one)
        now = self.storage.get(one["kind"], key)
        if now is None:
            return one
        new: Object = patches.merge(now, change)
        if new == now:
            return now
        meta = dict(new["metadata"])
        if new.get("spec") != now.get("spec"):
            meta["generation"] = int(meta.get("generation") or 0) + 1
        new = {**new, "metadata": meta}
        if resources.is_over(new):
            return self.storage.remove(one["kind"], key)
        return self.storage.put(one["kind"], key, new)

    def set_status(self, one: Object, status: dict[str, Any]) -> None:
        """Counts that are 0 are left out, as upstream leaves them out."""
        kept = {
            name: value if value or name == "replicas" else None for name, value in status.items()
        }
        kept["observedGeneration"] = one["metadata"].get("generation", 1)
        self.patch(one, {"status": kept})


def reference(owner: Object) -> dict[str, Any]:
    meta = owner["metadata"]
    said = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"]}
    return {**said, "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}


def controller_uid(one: Object) -> str | None:
    owners = one["metadata"].get("ownerReferences") or ()
    return next((o.get("uid") for o in owners if o.get("controller")), None)


def template_of(one: Object) -> dict[str, Any] | None:
    """None: not one that pods can be made of."""
    template = (one.get("spec") or {}).get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    return template if isinstance(spec, dict) and spec.get("containers") else None


def is_leaving(one: Object) -> bool:
    return bool(one["metadata"].get("deletionTimestamp"))


def phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def is_ready(pod: Object) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in (pod.get("status") or {}).get("conditions") or ()
    )


def active(pods: Iterable[Object]) -> list[Object]:
    return [p for p in pods if phase(p) not in ("Succeeded", "Failed") and not is_leaving(p)]


def dearness(pod: Object) -> tuple[Any, ...]:
    """The least first: those are deleted first. Assigned, running, ready and old pods are kept longest."""
    order = {"Pending": 0, "Unknown": 1, "Running": 2}
    return (
        bool((pod.get("spec") or {}).get("nodeName")),
        order.get(phase(pod), 0),
        is_ready(pod),
        _reversed(pod["metadata"].get("creationTimestamp", "")),
    )


def _reversed(text: str) -> tuple[int, ...]:
    return tuple(-ord(sign) for sign in text)


def hash_of(template: dict[str, Any]) -> str:
    """Ten letters that follow from what the template says; an empty field says nothing."""
    said = orjson.dumps(_said(template), option=orjson.OPT_SORT_KEYS)
    number = int.from_bytes(hashlib.sha256(said).digest())
    letters = []
    for _ in range(10):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        held = {name: _said(one) for name, one in value.items()}
        return {name: one for name, one in held.items() if one not in (None, {}, [], "")}
    return [_said(one) for one in value] if isinstance(value, list) else value


def share(value: object, of: int, *, up: bool) -> int:
    """An IntOrString: 3 or 25%."""
    if isinstance(value, str) and value.endswith("%"):
        hundredths = int(value[:-1]) * of
        return -(-hundredths // 100) if up else hundredths // 100
    return int(str(value or 0))
