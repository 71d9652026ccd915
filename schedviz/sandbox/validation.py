"""What the API server refuses before an object is stored: wrong shapes, bad names, changes of what may not change.

Called by `resources`. Only what must hold for the objects to be handled at all: quantities, selectors and operators are
let in as they are, so that a scheduler meets them.
"""

from __future__ import annotations

import re
from typing import Any

from schedviz.kube.kinds import Kind
from schedviz.sandbox.status import ApiError, bad_request, invalid
from schedviz.sandbox.storage import Object

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS_LABEL = re.compile(_LABEL)
_MAPS = ("labels", "annotations")
_POD_LISTS = ("containers", "initContainers", "schedulingGates", "tolerations", "volumes")
ONLY_THESE = (
    "spec: Forbidden: pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def metadata(body: Object) -> dict[str, Any]:
    """A copy of the object's metadata. Raises 400 when it does not have the form that the API defines."""
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        raise bad_request("metadata: the object has none; give it at least a name")
    for name in ("name", "namespace", "generateName", "uid", "resourceVersion"):
        if not isinstance(meta.get(name) or "", str):
            raise _wrong(f"metadata.{name}", "a string")
    for name in _MAPS:
        held = meta.get(name) or {}
        if not isinstance(held, dict) or not all(isinstance(v, str) for v in held.values()):
            raise _wrong(f"metadata.{name}", "a map of strings to strings")
    for name in ("finalizers", "ownerReferences"):
        if not isinstance(meta.get(name) or [], list):
            raise _wrong(f"metadata.{name}", "a list")
    return {name: value for name, value in meta.items() if value is not None}


def shape(kind: Kind, body: Object) -> None:
    """Raises 400 where the parts that the server itself reads are not objects and lists, or the kind is another's."""
    if body.get("kind") not in (None, "", kind.kind):
        raise bad_request(
            f"the kind in the data ({body['kind']}) does not match the expected kind ({kind.kind})"
        )
    for name in ("spec", "status"):
        if kind.kind != "Event" and not isinstance(body.get(name) or {}, dict):
            raise _wrong(name, "an object")
    if kind.kind == "PriorityClass" and not _is_int(body.get("value") or 0):
        raise _wrong("value", "an integer")
    if kind.kind in ("Pod", "Node"):
        _status_shape(body.get("status") or {})
    if kind.kind == "Pod":
        _pod_shape(body.get("spec") or {})


def _status_shape(status: dict[str, Any]) -> None:
    for name in ("conditions", "containerStatuses"):
        _objects(f"status.{name}", status.get(name))


def _pod_shape(spec: dict[str, Any]) -> None:
    for name in _POD_LISTS:
        _objects(f"spec.{name}", spec.get(name))
    for name in ("nodeName", "schedulerName", "priorityClassName"):
        if not isinstance(spec.get(name) or "", str):
            raise _wrong(f"spec.{name}", "a string")
    for name in ("priority", "terminationGracePeriodSeconds"):
        if not _is_int(spec.get(name) or 0):
            raise _wrong(f"spec.{name}", "an integer")
    for name in ("containers", "initContainers"):
        for number, one in enumerate(spec.get(name) or ()):
            where = f"spec.{name}[{number}]"
            resources = one.get("resources") or {}
            for at, held in (
                ("resources", resources),
                *(
                    (f"resources.{n}", resources.get(n) or {})
                    for n in ("requests", "limits")
                    if isinstance(resources, dict)
                ),
            ):
                if not isinstance(held, dict):
                    raise _wrong(f"{where}.{at}", "an object")


def _objects(where: str, value: object) -> None:
    if value is not None and (
        not isinstance(value, list) or not all(isinstance(one, dict) for one in value)
    ):
        raise _wrong(where, "a list of objects")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(where: str, what: str) -> ApiError:
    return bad_request(f"{where}: the API defines {what} here")


def name(kind: Kind, given: str) -> str:
    """Raises 422 for a name that can't stand in a path or a label."""
    form = _DNS_LABEL if kind.kind == "Namespace" else _SUBDOMAIN
    longest = 63 if kind.kind == "Namespace" else 253
    if len(given) > longest or not form.fullmatch(given):
        word = "label" if kind.kind == "Namespace" else "subdomain"
        raise invalid(
            kind.kind,
            given,
            f'metadata.name: Invalid value: "{given}": a lowercase RFC 1123 {word} must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
            f"(at most {longest} characters)",
        )
    return given


def pod_update(old: Object, new: Object) -> None:
    """Raises 422 when more of a pod's spec changes than may."""
    have, want = old.get("spec") or {}, new.get("spec") or {}
    gates = [gate.get("name") for gate in have.get("schedulingGates") or ()]
    added = [g.get("name") for g in want.get("schedulingGates") or () if g.get("name") not in gates]
    pod = old["metadata"]["name"]
    if added:
        why = f'only deletion is allowed, but found new scheduling gate "{added[0]}"'
        raise invalid("Pod", pod, f"spec.schedulingGates: Forbidden: {why}")
    lost = [
        one for one in have.get("tolerations") or () if one not in (want.get("tolerations") or ())
    ]
    if lost or _fixed(have, bool(gates)) != _fixed(want, bool(gates)):
        raise invalid("Pod", pod, ONLY_THESE)


def _fixed(spec: dict[str, Any], is_gated: bool) -> dict[str, Any]:
    """What of a pod's spec may not change; a gated pod may still be told where to go."""
    free = {
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
        "schedulingGates",
    }
    if is_gated:
        free |= {"nodeSelector", "affinity"}
    kept = {
        field: value
        for field, value in spec.items()
        if field not in free and value not in (None, [], {})
    }
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{k: v for k, v in c.items() if k != "image"} for c in kept[field]]
    return kept
