"""Deployments: one ReplicaSet for each template, the newest growing as the others shrink.

Called by `controllers`. Mirrors pkg/controller/deployment: RollingUpdate within maxSurge and maxUnavailable, Recreate,
revisions, and the conditions that `kubectl rollout status` waits for.
"""

from __future__ import annotations

from typing import Any

from schedviz.sandbox.controllers.world import (
    World,
    hash_of,
    is_leaving,
    reference,
    share,
    template_of,
)
from schedviz.sandbox.defaults import timestamp
from schedviz.sandbox.storage import Object

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"


def sync(world: World, one: Object) -> None:
    template = template_of(one)
    if template is None:
        return
    sets = world.owned(one, "ReplicaSet")
    if not is_leaving(one) and not one["spec"].get("paused"):
        newest = _newest(world, one, template, sets)
        sets = world.owned(one, "ReplicaSet") or [newest]
        if all(held["metadata"]["name"] != newest["metadata"]["name"] for held in sets):
            sets.append(newest)
        old = [held for held in sets if held["metadata"]["name"] != newest["metadata"]["name"]]
        _scale(world, one, newest, old)
        _forget_old(world, one, old)
        _say(world, one, newest, [*old, newest])


def _wanted(one: Object) -> int:
    return int((one.get("spec") or {}).get("replicas", 1))


def _has(one: Object, field: str) -> int:
    return int((one.get("status") or {}).get(field) or 0)


def _revision(one: Object) -> int:
    return int((one["metadata"].get("annotations") or {}).get(REVISION) or 0)


def _newest(world: World, one: Object, template: dict[str, Any], sets: list[Object]) -> Object:
    """The set of the present template; made, or given the next revision, where it is not the newest."""
    wanted = hash_of(template)
    last = max(map(_revision, sets), default=0)
    name = f"{one['metadata']['name']}-{wanted}"
    key = f"{one['metadata']['namespace']}/{name}"
    found = world.storage.get("ReplicaSet", key)
    if found is None:
        labels = ((template.get("metadata") or {}).get("labels") or {}) | {HASH: wanted}
        annotations = {DESIRED: str(_wanted(one)), REVISION: str(last + 1)}
        selector = one["spec"].get("selector") or {}
        body = {
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [reference(one)],
            },
            "spec": {
                "replicas": 0,
                "selector": {
                    **selector,
                    "matchLabels": (selector.get("matchLabels") or {}) | {HASH: wanted},
                },
                "template": {
                    **template,
                    "metadata": {**(template.get("metadata") or {}), "labels": labels},
                },
            },
        }
        found = world.make("ReplicaSet", one, body)
    elif _revision(found) < last:
        found = world.patch(found, {"metadata": {"annotations": {REVISION: str(last + 1)}}})
    revision = (found["metadata"].get("annotations") or {}).get(REVISION)
    world.patch(one, {"metadata": {"annotations": {REVISION: revision}}})
    return found


def _scale(world: World, one: Object, newest: Object, old: list[Object]) -> None:
    wanted = _wanted(one)
    strategy = one["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        for held in old:
            _set(world, held, 0)
        if not any(_has(held, "replicas") for held in old):
            _set(world, newest, wanted)
        return
    rolling = strategy.get("rollingUpdate") or {}
    surge = share(rolling.get("maxSurge", "25%"), wanted, up=True)
    missing = share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    if surge == 0 and missing == 0:
        missing = 1
    total = sum(map(_wanted, [*old, newest]))
    if _wanted(newest) > wanted:
        newest = _set(world, newest, wanted)
    elif _wanted(newest) < wanted:
        room = max(0, wanted + surge - total) if old else wanted
        newest = _set(world, newest, min(wanted, _wanted(newest) + room))
    # The old ones shrink as far as enough are available; those that are not go first.
    starting = _wanted(newest) - _has(newest, "availableReplicas")
    spare = sum(map(_wanted, [*old, newest])) - (wanted - missing) - max(0, starting)
    for held in sorted(old, key=_revision):
        less = min(max(spare, 0), _wanted(held))
        spare -= less
        _set(world, held, _wanted(held) - less)


def _set(world: World, held: Object, replicas: int) -> Object:
    return world.patch(held, {"spec": {"replicas": replicas}})


def _forget_old(world: World, one: Object, old: list[Object]) -> None:
    limit = int(one["spec"].get("revisionHistoryLimit", 10))
    empty = [held for held in old if not _wanted(held) and not _has(held, "replicas")]
    for held in sorted(empty, key=_revision)[: max(0, len(empty) - limit)]:
        world.delete(held)


def _say(world: World, one: Object, newest: Object, sets: list[Object]) -> None:
    now = [world.storage.get("ReplicaSet", world.key_of(held)) or held for held in sets]
    newest = next(h for h in now if h["metadata"]["name"] == newest["metadata"]["name"])
    wanted = _wanted(one)
    available = sum(_has(held, "availableReplicas") for held in now)
    total, updated = sum(_has(held, "replicas") for held in now), _has(newest, "replicas")
    rolling = (one["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    missing = share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    is_done = updated == total == available == wanted
    name = newest["metadata"]["name"]
    world.set_status(
        one,
        {
            "replicas": total,
            "updatedReplicas": updated,
            "readyReplicas": sum(_has(held, "readyReplicas") for held in now),
            "availableReplicas": available,
            "unavailableReplicas": max(0, total - available),
            "conditions": [
                _condition(one, "Available", *_availability(available >= wanted - missing)),
                _condition(one, "Progressing", *_progress(is_done, name)),
            ],
        },
    )


def _availability(enough: bool) -> tuple[str, str, str]:
    if enough:
        return "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    return "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."


def _progress(is_done: bool, name: str) -> tuple[str, str, str]:
    if is_done:
        return "True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'
    return "True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'


def _condition(one: Object, kind: str, status: str, reason: str, message: str) -> dict[str, str]:
    """With the times of the one before, as far as it says the same."""
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    known = (one.get("status") or {}).get("conditions") or ()
    before: Object = next((held for held in known if held.get("type") == kind), {})
    if all(before.get(name) == value for name, value in said.items()):
        return dict(before)
    now = timestamp()
    moved = before.get("lastTransitionTime", now) if before.get("status") == status else now
    return {**said, "lastUpdateTime": now, "lastTransitionTime": moved}
