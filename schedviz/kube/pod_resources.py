"""What a pod asks for, summed over its containers as kube-scheduler sums it.

Called by `objects` while parsing a pod. Mirrors component-helpers/resource/helpers.go PodRequests and
pkg/scheduler/framework calculatePodResource (v1.36). Results map a resource's name to an int: cpu in milli-CPU,
everything else in whole units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedviz.kube import quantity

Requests = dict[str, int]
MOST = 2**55
"""Where amounts end (32 PiB, as bytes): no node has more, and scores of their sums stay within int64."""
# What scoring counts for a container that names no request (schedutil.DefaultMilliCPURequest, DefaultMemoryRequest).
NON_ZERO: Requests = {"cpu": 100, "memory": 200 * 1024 * 1024}


def amount(resource: str, text: Any) -> int:
    """One quantity in the resource's unit. Raises QuantityError naming the resource."""
    try:
        found = quantity.milli_value(text) if resource == "cpu" else quantity.value(text)
        return min(found, MOST)
    except quantity.QuantityError as error:
        raise quantity.QuantityError(f"{resource}: {error}") from None


def amounts(raw: Mapping[str, Any] | None) -> Requests:
    return {resource: amount(resource, text) for resource, text in (raw or {}).items()}


def _own_requests(raw: Mapping[str, Any] | None) -> Requests:
    """A container's (or the pod's) requests; a resource with a limit only is requested at its limit (API default)."""
    resources = raw or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def _add(total: Requests, more: Requests) -> None:
    for resource, n in more.items():
        total[resource] = total.get(resource, 0) + n


def _maximum(total: Requests, other: Requests) -> None:
    for resource, n in other.items():
        if n > total.get(resource, -1):
            total[resource] = n


def is_sidecar(container: Mapping[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _is_resize_infeasible(status: Mapping[str, Any]) -> bool:
    return any(
        one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible"
        for one in status.get("conditions") or ()
    )


def _with_status(own: Requests, status: Mapping[str, Any] | None, *, infeasible: bool) -> Requests:
    """In-place resize: the larger of what is wanted, what runs and what the kubelet set aside."""
    if status is None or not status.get("resources"):
        return own
    total: Requests = {} if infeasible else dict(own)
    _maximum(total, amounts((status["resources"] or {}).get("requests")))
    _maximum(total, amounts(status.get("allocatedResources")))
    return total


def pod_requests(
    spec: Mapping[str, Any],
    status: Mapping[str, Any] | None = None,
    *,
    defaults: Requests | None = None,
    pod_level: bool = True,
) -> Requests:
    """The pod's total. status: given for bound pods, whose running containers count as they are.
    defaults: for containers that name no such request. pod_level: spec.resources replaces the sum."""
    running = _container_statuses(status or {})
    infeasible = _is_resize_infeasible(status or {})

    def asked(container: Mapping[str, Any], *, resizable: bool) -> Requests:
        own = _own_requests(container.get("resources"))
        if resizable and running:
            own = _with_status(own, running.get(container.get("name", "")), infeasible=infeasible)
        return {**defaults, **own} if defaults else own

    total: Requests = {}
    for container in spec.get("containers") or ():
        _add(total, asked(container, resizable=True))
    sidecars: Requests = {}
    peak: Requests = {}
    for container in spec.get("initContainers") or ():
        own = asked(container, resizable=is_sidecar(container))
        if is_sidecar(container):
            _add(total, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            _add(own, sidecars)
        _maximum(peak, own)
    _maximum(total, peak)
    if pod_level and spec.get("resources"):
        total.update(_pod_level_requests(spec))
    _add(total, amounts(spec.get("overhead")))
    return total


def _pod_level_requests(spec: Mapping[str, Any]) -> Requests:
    """spec.resources.requests; with limits given, the containers' sum and then the limits fill in (API default)."""
    resources = spec["resources"]
    found = amounts(resources.get("requests"))
    if resources.get("limits"):
        of_containers = pod_requests({**spec, "overhead": None}, pod_level=False)
        for resource, n in of_containers.items():
            if not resource.startswith("hugepages-"):
                found.setdefault(resource, n)
        for resource, n in amounts(resources["limits"]).items():
            found.setdefault(resource, n)
    return {
        resource: n
        for resource, n in found.items()
        if resource in ("cpu", "memory") or resource.startswith("hugepages-")
    }


def _container_statuses(status: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found = {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(field) or ():
            found[one.get("name", "")] = one
    return found


def non_zero_requests(
    spec: Mapping[str, Any], requests: Requests, status: Mapping[str, Any] | None = None
) -> Requests:
    """The pod's total as a node's scoring sums count it: missing cpu and memory requests filled in."""
    pod_level = (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get(
        "limits"
    )
    defaults = NON_ZERO
    if pod_level:
        defaults = {name: n for name, n in NON_ZERO.items() if name not in requests}
    total = pod_requests(spec, status, defaults=defaults)
    return {"cpu": total.get("cpu", 0), "memory": total.get("memory", 0)}
