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
from schedviz.sandbox import defaults, ownership, patches, validation, workloads
from schedviz.sandbox.defaults import timestamp
from schedviz.sandbox.ownership import Owner
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
FOREGROUND = "foregroundDeletion"
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
    "managedFields",
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
    workloads.check(kind, new)
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
    found = storage.get("Namespace", namespace)
    if found is None:
        raise not_found("namespaces", namespace)
    if found["metadata"].get("deletionTimestamp"):
        name = meta.get("name") or meta.get("generateName") or ""
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        message = f'{kind.plural} "{name}" is forbidden: {why}'
        raise ApiError(403, "Forbidden", message, name=name, kind=kind.plural)


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


def update(
    storage: Objects,
    target: Target,
    body: Object,
    *,
    subresource: str = "",
    manager: str = "",
    applied: bool = False,
) -> Object:
    """Replace spec and metadata, or the status only. Raises 409 when resourceVersion is stale.

    manager: who owns what changes, on objects that were applied. applied: the body says who owns what.
    """
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
    if applied:
        new["metadata"]["managedFields"] = meta["managedFields"]
    elif manager and old["metadata"].get("managedFields") and not _same(old, new):
        by = Owner(manager, "Update", kind.api_version, timestamp(), frozenset(), subresource)
        new["metadata"]["managedFields"] = ownership.after_update(old, new, by)
    if _same(old, new):
        return old
    if is_over(new):
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
    workloads.fill(kind, new)
    workloads.check(kind, new, old)
    if new.get("spec") != old.get("spec"):
        new["metadata"]["generation"] = int(old["metadata"].get("generation") or 1) + 1
    return new


def patch(
    storage: Objects,
    target: Target,
    body: Any,
    *,
    form: str,
    subresource: str = "",
    manager: str = "",
) -> Object:
    """Raises 415 for a form of patch that is not known, 422 for a JSON patch that does not apply."""
    new = patched(get(storage, target), body, form=form)
    return update(storage, target, new, subresource=subresource, manager=manager)


def patched(old: Object, body: Any, *, form: str) -> Object:
    """The object as the patch leaves it, kept nowhere yet."""
    apply = PATCHES.get(form)
    if apply is None:
        known = ", ".join(PATCHES)
        message = f"the body of the request was in an unknown format - accepted media types include: {known}"
        raise ApiError(415, "UnsupportedMediaType", message)
    if apply is not patches.json_patch and not isinstance(body, dict):
        raise bad_request("a patch of this form is a JSON object")
    try:
        new = apply(old, body)
    except patches.PatchError as error:
        raise ApiError(422, "Invalid", str(error)) from None
    if not isinstance(new, dict):
        raise bad_request("the patch leaves no object")
    return new


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
    """A pod on a node, and what has finalizers, is marked and goes later; so does a namespace that is not empty and
    what waits for its dependents (propagationPolicy Foreground). Everything else goes at once."""
    kind = target.kind
    old = get(storage, target)
    _check_preconditions(kind, old, options.get("preconditions") or {})
    policy = _policy(options)
    if policy == "Orphan":
        _orphan(storage, old)
    finalizers = list(old["metadata"].get("finalizers") or ())
    if policy == "Foreground" and FOREGROUND not in finalizers:
        finalizers.append(FOREGROUND)
    grace = _grace(kind, old, options.get("gracePeriodSeconds"))
    if grace == 0 and not finalizers and kind.kind != "Namespace":
        return storage.remove(kind.kind, target.key)
    before = old["metadata"].get("deletionGracePeriodSeconds")
    if before is not None and grace >= before:
        return old
    at = datetime.now(UTC) + timedelta(seconds=grace)
    marked: Object = {
        "deletionTimestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "deletionGracePeriodSeconds": grace,
    }
    if finalizers:
        marked["finalizers"] = finalizers
    new = {**old, "metadata": old["metadata"] | marked}
    if kind.kind == "Namespace":
        new["status"] = {**(old.get("status") or {}), "phase": "Terminating"}
    return storage.put(kind.kind, target.key, new)


def _policy(options: Object) -> str:
    policy = options.get("propagationPolicy")
    if policy is None:
        return "Orphan" if options.get("orphanDependents") is True else "Background"
    if policy not in ("Background", "Foreground", "Orphan"):
        raise bad_request(f"propagationPolicy: Unsupported value: {str(policy)[:40]!r}")
    return str(policy)


def _orphan(storage: Objects, owner: Object) -> None:
    """What it owns stays, and forgets it."""
    uid = owner["metadata"]["uid"]
    for kind in KINDS.values():
        for one in storage.values(kind.kind):
            meta = one["metadata"]
            owners = meta.get("ownerReferences") or []
            kept = [held for held in owners if held.get("uid") != uid]
            if len(kept) < len(owners):
                key = key_of(kind, meta.get("namespace", ""), meta["name"])
                storage.put(kind.kind, key, {**one, "metadata": {**meta, "ownerReferences": kept}})


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


def is_over(one: Object) -> bool:
    """It was being deleted, and the last finalizer has just been taken away."""
    meta = one["metadata"]
    if one["kind"] == "Namespace":
        return False  # it goes when it is empty
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
