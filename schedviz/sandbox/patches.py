"""The patches that kubectl and client libraries send: JSON merge, strategic merge and JSON patch.

Called by `resources`. Mirrors RFC 7386, RFC 6902 and apimachinery/pkg/util/strategicpatch for the lists of
pods and nodes.
"""

from __future__ import annotations

import copy
from typing import Any

# Lists merged by key; every other list is replaced.
MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "schedulingGates": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "hostAliases": ("ip",),
    "podIPs": ("ip",),
    "hostIPs": ("ip",),
    "volumeDevices": ("devicePath",),
    "resourceClaims": ("name",),
    "secrets": ("name",),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))


class PatchError(ValueError):
    """A patch that can't be applied; the message says which part of it and why."""


def merge(target: Any, patch: Any) -> Any:
    """JSON merge patch: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic_merge(target: Any, patch: Any) -> Any:
    """Like `merge`, but lists with a merge key are merged item by item; knows $patch: delete and replace."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith(("$setElementOrder/", "$retainKeys")):
            continue
        if key.startswith("$deleteFromPrimitiveList/"):
            name, gone = key.partition("/")[2], value if isinstance(value, list) else []
            result[name] = [item for item in result.get(name) or () if item not in gone]
        elif value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _merge_list(key, result.get(key) or [], value)
        else:
            result[key] = strategic_merge(result.get(key), value)
    return result


def merge_keys(name: str, items: list[Any]) -> tuple[str, ...] | None:
    """The fields that tell the items of this list apart; None: it is replaced as a whole."""
    if name == "ports":
        return next((pair for pair in _PORT_KEYS if any(pair[0] in item for item in items)), None)
    return MERGE_KEYS.get(name)


def _merge_list(name: str, old: Any, patch: list[Any]) -> list[Any]:
    if not isinstance(old, list):
        old = []
    if name == "finalizers":
        return [*old, *(item for item in patch if item not in old)]
    if not all(isinstance(item, dict) for item in (*old, *patch)):
        return patch
    keys = merge_keys(name, patch)
    if keys is None:
        return list(patch)
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result: list[Any] = list(old)
    for item in patch:
        if keys[0] not in item:
            raise PatchError(f"an item of {name} does not contain the merge key {keys[0]}")
        result = _merge_item(result, item, keys)
    return result


def _merge_item(old: list[Any], item: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    asked = [key for key in keys if key in item]
    same = [i for i, have in enumerate(old) if all(have.get(k) == item[k] for k in asked)]
    if item.get("$patch") == "delete":
        return [have for i, have in enumerate(old) if i not in same]
    if not same:
        return [*old, strategic_merge({}, item)]
    first = same[0]
    return [*old[:first], strategic_merge(old[first], item), *old[first + 1 :]]


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902: add, remove, replace, move, copy, test; all of it or nothing. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    document = copy.deepcopy(target)
    for number, operation in enumerate(operations):
        try:
            document = _apply(document, operation)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise PatchError(f"operation {number} ({str(operation)[:120]}): {error}") from None
    return document


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    name, path = operation["op"], _pointer(operation["path"])
    if name in ("move", "copy"):
        source = _pointer(operation["from"])
        value = copy.deepcopy(_found(document, source))
        return _put(_drop(document, source) if name == "move" else document, path, value)
    if name == "remove":
        return _drop(document, path)
    if name == "add":
        return _put(document, path, operation["value"])
    have = _found(document, path)
    if name == "replace":
        return _put(_drop(document, path) if path else document, path, operation["value"])
    if name == "test":
        if have != operation["value"]:
            raise ValueError("testing value failed")
        return document
    raise ValueError(f"{name!r} is not an operation: use add, remove, replace, move, copy or test")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise ValueError(f"path {text!r} does not start with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _step(holder: Any, part: str) -> Any:
    """The key or index of an existing member."""
    if isinstance(holder, list):
        if not part.isdecimal() or int(part) >= len(holder):
            raise ValueError(f"there is no item {part!r} in a list of {len(holder)}")
        return int(part)
    if not isinstance(holder, dict) or part not in holder:
        raise ValueError(f"there is no {part!r} at this path")
    return part


def _found(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[_step(document, part)]
    return document


def _drop(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    holder = _found(document, path[:-1])
    del holder[_step(holder, path[-1])]
    return document


def _put(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    holder, last = _found(document, path[:-1]), path[-1]
    if isinstance(holder, list):
        if last != "-" and (not last.isdecimal() or int(last) > len(holder)):
            raise ValueError(f"there is no place {last!r} in a list of {len(holder)}")
        holder.insert(len(holder) if last == "-" else int(last), value)
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        raise ValueError("the path leads to neither an object nor a list")
    return document
