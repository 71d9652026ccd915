"""The patches that kubectl and client libraries send: JSON merge and strategic merge.

Called by `resources`. Mirrors RFC 7386 and apimachinery/pkg/util/strategicpatch for the lists that pods and nodes have.
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
    "taints": ("key", "effect"),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "schedulingGates": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "hostAliases": ("ip",),
}
_PORT_KEYS = (("containerPort", "protocol"), ("port", "protocol"))


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
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name) or () if item not in value]
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, list):
            result[key] = _merge_list(key, result.get(key) or [], value)
        else:
            result[key] = strategic_merge(result.get(key), value)
    return result


def _merge_list(name: str, old: list[Any], patch: list[Any]) -> list[Any]:
    keys = MERGE_KEYS.get(name)
    if name == "ports":
        keys = next((pair for pair in _PORT_KEYS if any(pair[0] in item for item in patch)), None)
    if name == "finalizers":
        return [*old, *(item for item in patch if item not in old)]
    if keys is None or not all(isinstance(item, dict) for item in patch):
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = copy.copy(old)
    for item in patch:
        same = [
            i
            for i, have in enumerate(result)
            if all(have.get(k) == item.get(k) for k in keys if k in item)
        ]
        if item.get("$patch") == "delete":
            result = [have for i, have in enumerate(result) if i not in same]
        elif same:
            result[same[0]] = strategic_merge(result[same[0]], item)
        else:
            result.append(item)
    return result
