"""What create, update, patch, delete and bind do to an object: names, versions, defaults, conflicts.

Called by `server` for requests and by `kubelet` and `scenarios` for what they play. Mirrors the registry strategies of
kube-apiserver as far as scheduling and its clients notice. Quantities and selectors are not validated yet.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox import patches
from schedviz.sandbox.status import (
    STALE,
    ApiError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from schedviz.sandbox.storage import Object, Storage

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
PATCHES = {
    "application/merge-patch+json": patches.merge,
    "application/strategic-merge-patch+json": patches.strategic_merge,
}


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def get(storage: Storage, target: Target) -> Object:
    found = storage.get(target.kind.kind, target.key)
    if found is None:
        raise not_found(target.kind.plural, target.name)
    return found


def create(storage: Storage, kind: Kind, namespace: str, body: Object) -> Object:
    """Raises 409 AlreadyExists, 404 for a missing namespace, 422 without a name."""
    meta = _metadata(body)
    if kind.namespaced:
        if meta.get("namespace", namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace
        if storage.get("Namespace", namespace) is None:
            raise not_found("namespaces", namespace)
    else:
        meta.pop("namespace", None)
    if not meta.get("name"):
        if not meta.get("generateName"):
            raise invalid(
                kind.kind, "", "metadata.name: Required value: name or generateName is required"
            )
        meta["name"] = meta["generateName"] + "".join(secrets.choice(_ALPHABET) for _ in range(5))
    key = key_of(kind, namespace, meta["name"])
    if storage.get(kind.kind, key) is not None:
        raise already_exists(kind.plural, meta["name"])
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = timestamp()
    meta.setdefault("generation", 1)
    meta.pop("deletionTimestamp", None)
    new: Object = {"apiVersion": kind.api_version, "kind": kind.kind, **body, "metadata": meta}
    _default(storage, kind, new)
    return storage.put(kind.kind, key, new)


def update(storage: Storage, target: Target, body: Object, *, subresource: str = "") -> Object:
    """Replace spec and metadata, or the status only. Raises 409 when resourceVersion is stale."""
    kind, name = target.kind, target.name
    old = get(storage, target)
    meta = _metadata(body)
    if meta.get("name", name) != name:
        raise bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
    _check_version(kind, old, meta)
    if subresource == "status":
        new = {**old, "metadata": dict(old["metadata"]), "status": body.get("status") or {}}
    else:
        new = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            **body,
            "metadata": _kept(old["metadata"], meta),
        }
        if "status" in old:
            new["status"] = old["status"]
        if kind.kind == "Pod":
            _check_immutable(old, new)
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = int(old["metadata"].get("generation") or 1) + 1
    if _same(old, new):
        return old
    return storage.put(kind.kind, target.key, new)


def patch(
    storage: Storage, target: Target, body: Object, *, form: str, subresource: str = ""
) -> Object:
    """Raises 415 for a form of patch that is not known."""
    apply = PATCHES.get(form)
    if apply is None:
        known = ", ".join(PATCHES)
        message = f"the body of the request was in an unknown format - accepted media types include: {known}"
        raise ApiError(415, "UnsupportedMediaType", message)
    old = get(storage, target)
    if not isinstance(body, dict):
        raise bad_request("a patch is a JSON object")
    new = apply(old, body)
    if (body.get("metadata") or {}).get("resourceVersion") is None:
        new = {
            **new,
            "metadata": {k: v for k, v in new["metadata"].items() if k != "resourceVersion"},
        }
    return update(storage, target, new, subresource=subresource)


def delete(storage: Storage, target: Target, options: Object) -> Object:
    """A bound pod gets a deletionTimestamp and goes when its grace is over; everything else goes at once."""
    kind, name = target.kind, target.name
    old = get(storage, target)
    wanted = options.get("preconditions") or {}
    for field in ("uid", "resourceVersion"):
        have = old["metadata"].get(field)
        if wanted.get(field) not in (None, have):
            raise conflict(
                kind.plural,
                name,
                f"Precondition failed: {field} in precondition: {wanted[field]}, in object: {have}",
            )
    key = target.key
    if (
        kind.kind == "Pod"
        and (old.get("spec") or {}).get("nodeName")
        and options.get("gracePeriodSeconds") != 0
    ):
        if old["metadata"].get("deletionTimestamp"):
            return old
        grace = options.get("gracePeriodSeconds")
        grace = (old["spec"].get("terminationGracePeriodSeconds") or 30) if grace is None else grace
        meta = {
            **old["metadata"],
            "deletionTimestamp": timestamp(),
            "deletionGracePeriodSeconds": grace,
        }
        return storage.put("Pod", key, {**old, "metadata": meta})
    return storage.remove(kind.kind, key)


def bind(storage: Storage, namespace: str, name: str, binding: Object) -> None:
    """POST pods/<name>/binding. Raises 404, 409 when the pod is bound or on its way out, 400 without a target."""
    old = get(storage, Target(KINDS["Pod"], namespace, name))
    target = (binding.get("target") or {}).get("name")
    if not target:
        raise invalid("Binding", name, "target.name: Required value")
    uid = (binding.get("metadata") or {}).get("uid")
    if uid and uid != old["metadata"]["uid"]:
        raise conflict(
            "pods/binding",
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}",
        )
    if old["metadata"].get("deletionTimestamp"):
        raise conflict(
            "pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host"
        )
    bound_to = old["spec"].get("nodeName")
    if bound_to:
        raise conflict(
            "pods/binding",
            name,
            f"pod {name} is already assigned to node {bound_to!r}".replace("'", '"'),
        )
    if old["spec"].get("schedulingGates"):
        raise conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(),
    }
    status = patches.strategic_merge(old.get("status") or {}, {"conditions": [condition]})
    for one in status["conditions"]:
        if one["type"] == "PodScheduled":
            one.pop("reason", None)
            one.pop("message", None)
    storage.put(
        "Pod",
        f"{namespace}/{name}",
        {
            **old,
            "metadata": dict(old["metadata"]),
            "spec": {**old["spec"], "nodeName": target},
            "status": status,
        },
    )


def _name(kind: Kind, meta: dict[str, Any]) -> str:
    if meta.get("name"):
        return str(meta["name"])
    if not meta.get("generateName"):
        raise invalid(
            kind.kind, "", "metadata.name: Required value: name or generateName is required"
        )
    return str(meta["generateName"]) + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def _metadata(body: Object) -> dict[str, Any]:
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        raise bad_request("the object has no metadata")
    return dict(meta)


def _check_version(kind: Kind, old: Object, meta: dict[str, Any]) -> None:
    asked = meta.get("resourceVersion")
    if asked and asked != old["metadata"]["resourceVersion"]:
        raise conflict(kind.plural, old["metadata"]["name"], STALE)
    if meta.get("uid") and meta["uid"] != old["metadata"]["uid"]:
        raise conflict(
            kind.plural,
            old["metadata"]["name"],
            f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {old['metadata']['uid']}",
        )


_SYSTEM_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "generateName",
)


def _kept(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """New metadata with what only the system sets as it was."""
    kept = {k: v for k, v in new.items() if k not in _SYSTEM_FIELDS}
    return {**kept, **{k: old[k] for k in _SYSTEM_FIELDS if k in old}}


def _same(old: Object, new: Object) -> bool:
    """A write that changes nothing makes no new version."""

    def plain(one: Object) -> Object:
        return {
            **one,
            "metadata": {k: v for k, v in one["metadata"].items() if k != "resourceVersion"},
        }

    return plain(old) == plain(new)


def _check_immutable(old: Object, new: Object) -> None:
    for field in ("nodeName", "schedulerName", "priority"):
        if (old.get("spec") or {}).get(field) != (new.get("spec") or {}).get(field):
            raise invalid(
                "Pod", old["metadata"]["name"], f"spec.{field}: Forbidden: field is immutable"
            )


def _default(storage: Storage, kind: Kind, new: Object) -> None:
    if kind.kind == "Pod":
        _default_pod(storage, new)
    elif kind.kind == "Node":
        status = new["status"] = dict(new.get("status") or {})
        if "allocatable" not in status and "capacity" in status:
            status["allocatable"] = dict(status["capacity"])
    elif kind.kind == "Namespace":
        new["spec"] = {"finalizers": ["kubernetes"]}
        new["status"] = {"phase": "Active"}


def _default_pod(storage: Storage, pod: Object) -> None:
    spec = pod["spec"] = dict(pod.get("spec") or {})
    for field, value in (
        ("schedulerName", "default-scheduler"),
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("preemptionPolicy", "PreemptLowerPriority"),
        ("enableServiceLinks", True),
        ("securityContext", {}),
    ):
        spec.setdefault(field, value)
    _admit_priority(storage, spec)
    status = pod["status"] = {"phase": "Pending", "qosClass": _qos(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": timestamp(),
            }
        ]


def _admit_priority(storage: Storage, spec: dict[str, Any]) -> None:
    """The priority admission: the value comes from the class, never from the pod."""
    name = spec.get("priorityClassName")
    if not name:
        default = next((c for c in storage.values("PriorityClass") if c.get("globalDefault")), None)
        spec["priority"] = int(default["value"]) if default else 0
        if default:
            spec["priorityClassName"] = default["metadata"]["name"]
            spec["preemptionPolicy"] = default.get("preemptionPolicy") or "PreemptLowerPriority"
        return
    if name in SYSTEM_CLASSES:
        spec["priority"] = SYSTEM_CLASSES[name]
        return
    found = storage.get("PriorityClass", name)
    if found is None:
        raise ApiError(403, "Forbidden", f"no PriorityClass with name {name} was found")
    spec["priority"] = int(found["value"])
    spec["preemptionPolicy"] = found.get("preemptionPolicy") or "PreemptLowerPriority"


def _qos(spec: dict[str, Any]) -> str:
    resources = [
        c.get("resources") or {} for c in spec.get("containers") or () if isinstance(c, dict)
    ]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    full = all(
        (r.get("limits") or {}).get(name)
        and (r.get("requests") or r["limits"]).get(name) == r["limits"][name]
        for r in resources
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if full else "Burstable"
