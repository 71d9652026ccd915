"""PodDisruptionBudgets: how many pods may be disrupted now.

Called by `controllers`. Mirrors pkg/controller/disruption.
"""

from __future__ import annotations

from typing import Any

from schedviz.kube import matching
from schedviz.sandbox.controllers.world import (
    World,
    active,
    controller_uid,
    is_ready,
    phase,
    share,
)
from schedviz.sandbox.defaults import timestamp
from schedviz.sandbox.storage import Object

_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def sync(world: World, one: Object) -> None:
    spec = one.get("spec") or {}
    selector = matching.label_selector(spec.get("selector"))
    namespace = one["metadata"]["namespace"]
    pods = [
        pod
        for pod in active(world.storage.values("Pod"))
        if pod["metadata"]["namespace"] == namespace
        and selector is not None
        and selector.matches(pod["metadata"].get("labels") or {})
    ]
    expected, desired = _expected(world, spec, pods)
    healthy = sum(1 for pod in pods if phase(pod) == "Running" and is_ready(pod))
    allowed = max(0, healthy - desired) if expected else 0
    generation = one["metadata"].get("generation", 1)
    counts = {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected}
    status = {**counts, "disruptionsAllowed": allowed, "observedGeneration": generation}
    world.patch(one, {"status": status | {"conditions": [_condition(one, allowed, generation)]}})


def _expected(world: World, spec: dict[str, object], pods: list[Object]) -> tuple[int, int]:
    """(pods that should be there, pods that must stay)."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most is not None:
        expected = _scale_of(world, pods)
        return expected, max(0, expected - share(most, expected, up=True))
    if isinstance(least, str):
        expected = _scale_of(world, pods)
        return expected, share(least, expected, up=True)
    return len(pods), int(str(least if least is not None else 1))


def _scale_of(world: World, pods: list[Object]) -> int:
    """What the controllers of the pods want; a pod without one counts itself."""
    wanted: dict[str, int] = {}
    for pod in pods:
        uid = controller_uid(pod)
        owner: Object = next(
            (o for o in pod["metadata"].get("ownerReferences") or () if o.get("controller")), {}
        )
        found = None
        if owner.get("kind") in _SCALED:
            key = f"{pod['metadata']['namespace']}/{owner['name']}"
            found = world.storage.get(owner["kind"], key)
        if found is None:
            wanted[f"pod {pod['metadata']['uid']}"] = 1
        else:
            wanted[str(uid)] = int((found.get("spec") or {}).get("replicas", 1))
    return sum(wanted.values())


def _condition(one: Object, allowed: int, generation: int) -> dict[str, object]:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    said = {"type": "DisruptionAllowed", "status": status, "reason": reason, "message": ""}
    known: Any = (one.get("status") or {}).get("conditions") or ({},)
    moved = known[0].get("lastTransitionTime") if known[0].get("status") == status else None
    return {**said, "observedGeneration": generation, "lastTransitionTime": moved or timestamp()}
