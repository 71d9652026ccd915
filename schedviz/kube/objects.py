"""Kubernetes' nouns as plain data: what scheduling reads of each object, with the API's defaults applied.

`parse` is called by `cluster.store` for every object that arrives; what it gives is treated as immutable and handed on
in Changes. Only what is needed is kept (50,000 pods must fit in memory). camelCase ends here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from schedviz.kube import forms, pod_spec
from schedviz.kube.matching import NodeSelector, SelectorError, Taint, Toleration
from schedviz.kube.pod_resources import Requests, amounts
from schedviz.kube.pod_spec import (
    HostPort,
    PodAffinity,
    PodResourceClaim,
    TopologySpreadConstraint,
    WeightedTerm,
)

# Volume sources that ask nothing of a node; pods' volumes of these sorts are not kept.
LOCAL_SOURCES = frozenset(
    {"configMap", "secret", "projected", "emptyDir", "hostPath", "downwardAPI", "image"}
)


class MalformedObject(ValueError):
    """An object that cannot be read. `field` is the path of what is wrong, `message` says how to mend it."""

    def __init__(self, kind: str, raw: Any, *, field: str, message: str) -> None:
        meta = raw.get("metadata") if isinstance(raw, Mapping) else None
        meta = meta if isinstance(meta, Mapping) else {}
        self.kind = kind
        self.namespace = str(meta.get("namespace") or "")
        self.name = str(meta.get("name") or "")
        self.uid = str(meta.get("uid") or self.key)
        self.field = field
        self.message = message
        super().__init__(f"{kind} {self.key}: {field}: {message}")

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(slots=True, kw_only=True, eq=False)
class KubeObject:
    """What every object has. `key` is "namespace/name", or "name" for cluster-scoped kinds. wire: the object's JSON as
    the API server wrote it, kept where extenders are sent it."""

    kind: str
    namespace: str
    name: str
    key: str
    uid: str
    resource_version: str
    labels: dict[str, str]
    annotations: dict[str, str]
    creation_timestamp: float
    deletion_timestamp: float | None
    wire: bytes = b""


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of a pod, in its namespace."""

    api_version: str
    kind: str
    name: str


_owner = lru_cache(maxsize=16384)(Owner)


