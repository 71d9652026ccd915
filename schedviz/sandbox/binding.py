"""The pod's subresources that are requests rather than parts of it: binding and eviction.

Called by `rest`. Mirrors pkg/registry/core/pod/storage (storage.go, eviction.go).
"""

from __future__ import annotations

from typing import Any

from schedviz.kube import matching
from schedviz.kube.kinds import KINDS
from schedviz.sandbox import defaults, patches, resources, validation
from schedviz.sandbox.annotations import DENY_BINDING_SECONDS, age, seconds_of
from schedviz.sandbox.resources import Target
from schedviz.sandbox.status import ApiError, bad_request, conflict, invalid
from schedviz.sandbox.storage import Object, Objects

DENIED = 'admission webhook "quota.example.com" denied the request: the quota is still being booked'
TOO_FEW = "Cannot evict pod as it would violate the pod's disruption budget."


def bind(storage: Objects, namespace: str, name: str, binding: Object) -> None:
    """Whether the node exists is not asked. Raises 400 while it is denied, 404, 409 when the pod is bound, gated or on
    its way out, 422."""
    meta = validation.metadata(binding)
    target = binding.get("target")
    node = target.get("name") if isinstance(target, dict) else None
    if not isinstance(node, str) or not node:
        raise invalid("Binding", name, "target.name: Required value")
    pod = resources.get(storage, Target(KINDS["Pod"], namespace, name))
    if age(pod["metadata"]) < (seconds_of(pod, DENY_BINDING_SECONDS) or 0):
        raise bad_request(DENIED)
    why = _refusal(pod, meta)
    if why:
        raise conflict("pods/binding", name, why)
    status = patches.strategic_merge(pod.get("status") or {}, {"conditions": [_bound()]})
    new_meta = dict(pod["metadata"])
    for field in ("labels", "annotations"):
        if meta.get(field):
            new_meta[field] = (new_meta.get(field) or {}) | meta[field]
    spec = {**pod["spec"], "nodeName": node}
    storage.put(
        "Pod", f"{namespace}/{name}", {**pod, "metadata": new_meta, "spec": spec, "status": status}
    )


def _bound() -> dict[str, Any]:
    return defaults.condition("PodScheduled", "True") | {"reason": None, "message": None}


def _refusal(pod: Object, meta: dict[str, Any]) -> str:
    name, have, asked = pod["metadata"]["name"], pod["metadata"]["uid"], meta.get("uid")
    if asked and asked != have:
        return f"Precondition failed: UID in precondition: {asked}, UID in object meta: {have}"
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def evict(storage: Objects, target: Target, eviction: Object) -> None:
    """A delete that asks the disruption budgets first. Raises 429 when one of them has nothing to give."""
    options = eviction.get("deleteOptions") or {}
    if not isinstance(options, dict):
        raise bad_request("deleteOptions: the API defines an object here")
    pod = resources.get(storage, target)
    labels = pod["metadata"].get("labels") or {}
    asked: list[Object] = []
    for budget in storage.values("PodDisruptionBudget"):
        if budget["metadata"]["namespace"] != target.namespace or not _covers(budget, labels):
            continue
        status = budget.get("status") or {}
        asked.append(budget)
        if isinstance(status.get("disruptionsAllowed"), int) and status["disruptionsAllowed"] <= 0:
            name = budget["metadata"]["name"]
            why = {
                "reason": "DisruptionBudget",
                "message": f"The disruption budget {name} needs all its pods",
            }
            raise ApiError(429, "TooManyRequests", TOO_FEW, causes=[why])
    if not pod["metadata"].get("deletionTimestamp"):
        for budget in asked:
            _take_one(storage, budget)
    resources.delete(storage, target, options)


def _take_one(storage: Objects, budget: Object) -> None:
    """Until the controller has counted again, this eviction counts."""
    status, meta = budget.get("status") or {}, budget["metadata"]
    if isinstance(status.get("disruptionsAllowed"), int):
        less = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1}
        new = {**budget, "metadata": dict(meta), "status": less}
        storage.put("PodDisruptionBudget", f"{meta['namespace']}/{meta['name']}", new)


def _covers(budget: Object, labels: dict[str, str]) -> bool:
    try:
        selector = matching.label_selector((budget.get("spec") or {}).get("selector"))
    except matching.SelectorError:
        return False
    return selector is not None and selector.matches(labels)
