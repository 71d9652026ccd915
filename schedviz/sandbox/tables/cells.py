"""What stands in the cells of every kind but the pod: one function a kind, its values in the order of its columns.

Called through `columns`. Mirrors the print functions of pkg/printers/internalversion (v1.36).
"""

from __future__ import annotations

from typing import Any

from schedviz.sandbox.storage import Object
from schedviz.sandbox.tables.words import (
    NONE,
    UNKNOWN,
    UNSET,
    access_modes,
    age,
    containers,
    joined,
    labels,
    moment_of,
    selector,
    since,
    span,
)

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_ROLE, _OLD_ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
Cells = list[Any]


def _name(one: Object) -> str:
    return str(one["metadata"]["name"])


def _parts(one: Object) -> tuple[dict[str, Any], dict[str, Any]]:
    return one.get("spec") or {}, one.get("status") or {}


def _template(spec: dict[str, Any]) -> tuple[str, str]:
    return containers((spec.get("template") or {}).get("spec"))


def named(one: Object) -> Cells:
    return [_name(one), age(one)]


def created(one: Object) -> Cells:
    return [_name(one), one["metadata"].get("creationTimestamp")]


# ---- the cluster ---------------------------------------------------------------------------------------------------


def namespace(one: Object) -> Cells:
    return [_name(one), (one.get("status") or {}).get("phase") or UNKNOWN, age(one)]


