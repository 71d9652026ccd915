"""What create, update, patch and delete do to an object: names, versions, conflicts, graces.

Called by `rest` for requests and by `kubelet` and `scenarios` for what they play. Mirrors the generic registry store of
kube-apiserver (k8s.io/apiserver/pkg/registry/generic/registry) as far as scheduling and its clients notice.
"""

from __future__ import annotations

import copy
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox import defaults, patches, validation
from schedviz.sandbox.defaults import timestamp
from schedviz.sandbox.status import (
    STALE,
    ApiError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from schedviz.sandbox.storage import Object, Objects

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58
PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "application/merge-patch+json": patches.merge,
    "application/strategic-merge-patch+json": patches.strategic_merge,
    "application/json-patch+json": patches.json_patch,
}
_SYSTEM_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
)


def key_of(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a request names."""

    kind: Kind
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return key_of(self.kind, self.namespace, self.name)


def get(storage: Objects, target: Target) -> Object:
    found = storage.get(target.kind.kind, target.key)
    if found is None:
        raise not_found(target.kind.plural, target.name)
    return found


# ---- create --------------------------------------------------------------------------------------------------------


def create(storage: Objects, kind: Kind, namespace: str, body: Object) -> Object:
    """Raises 409 AlreadyExists, 404 for a missing namespace, 422 without a name."""
    meta = validation.metadata(body)
    validation.shape(kind, body)
    _place(storage, kind, namespace, meta)
    if meta.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    meta["name"] = _name(storage, kind, namespace, meta)
    key = key_of(kind, namespace, meta["name"])
    if storage.get(kind.kind, key) is not None:
        raise already_exists(kind.plural, meta["name"])
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = timestamp()
    meta["generation"] = 1
    for gone in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        meta.pop(gone, None)
    new: Object = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
    defaults.on_create(storage, kind, new)
    return storage.put(kind.kind, key, new)


def _place(storage: Objects, kind: Kind, namespace: str, meta: dict[str, Any]) -> None:
    """The namespace comes from the path, and is there."""
    if not kind.namespaced:
        meta.pop("namespace", None)
        return
    if not namespace:
        raise bad_request("an empty namespace may not be set during creation")
    if meta.get("namespace") not in (None, "", namespace):
        message = (
            "the namespace of the provided object does not match the namespace sent on the request"
        )
        raise bad_request(message)
    meta["namespace"] = namespace
    if storage.get("Namespace", namespace) is None:
        raise not_found("namespaces", namespace)


def _name(storage: Objects, kind: Kind, namespace: str, meta: dict[str, Any]) -> str:
    given, base = meta.get("name"), meta.get("generateName")
    if given:
        return validation.name(kind, given)
    if not base:
        why = "metadata.name: Required value: name or generateName is required"
        raise invalid(kind.kind, "", why)
    while True:
        ending = "".join(secrets.choice(_ALPHABET) for _ in range(5))
        name = validation.name(kind, base[:_LONGEST_BASE] + ending)
        if storage.get(kind.kind, key_of(kind, namespace, name)) is None:
            return name


# ---- update --------------------------------------------------------------------------------------------------------


def update(storage: Objects, target: Target, body: Object, *, subresource: str = "") -> Object:
    """Replace spec and metadata, or the status only. Raises 409 when resourceVersion is stale."""
    kind, name = target.kind, target.name
    old = get(storage, target)
    meta = validation.metadata(body)
    validation.shape(kind, body)
    if meta.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
    _check_version(kind, old, meta)
    if subresource == "status":
        new = {**old, "metadata": dict(old["metadata"]), "status": body.get("status") or {}}
    else:
        new = _replaced(kind, old, {**body, "metadata": meta})
    if _same(old, new):
        return old
    if _is_over(new):
        return storage.remove(kind.kind, target.key)
    return storage.put(kind.kind, target.key, new)


def _replaced(kind: Kind, old: Object, body: Object) -> Object:
    kept = {name: value for name, value in body["metadata"].items() if name not in _SYSTEM_FIELDS}
    system = {name: old["metadata"][name] for name in _SYSTEM_FIELDS if name in old["metadata"]}
    new = {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": kept | system}
    if "status" in old:
        new["status"] = old["status"]
    if kind.kind == "Pod":
        spec = {"priority": old["spec"].get("priority")} | (body.get("spec") or {})
        new["spec"] = defaults.pod_spec(spec)
        validation.pod_update(old, new)
    if new.get("spec") != old.get("spec"):
        new["metadata"]["generation"] = int(old["metadata"].get("generation") or 1) + 1
    return new


def patch(
    storage: Objects, target: Target, body: Any, *, form: str, subresource: str = ""
) -> Object:
    """Raises 415 for a form of patch that is not known, 422 for a JSON patch that does not apply."""
    apply = PATCHES.get(form)
    if apply is None:
        known = ", ".join(PATCHES)
        message = f"the body of the request was in an unknown format - accepted media types include: {known}"
        raise ApiError(415, "UnsupportedMediaType", message)
    old = get(storage, target)
    if apply is not patches.json_patch and not isinstance(body, dict):
        raise bad_request("a patch of this form is a JSON object")
    try:
        new = apply(old, body)
    except patches.PatchError as error:
        raise ApiError(422, "Invalid", str(error)) from None
    if not isinstance(new, dict):
        raise bad_request("the patch leaves no object")
    return update(storage, target, new, subresource=subresource)


def _check_version(kind: Kind, old: Object, meta: dict[str, Any]) -> None:
    asked, name = meta.get("resourceVersion"), old["metadata"]["name"]
    if asked and asked != old["metadata"]["resourceVersion"]:
        raise conflict(kind.plural, name, STALE)
    uid, have = meta.get("uid"), old["metadata"]["uid"]
    if uid and uid != have:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {have}"
        raise conflict(kind.plural, name, why)


def _same(old: Object, new: Object) -> bool:
    """A write that changes nothing makes no new version."""

    def plain(one: Object) -> Object:
        meta = {name: v for name, v in one["metadata"].items() if name != "resourceVersion"}
        return {**one, "metadata": meta}

    return plain(old) == plain(new)


# ---- delete --------------------------------------------------------------------------------------------------------


def delete(storage: Objects, target: Target, options: Object) -> Object:
    """A pod on a node, and what has finalizers, is marked and goes later; everything else goes at once."""
    kind = target.kind
    old = get(storage, target)
    _check_preconditions(kind, old, options.get("preconditions") or {})
    grace = _grace(kind, old, options.get("gracePeriodSeconds"))
    if grace == 0 and not old["metadata"].get("finalizers"):
        if kind.kind == "Namespace":
            _empty(storage, target.name)
        return storage.remove(kind.kind, target.key)
    before = old["metadata"].get("deletionGracePeriodSeconds")
    if before is not None and grace >= before:
        return old
    at = datetime.now(UTC) + timedelta(seconds=grace)
    marked = {
        "deletionTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "deletionGracePeriodSeconds": grace,
    }
    return storage.put(kind.kind, target.key, {**old, "metadata": old["metadata"] | marked})


def _grace(kind: Kind, old: Object, asked: object) -> int:
    """Seconds; 0 where nobody has to be waited for."""
    if asked is not None and (not isinstance(asked, int) or asked < 0):
        raise bad_request(f"gracePeriodSeconds: {str(asked)[:40]!r} is not a number of seconds")
    spec = old.get("spec") or {}
    over = (old.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if kind.kind != "Pod" or not spec.get("nodeName") or over:
        return 0
    return int(spec.get("terminationGracePeriodSeconds", 30)) if asked is None else asked


def _check_preconditions(kind: Kind, old: Object, wanted: Any) -> None:
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        asked, have = wanted.get(field), old["metadata"].get(field)
        if asked not in (None, have):
            why = f"Precondition failed: {word} in precondition: {asked}, {word} in object meta: {have}"
            raise conflict(kind.plural, old["metadata"]["name"], why)


def _empty(storage: Objects, namespace: str) -> None:
    """What is in a namespace goes with it."""
    for kind in KINDS.values():
        if kind.namespaced:
            for one in storage.values(kind.kind):
                if one["metadata"]["namespace"] == namespace:
                    storage.remove(kind.kind, f"{namespace}/{one['metadata']['name']}")


def _is_over(one: Object) -> bool:
    """It was being deleted, and the last finalizer has just been taken away."""
    meta = one["metadata"]
    grace = meta.get("deletionGracePeriodSeconds", 0)
    return bool(meta.get("deletionTimestamp")) and not meta.get("finalizers") and grace == 0


def finish_delete(storage: Objects, target: Target) -> None:
    """The kubelet has ended the pod: it goes, or waits for its finalizers."""
    old = get(storage, target)
    if not old["metadata"].get("finalizers"):
        storage.remove(target.kind.kind, target.key)
    elif old["metadata"].get("deletionGracePeriodSeconds"):
        meta = old["metadata"] | {"deletionGracePeriodSeconds": 0}
        storage.put(target.kind.kind, target.key, {**copy.copy(old), "metadata": meta})
