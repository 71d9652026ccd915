"""ReplicaSets and ReplicationControllers: so many pods of one template.

Called by `controllers`. Mirrors pkg/controller/replicaset.
"""

from __future__ import annotations

from typing import Any

from schedviz.sandbox.controllers.world import (
    BATCH,
    World,
    active,
    dearness,
    is_leaving,
    is_ready,
    template_of,
)
from schedviz.sandbox.defaults import condition
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Object

RETRY_SECONDS = 5.0


def sync(world: World, one: Object) -> None:
    template = template_of(one)
    if template is None:
        return
    pods = active(world.owned(one, "Pod"))
    wanted = int(one["spec"].get("replicas", 1))
    failed = ""
    if not is_leaving(one):
        failed = _settle(world, one, template, pods, wanted)
    ready = sum(map(is_ready, pods))
    failure = condition("ReplicaFailure", "True", reason="FailedCreate", message=failed)
    failure.pop("lastProbeTime")
    known = (one.get("status") or {}).get("conditions") or []
    same = [known[0]] if known and known[0].get("message") == failed else [failure]
    world.set_status(
        one,
        {
            "replicas": len(active(world.owned(one, "Pod"))),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "conditions": same if failed else None,
        },
    )


def _settle(
    world: World, one: Object, template: dict[str, Any], pods: list[Object], wanted: int
) -> str:
    """Makes or deletes the difference; answers why pods could not be made."""
    missing = wanted - len(pods)
    try:
        for _ in range(min(missing, BATCH)):
            world.make_pod(one, template)
    except ApiError as error:
        world.look_at_later(RETRY_SECONDS, one["kind"], world.key_of(one))
        return error.message
    for pod in sorted(pods, key=dearness)[: max(-missing, 0)]:
        world.delete(pod)
    return ""
