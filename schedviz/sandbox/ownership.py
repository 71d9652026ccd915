"""Who owns which fields of an object: metadata.managedFields as sets of paths.

Used by `apply` (server-side apply) and by `resources` for changes of objects that were applied. Mirrors
structured-merge-diff: a path is made of f:<field>, k:<keys of an item>, v:<a value of a set>. Objects that nobody ever
applied carry no managedFields: what they hold is `before-first-apply`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from schedviz.sandbox.patches import merge_keys
from schedviz.sandbox.storage import Object

Path = tuple[str, ...]
Paths = frozenset[Path]
ATOMIC = {"selector", "nodeSelector", "labelSelector", "namespaceSelector", "securityContext"}
_SETS = {"finalizers"}
_NOBODYS = {"apiVersion", "kind"}
_NOBODYS_META = {
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "managedFields", "generateName", "selfLink",
}  # fmt: skip
BEFORE = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of managedFields."""

    manager: str
    operation: str
    version: str
    time: str
    paths: Paths
    subresource: str = ""

    @property
    def told(self) -> str:
        """As a conflict names it."""
        name = orjson.dumps(self.manager).decode()
        if self.subresource:
            name += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            return f"{name} using {self.version} at {self.time}"
        return name

    def is_same(self, other: Owner) -> bool:
        mine = (self.manager, self.operation, self.subresource)
        return mine == (other.manager, other.operation, other.subresource)


# ---- paths ---------------------------------------------------------------------------------------------------------


def paths_of(one: Object) -> Paths:
    """Every field that an object says, apart from what names it."""
    found: set[Path] = set()
    for name, value in one.items():
        if name == "metadata":
            kept = {field: held for field, held in value.items() if field not in _NOBODYS_META}
            _collect(("f:metadata",), name, kept, found)
        elif name not in _NOBODYS:
            _collect((f"f:{name}",), name, value, found)
    found.discard(("f:metadata",))
    return frozenset(found)


def _collect(path: Path, name: str, value: Any, found: set[Path]) -> None:
    items = items_of(name, value)
    if isinstance(value, dict) and value and name not in ATOMIC:
        for field, held in value.items():
            _collect((*path, f"f:{field}"), field, held, found)
    elif items is not None:
        for element, item in items:
            found.add((*path, element))
            if isinstance(item, dict):
                for field, held in item.items():
                    _collect((*path, element, f"f:{field}"), field, held, found)
    else:
        found.add(path)


def items_of(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """(path element, item) of a list that is merged item by item; None: not such a list."""
    if not isinstance(value, list) or not value:
        return None
    if name in _SETS:
        return [(f"v:{orjson.dumps(item).decode()}", item) for item in value]
    keys = merge_keys(name, value) if all(isinstance(item, dict) for item in value) else None
    if keys is None or not all(keys[0] in item for item in value):
        return None
    found = []
    for item in value:
        said = {key: item.get(key, "TCP" if key == "protocol" else None) for key in keys}
        text = orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()
        found.append((f"k:{text}", item))
    return found


_ABSENT = object()


def value_at(one: Any, path: Path) -> Any:
    """What stands there; _ABSENT, equal to nothing else, where nothing does."""
    name = ""
    for element in path:
        if element.startswith("f:"):
            name = element[2:]
            one = one.get(name, _ABSENT) if isinstance(one, dict) else _ABSENT
        else:
            one = dict(items_of(name, one) or ()).get(element, _ABSENT)
    return one


def is_item(path: Path) -> bool:
    """The item itself, not one of its fields: nothing to differ in."""
    return not path[-1].startswith("f:")


def without(one: Any, paths: Iterable[Path]) -> Any:
    """A copy in which nothing stands at these paths, nor what only they held."""
    for path in sorted(paths, key=len, reverse=True):
        one = _without(one, path, "")
    return one


def _without(one: Any, path: Path, name: str) -> Any:
    element, rest = path[0], path[1:]
    if element.startswith("f:"):
        field = element[2:]
        if not isinstance(one, dict) or field not in one:
            return one
        kept = _without(one[field], rest, field) if rest else None
        if kept is None or (rest and kept in ({}, [])):
            return {key: held for key, held in one.items() if key != field}
        return {**one, field: kept}
    changed = []
    for known, item in items_of(name, one) or ():
        if known != element:
            changed.append(item)
        elif rest:
            changed.append(_without(item, rest, ""))
    return changed if items_of(name, one) is not None else one


def told(path: Path) -> str:
    """.spec.containers[name="main"].image"""
    text = ""
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            pairs = orjson.loads(rest).items()
            text += "[" + ",".join(f"{key}={orjson.dumps(v).decode()}" for key, v in pairs) + "]"
        else:
            text += f"[={rest}]"
    return text


# ---- managedFields -------------------------------------------------------------------------------------------------


def owners_of(one: Object) -> list[Owner]:
    found = []
    for raw in one["metadata"].get("managedFields") or ():
        paths: set[Path] = set()
        _read((), raw.get("fieldsV1") or {}, paths)
        said = (raw.get("manager", ""), raw.get("operation", ""), raw.get("apiVersion", ""))
        more = (raw.get("time", ""), frozenset(paths), raw.get("subresource", ""))
        found.append(Owner(*said, *more))
    return found


def _read(path: Path, held: dict[str, Any], found: set[Path]) -> None:
    for element, below in held.items():
        if element == ".":
            found.add(path)
        elif below:
            _read((*path, element), below, found)
        else:
            found.add((*path, element))


def as_entries(owners: Iterable[Owner]) -> list[Object]:
    entries = []
    for owner in owners:
        if not owner.paths:
            continue
        entry: Object = {"manager": owner.manager, "operation": owner.operation}
        entry |= {"apiVersion": owner.version, "time": owner.time, "fieldsType": "FieldsV1"}
        entry["fieldsV1"] = _written(owner.paths)
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    return entries


def _written(paths: Paths) -> Object:
    tree: Object = {}
    for path in sorted(paths):
        at = tree
        for element in path:
            at = at.setdefault(element, {})
        if is_item(path):
            at["."] = {}
    return tree


def after_update(old: Object, new: Object, by: Owner) -> list[Object]:
    """The entries when `by` has changed the object: what it changed is its own now, what is gone is nobody's."""
    there, before = paths_of(new), paths_of(old)
    changed = {
        path
        for path in there
        if path not in before or (not is_item(path) and value_at(old, path) != value_at(new, path))
    }
    owners = owners_of(old)
    mine = next((one for one in owners if one.is_same(by)), replace(by, paths=frozenset()))
    others = [
        replace(one, paths=(one.paths - changed) & there) for one in owners if not one.is_same(by)
    ]
    if changed:
        mine = replace(by, paths=(mine.paths | changed) & there)
    return as_entries([*others, mine])
