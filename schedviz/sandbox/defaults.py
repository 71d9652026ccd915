"""What the API server adds to an object that is created: defaults, priority admission, the first status.

Called by `resources`. Mirrors pkg/apis/core/v1/defaults.go, plugin/pkg/admission/priority and storage/storageclass, and
the pod strategy, as far as a scheduler and its clients notice.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from schedviz.kube.kinds import Kind
from schedviz.kube.volumes import BETA_CLASS
from schedviz.sandbox import workloads
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Object, Objects

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_POD_SPEC: tuple[tuple[str, Any], ...] = (
    ("schedulerName", "default-scheduler"),
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("preemptionPolicy", "PreemptLowerPriority"),
    ("enableServiceLinks", True),
    ("securityContext", {}),
)


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def on_create(storage: Objects, kind: Kind, new: Object) -> None:
    """Fills in `new`. Raises 403 where the admission of a priority says no."""
    workloads.fill(kind, new)
    fill = _ON_CREATE.get(kind.kind)
    if fill is not None:
        fill(storage, new)


def _node(storage: Objects, node: Object) -> None:
    status = node["status"] = dict(node.get("status") or {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    conditions = status.get("conditions") or []
    if not any(one.get("type") == "Ready" for one in conditions):  # the kubelet's first report
        ready = condition("Ready", "True", reason="KubeletReady")
        status["conditions"] = [*conditions, ready]
    if not status.get("conditions"):
        status["conditions"] = [_ready()]  # the kubelet that is played is there at once


def _namespace(storage: Objects, namespace: Object) -> None:
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}
    meta = namespace["metadata"]
    meta["labels"] = (meta.get("labels") or {}) | {"kubernetes.io/metadata.name": meta["name"]}


def _priority_class(storage: Objects, new: Object) -> None:
    new.setdefault("value", 0)
    new.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _storage_class(storage: Objects, new: Object) -> None:
    new.setdefault("reclaimPolicy", "Delete")
    new.setdefault("volumeBindingMode", "Immediate")


def _volume(storage: Objects, volume: Object) -> None:
    usual = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
    volume["spec"] = usual | (volume.get("spec") or {})
    volume["status"] = {"phase": "Pending"}


def _without_status(storage: Objects, new: Object) -> None:
    new.pop("status", None)


def _secret(storage: Objects, new: Object) -> None:
    new.setdefault("type", "Opaque")
    said = new.pop("stringData", None) or {}
    coded = {name: base64.b64encode(str(text).encode()).decode() for name, text in said.items()}
    if coded:
        new["data"] = (new.get("data") or {}) | coded


def _claim(storage: Objects, claim: Object) -> None:
    claim["spec"] = {"volumeMode": "Filesystem"} | (claim.get("spec") or {})
    claim["status"] = {"phase": "Pending"}
    _admit_class(storage, claim)


def _admit_class(storage: Objects, claim: Object) -> None:
    """A claim that names no class gets the default one."""
    annotations = claim["metadata"].get("annotations") or {}
    if claim["spec"].get("storageClassName") is None and BETA_CLASS not in annotations:
        for one in storage.values("StorageClass"):
            if (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true":
                claim["spec"]["storageClassName"] = one["metadata"]["name"]


def _ready() -> dict[str, Any]:
    """A node's conditions say when they were heard of last; a pod's do not."""
    moment = timestamp()
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }


def pod_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """With the defaults that do not depend on other objects."""
    spec = {field: value for field, value in spec.items() if value is not None}
    for field, value in _POD_SPEC:
        if spec.get(field) in (None, ""):
            spec[field] = value
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for name in ("containers", "initContainers"):
        if spec.get(name):
            spec[name] = [_container(one) for one in spec[name]]
    return spec


def _container(one: dict[str, Any]) -> dict[str, Any]:
    """Requests follow limits where there are none."""
    resources = one.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if set(limits) <= set(requests):
        return one
    return {**one, "resources": {**resources, "requests": limits | requests}}


def condition(name: str, status: str, **more: str) -> dict[str, Any]:
    moment = timestamp()
    return {
        "type": name,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": moment,
    } | more


def _pod(storage: Objects, pod: Object) -> None:
    spec = pod["spec"] = pod_spec(pod.get("spec") or {})
    _admit_priority(storage, pod["metadata"]["name"], spec)
    status = pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        status["conditions"] = [
            condition("PodScheduled", "False", reason="SchedulingGated", message=message)
        ]


def _admit_priority(storage: Objects, pod: str, spec: dict[str, Any]) -> None:
    """The value comes from the class, never from the pod."""
    name, policy = spec.get("priorityClassName"), ""
    if not name:
        defaults = [
            one for one in storage.values("PriorityClass") if one.get("globalDefault") is True
        ]
        lowest = min(defaults, key=lambda one: int(one["value"]), default=None)
        value = int(lowest["value"]) if lowest else 0
        if lowest:
            spec["priorityClassName"] = lowest["metadata"]["name"]
            policy = str(lowest.get("preemptionPolicy") or "")
    elif name in SYSTEM_CLASSES:
        value = SYSTEM_CLASSES[name]
    else:
        found = storage.get("PriorityClass", name)
        if found is None:
            raise _forbidden(pod, f"no PriorityClass with name {name} was found")
        value, policy = int(found["value"]), str(found.get("preemptionPolicy") or "")
    if spec.get("priority") not in (None, value):
        raise _forbidden(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    if policy:
        spec["preemptionPolicy"] = policy


def _forbidden(pod: str, why: str) -> ApiError:
    return ApiError(403, "Forbidden", f'pods "{pod}" is forbidden: {why}', name=pod, kind="pods")


def qos_class(spec: dict[str, Any]) -> str:
    every = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [one.get("resources") or {} for one in every]
    if not any(one.get("requests") or one.get("limits") for one in resources):
        return "BestEffort"
    full = all(
        (one.get("limits") or {}).get(name)
        and (one.get("requests") or one["limits"]).get(name) == one["limits"][name]
        for one in resources
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if full else "Burstable"


_ON_CREATE: dict[str, Callable[[Objects, Object], None]] = {
    "Pod": _pod,
    "Node": _node,
    "Namespace": _namespace,
    "PriorityClass": _priority_class,
    "Secret": _secret,
    "StorageClass": _storage_class,
    "PodDisruptionBudget": _without_status,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
}