@dataclass(slots=True, kw_only=True, eq=False)
class Pod(KubeObject):
    """requests, non_zero, score_requests: see `pod_resources`; the last is what Fit's scoring counts for this pod.
    unscheduled_since: when its condition PodScheduled became False, as the API writes it; "": never; is_preempted: on
    its way out because a scheduler made room for a more important pod."""

    scheduler_name: str
    node_name: str
    priority: int
    preemption_policy: str
    scheduling_gates: tuple[str, ...]
    phase: str
    nominated_node_name: str
    conditions: dict[str, str]
    unscheduled_since: str
    is_preempted: bool
    start_time: float | None
    requests: Requests
    non_zero: Requests
    score_requests: Requests
    host_ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    n_image_containers: int
    node_selector: dict[str, str]
    required_node_affinity: NodeSelector | None
    preferred_node_affinity: tuple[WeightedTerm, ...]
    affinity: PodAffinity
    anti_affinity: PodAffinity
    topology_spread: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]
    volumes: tuple[dict[str, Any], ...]
    resource_claims: tuple[PodResourceClaim, ...]
    required_features: frozenset[str]
    owner: Owner | None

    @property
    def is_terminal(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


@dataclass(slots=True, kw_only=True, eq=False)
class Node(KubeObject):
    """allocatable: cpu in milli-CPU, everything else in whole units. images: (names, size in bytes)."""

    unschedulable: bool
    taints: tuple[Taint, ...]
    allocatable: Requests
    images: tuple[tuple[tuple[str, ...], int], ...]
    is_ready: bool
    zone: str
    declared_features: tuple[str, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Other(KubeObject):
    """Every other kind, whole."""

    raw: dict[str, Any]


def parse(kind: str, raw: Any) -> KubeObject:
    """The object as data. Raises MalformedObject naming the field and what would be right."""
    field = "metadata"
    try:
        forms.check(kind, raw)
        meta = _meta(kind, raw)
        if kind == "Pod":
            sections = _POD_SECTIONS
        elif kind == "Node":
            sections = _NODE_SECTIONS
        else:
            return Other(raw=raw, **meta)
        values: dict[str, Any] = meta
        for field, read in sections:  # noqa: B007 (the handlers below name the section)
            values.update(read(raw))
        return (Pod if kind == "Pod" else Node)(**values)
    except pod_spec.FieldError as error:
        raise MalformedObject(kind, raw, field=error.field, message=error.message) from None
    except SelectorError as error:
        raise MalformedObject(kind, raw, field=field, message=str(error)) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"does not have the form that the API defines ({error})"
        raise MalformedObject(kind, raw, field=field, message=message[:500]) from None


def seconds(text: str | None) -> float | None:
    """An RFC 3339 time as seconds since the epoch."""
    return datetime.fromisoformat(text).timestamp() if text else None


def _meta(kind: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    meta = raw["metadata"]
    namespace, name = meta.get("namespace") or "", meta["name"]
    key = f"{namespace}/{name}" if namespace else name
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "key": key,
        "uid": meta.get("uid") or key,
        "resource_version": meta.get("resourceVersion") or "",
        "labels": dict(meta.get("labels") or {}),
        "annotations": {},
        "creation_timestamp": seconds(meta.get("creationTimestamp")) or 0.0,
        "deletion_timestamp": seconds(meta.get("deletionTimestamp")),
    }


def _pod_placement(raw: Mapping[str, Any]) -> dict[str, Any]:
    spec = raw.get("spec") or {}
    owners = raw["metadata"].get("ownerReferences") or ()
    return {
        "scheduler_name": spec.get("schedulerName") or "default-scheduler",
        "node_name": spec.get("nodeName") or "",
        "priority": int(spec.get("priority") or 0),
        "preemption_policy": spec.get("preemptionPolicy") or "PreemptLowerPriority",
        "scheduling_gates": tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        "node_selector": dict(spec.get("nodeSelector") or {}),
        "volumes": tuple(
            volume for volume in spec.get("volumes") or () if not LOCAL_SOURCES & volume.keys()
        ),
        "owner": next(
            (
                _owner(o.get("apiVersion") or "", o.get("kind") or "", o.get("name") or "")
                for o in owners
                if o.get("controller")
            ),
            None,
        ),
    }


def _pod_status(raw: Mapping[str, Any]) -> dict[str, Any]:
    status = raw.get("status") or {}
    return {
        "phase": status.get("phase") or "Pending",
        "nominated_node_name": status.get("nominatedNodeName") or "",
        "conditions": {c["type"]: c.get("status", "") for c in status.get("conditions") or ()},
        "unscheduled_since": _unscheduled_since(status),
        "is_preempted": bool(raw["metadata"].get("deletionTimestamp")) and _is_preempted(status),
        "start_time": seconds(status.get("startTime")),
    }


def _unscheduled_since(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("lastTransitionTime") or "")
    return ""


def _is_preempted(status: Mapping[str, Any]) -> bool:
    """As upstream, the first condition of this type decides."""
    for condition in status.get("conditions") or ():
        if condition["type"] == "DisruptionTarget":
            told = (condition.get("status"), condition.get("reason"))
            return told == ("True", "PreemptionByScheduler")
    return False


def _node_spec(raw: Mapping[str, Any]) -> dict[str, Any]:
    spec = raw.get("spec") or {}
    labels = raw["metadata"].get("labels") or {}
    return {
        "unschedulable": bool(spec.get("unschedulable")),
        "taints": tuple(
            Taint(t["key"], t.get("value") or "", t.get("effect") or "")
            for t in spec.get("taints") or ()
        ),
        "zone": labels.get("topology.kubernetes.io/zone", ""),
    }


def _node_status(raw: Mapping[str, Any]) -> dict[str, Any]:
    status = raw.get("status") or {}
    allocatable = status.get("allocatable") if "allocatable" in status else status.get("capacity")
    ready = next((c for c in status.get("conditions") or () if c.get("type") == "Ready"), None)
    return {
        "allocatable": pod_spec.at("status.allocatable", amounts, allocatable),
        "images": tuple(
            (tuple(image.get("names") or ()), int(image.get("sizeBytes") or 0))
            for image in status.get("images") or ()
        ),
        "is_ready": ready is None or ready.get("status") == "True",
        "declared_features": tuple(status.get("declaredFeatures") or ()),
    }


Section = tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]
_POD_SECTIONS: tuple[Section, ...] = (
    ("spec", _pod_placement),
    ("status", _pod_status),
    ("spec.containers", pod_spec.containers),
    ("spec.affinity.nodeAffinity", pod_spec.node_affinity),
    ("spec.affinity", pod_spec.pod_affinity),
    ("spec.topologySpreadConstraints", pod_spec.topology_spread),
    ("spec.tolerations", pod_spec.tolerations),
    ("spec.resourceClaims", pod_spec.resource_claims),
    ("spec.containers", pod_spec.required_features),
)
_NODE_SECTIONS: tuple[Section, ...] = (("spec", _node_spec), ("status", _node_status))
