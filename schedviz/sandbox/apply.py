"""Server-side apply: an object is what its appliers say, and each field has an owner.

Called by `rest` for application/apply-patch+yaml. Mirrors fieldmanager and structured-merge-diff of apiserver: fields
of others conflict unless forced; what an applier no longer says goes, unless somebody else owns it too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import ownership, resources
from schedviz.sandbox.defaults import timestamp
from schedviz.sandbox.ownership import BEFORE, Owner, Path
from schedviz.sandbox.resources import Target
from schedviz.sandbox.status import ApiError, bad_request, invalid
from schedviz.sandbox.storage import Object, Objects

MEDIA_TYPE = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Applier:
    """force: take the fields of others."""

    manager: str
    force: bool = False
    subresource: str = ""


def apply(storage: Objects, target: Target, said: Object, by: Applier) -> tuple[Object, bool]:
    """(the object, whether it is new). Raises 409 for fields of others, 400, 422."""
    _check(target, said, by)
    kind = KINDS[target.kind.kind]
    live = storage.get(kind.kind, target.key)
    mine = Owner(
        by.manager,
        "Apply",
        target.kind.api_version,
        timestamp(),
        ownership.paths_of(said),
        by.subresource,
    )
    if live is None:
        if by.subresource:
            resources.get(storage, target)
        meta = {**said["metadata"], "name": target.name}
        meta["managedFields"] = ownership.as_entries([mine])
        body = {**said, "metadata": meta}
        return resources.create(storage, kind, target.namespace, body), True
    owners = ownership.owners_of(live) or [_before(live)]
    others = [one for one in owners if not one.is_same(mine)]
    taken = _conflicts(live, said, mine, others)
    if taken and not by.force:
        raise _conflict(taken)
    lost = {path for _, path in taken}
    others = [replace(one, paths=one.paths - lost) for one in others]
    last = next((one for one in owners if one.is_same(mine)), None)
    if last is not None and last.paths == mine.paths:
        mine = last
    merged = merge(live, said, "")
    if last is not None:
        kept = mine.paths.union(*(one.paths for one in others))
        merged = ownership.without(merged, last.paths - kept)
    meta = {**merged["metadata"], "managedFields": ownership.as_entries([*others, mine])}
    meta["resourceVersion"] = said["metadata"].get("resourceVersion") or ""
    new = {**merged, "metadata": meta}
    return resources.update(storage, target, new, subresource=by.subresource, applied=True), False


def _check(target: Target, said: Object, by: Applier) -> None:
    if not by.manager:
        why = "fieldManager: Required value: is required for apply patch"
        raise invalid("PatchOptions.meta.k8s.io", "", why)
    for field, wanted in (("apiVersion", target.kind.api_version), ("kind", target.kind.kind)):
        if said.get(field) != wanted:
            raise bad_request(f"{field}: an apply says {wanted!r} here, not {said.get(field)!r}")
    meta = said.get("metadata")
    if not isinstance(meta, dict) or meta.get("name", target.name) != target.name:
        raise bad_request("metadata.name: the name in the data is not the name on the URL")
    if meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")


def _before(live: Object) -> Owner:
    """What was there before anybody applied."""
    paths = ownership.paths_of({name: v for name, v in live.items() if name != "status"})
    return Owner(BEFORE, "Update", str(live["apiVersion"]), timestamp(), paths)


def _conflicts(
    live: Object, said: Object, mine: Owner, others: list[Owner]
) -> list[tuple[Owner, Path]]:
    return [
        (one, path)
        for one in others
        for path in sorted(one.paths & mine.paths)
        if not ownership.is_item(path)
        and ownership.value_at(live, path) != ownership.value_at(said, path)
    ]


def _conflict(taken: list[tuple[Owner, Path]]) -> ApiError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {owner.told}",
            "field": ownership.told(path),
        }
        for owner, path in taken
    ]
    if len(taken) == 1:
        words = f"1 conflict: conflict with {taken[0][0].told}: {ownership.told(taken[0][1])}"
    else:
        lines: list[str] = []
        for owner in dict.fromkeys(owner for owner, _ in taken):
            lines.append(f"conflicts with {owner.told}:")
            lines += [f"- {ownership.told(path)}" for one, path in taken if one is owner]
        words = f"{len(taken)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", f"Apply failed with {words}", causes=causes)


def merge(live: Any, said: Any, name: str) -> Any:
    """Objects field by field, keyed lists item by item; what is said replaces everything else."""
    if isinstance(live, dict) and isinstance(said, dict) and name not in ownership.ATOMIC:
        merged = {field: merge(live.get(field), value, field) for field, value in said.items()}
        return {**live, **merged}
    asked, there = ownership.items_of(name, said), ownership.items_of(name, live)
    if asked is None or there is None:
        return said
    wanted = dict(asked)
    kept = [merge(item, wanted.pop(key, item), "") for key, item in there]
    return [*kept, *wanted.values()]