def node(one: Object) -> Cells:
    spec, status = _parts(one)
    said = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    words = ["Ready" if said["Ready"] == "True" else "NotReady"] if "Ready" in said else ["Unknown"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    held = one["metadata"].get("labels") or {}
    roles = {key[len(_ROLE) :] for key in held if key.startswith(_ROLE) and key != _ROLE}
    roles |= {held[_OLD_ROLE]} if held.get(_OLD_ROLE) else set()
    info = status.get("nodeInfo") or {}
    addresses = status.get("addresses") or []
    return [
        _name(one),
        ",".join(words),
        ",".join(sorted(roles)) or NONE,
        age(one),
        info.get("kubeletVersion", ""),
        _address(addresses, "InternalIP"),
        _address(addresses, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _address(addresses: list[dict[str, Any]], wanted: str) -> str:
    return next((str(one.get("address")) for one in addresses if one.get("type") == wanted), NONE)


def event(one: Object) -> Cells:
    """In the form of events.k8s.io/v1, as it is kept."""
    series, source = one.get("series") or {}, one.get("deprecatedSource") or {}
    about = one.get("regarding") or {}
    first = one.get("deprecatedFirstTimestamp") or one.get("eventTime")
    last = series.get("lastObservedTime") or one.get("deprecatedLastTimestamp") or first
    seen = since(last) if last else UNKNOWN
    component = source.get("component") or one.get("reportingController") or ""
    host = source.get("host") or one.get("reportingInstance") or ""
    return [
        seen,
        one.get("type", ""),
        one.get("reason", ""),
        f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        str(one.get("note") or "").strip(),
        since(first) if first else seen,
        series.get("count") or one.get("deprecatedCount") or 1,
        _name(one),
    ]


def lease(one: Object) -> Cells:
    return [_name(one), (one.get("spec") or {}).get("holderIdentity") or "", age(one)]


def priority_class(one: Object) -> Cells:
    is_default, policy = bool(one.get("globalDefault")), one.get("preemptionPolicy", "")
    return [_name(one), one.get("value", 0), is_default, age(one), policy]


def runtime_class(one: Object) -> Cells:
    return [_name(one), one.get("handler", ""), age(one)]


def config_map(one: Object) -> Cells:
    return [_name(one), len(one.get("data") or {}) + len(one.get("binaryData") or {}), age(one)]


def secret(one: Object) -> Cells:
    return [_name(one), one.get("type", "Opaque"), len(one.get("data") or {}), age(one)]


def quota(one: Object) -> Cells:
    _, status = _parts(one)
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        (limits if name.startswith("limits.") else requests).append(
            f"{name}: {used.get(name, 0)}/{hard}"
        )
    return [_name(one), ", ".join(requests), ", ".join(limits), age(one)]


# ---- workloads -----------------------------------------------------------------------------------------------------


def deployment(one: Object) -> Cells:
    spec, status = _parts(one)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    return [
        _name(one),
        ready,
        *counts,
        age(one),
        *_template(spec),
        selector(spec.get("selector")),
    ]


def replica_set(one: Object) -> Cells:
    spec, status = _parts(one)
    chosen = spec.get("selector")
    is_old = one.get("kind") == "ReplicationController"
    return [
        _name(one),
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(one),
        *_template(spec),
        labels(chosen) if is_old else selector(chosen),
    ]


def stateful_set(one: Object) -> Cells:
    spec, status = _parts(one)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [_name(one), ready, age(one), *_template(spec)]


def daemon_set(one: Object) -> Cells:
    spec, status = _parts(one)
    counts = [
        status.get(name, 0)
        for name in (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        )
    ]
    where = labels(((spec.get("template") or {}).get("spec") or {}).get("nodeSelector"))
    return [
        _name(one),
        *counts,
        where,
        age(one),
        *_template(spec),
        selector(spec.get("selector")),
    ]


def job(one: Object) -> Cells:
    spec, status = _parts(one)
    done, wanted = status.get("succeeded", 0), spec.get("completions")
    of = wanted if wanted is not None else f"1 of {spec.get('parallelism', 1)}"
    return [
        _name(one),
        _job_word(one),
        f"{done}/{of}",
        _job_span(status),
        age(one),
        *_template(spec),
        selector(spec.get("selector")),
    ]


def _job_word(one: Object) -> str:
    spec, status = _parts(one)
    true = {each.get("type") for each in status.get("conditions") or () if each["status"] == "True"}
    for word in ("Complete", "Failed"):
        if word in true:
            return word
    if one["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if spec.get("suspend"):
        return "Suspended"
    return "FailureTarget" if "FailureTarget" in true else "Running"


def _job_span(status: dict[str, Any]) -> str:
    begun, ended = moment_of(status.get("startTime")), moment_of(status.get("completionTime"))
    if begun is None:
        return ""
    return span((ended - begun).total_seconds()) if ended else since(status.get("startTime"))


def budget(one: Object) -> Cells:
    spec, status = _parts(one)
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        _name(one),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        status.get("disruptionsAllowed", 0),
        age(one),
    ]


# ---- the network ---------------------------------------------------------------------------------------------------


def service(one: Object) -> Cells:
    spec, _ = _parts(one)
    kind = spec.get("type") or "ClusterIP"
    ports = []
    for each in spec.get("ports") or ():
        node_port = f":{each['nodePort']}" if each.get("nodePort") else ""
        ports.append(f"{each.get('port')}{node_port}/{each.get('protocol', 'TCP')}")
    outside = spec.get("externalName") if kind == "ExternalName" else None
    outside = outside or ",".join(spec.get("externalIPs") or ())
    if not outside:
        outside = "<pending>" if kind == "LoadBalancer" else NONE
    return [
        _name(one),
        kind,
        spec.get("clusterIP") or NONE,
        outside,
        ",".join(ports) or NONE,
        age(one),
        labels(spec.get("selector")),
    ]


def endpoints(one: Object) -> Cells:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in one.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ({"port": ""},)
    ]
    return [_name(one), joined(found), age(one)]


# ---- storage -------------------------------------------------------------------------------------------------------


def storage_class(one: Object) -> Cells:
    is_default = (one["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    return [
        f"{_name(one)} (default)" if is_default else _name(one),
        one.get("provisioner", ""),
        one.get("reclaimPolicy") or "Delete",
        one.get("volumeBindingMode") or "Immediate",
        bool(one.get("allowVolumeExpansion")),
        age(one),
    ]


def volume(one: Object) -> Cells:
    spec, status = _parts(one)
    ref = spec.get("claimRef") or {}
    leaving = one["metadata"].get("deletionTimestamp")
    return [
        _name(one),
        (spec.get("capacity") or {}).get("storage", ""),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if leaving else status.get("phase", ""),
        f"{ref.get('namespace')}/{ref.get('name')}" if ref else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(one),
        spec.get("volumeMode") or UNSET,
    ]


def claim(one: Object) -> Cells:
    spec, status = _parts(one)
    is_bound = bool(spec.get("volumeName"))
    leaving = one["metadata"].get("deletionTimestamp")
    return [
        _name(one),
        "Terminating" if leaving else status.get("phase", ""),
        spec.get("volumeName") or "",
        (status.get("capacity") or {}).get("storage", "") if is_bound else "",
        access_modes(status.get("accessModes")) if is_bound else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        age(one),
        spec.get("volumeMode") or UNSET,
    ]


def csi_node(one: Object) -> Cells:
    return [_name(one), len((one.get("spec") or {}).get("drivers") or ()), age(one)]


def csi_driver(one: Object) -> Cells:
    spec, _ = _parts(one)
    audiences = [each.get("audience", "") for each in spec.get("tokenRequests") or ()]
    return [
        _name(one),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) or UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "Persistent",
        age(one),
    ]


def storage_capacity(one: Object) -> Cells:
    return [_name(one), one.get("storageClassName", ""), one.get("capacity", "")]


def attachment(one: Object) -> Cells:
    spec, status = _parts(one)
    return [
        _name(one),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(status.get("attached")),
        age(one),
    ]
