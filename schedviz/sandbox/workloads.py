"""Defaults and checks of the kinds that make pods, and of Services; the `scale` of what can be scaled.

Called by `defaults` (create), `resources` (replace) and `rest` (scale). Mirrors pkg/apis/apps/v1, batch/v1 and core/v1
defaults and the validation that kubectl's users meet.
"""

from __future__ import annotations

import zlib
from typing import Any

import orjson

from schedviz.kube import matching
from schedviz.kube.kinds import Kind
from schedviz.sandbox.status import bad_request, invalid
from schedviz.sandbox.storage import Object

TEMPLATED = ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet")
JOB_NAME, JOB_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"
_ROLLING: dict[str, Any] = {"maxUnavailable": "25%", "maxSurge": "25%"}
_SPEC: dict[str, dict[str, Any]] = {
    "DaemonSet": {
        "updateStrategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 10,
    },
    "Deployment": {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    "Job": {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
    "ReplicaSet": {"replicas": 1},
    "ReplicationController": {"replicas": 1},
    "StatefulSet": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
}


def fill(kind: Kind, new: Object) -> None:
    """Defaults; the same for a new object and for one that replaces another."""
    spec = dict(new.get("spec") or {})
    if kind.kind in TEMPLATED:
        new["spec"] = {**_SPEC[kind.kind], **_said(spec)}
        _fill_strategy(kind.kind, new["spec"])
        template = new["spec"].get("template")
        if isinstance(template, dict) and isinstance(template.get("spec"), dict):
            held = {**template, "spec": _template_spec(kind.kind, template["spec"])}
            new["spec"]["template"] = held
        if kind.kind == "Job":
            _fill_job(new)
        if kind.kind == "ReplicationController" and not spec.get("selector"):
            new["spec"]["selector"] = _template_labels(new["spec"])
    elif kind.kind == "Service":
        new["spec"] = _service(new, _said(spec))


def _said(spec: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in spec.items() if value is not None}


def _fill_strategy(kind: str, spec: dict[str, Any]) -> None:
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    strategy: Any = spec.get(field)
    if not isinstance(strategy, dict) or kind not in ("Deployment", "DaemonSet"):
        return
    strategy = {"type": "RollingUpdate", **strategy}
    if strategy["type"] == "RollingUpdate":
        daemons: dict[str, Any] = {"maxUnavailable": 1, "maxSurge": 0}
        usual = _ROLLING if kind == "Deployment" else daemons
        strategy["rollingUpdate"] = usual | (strategy.get("rollingUpdate") or {})
    spec[field] = strategy


def _template_spec(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    usual: dict[str, Any] = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}
    usual |= {"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
    return {**usual, "securityContext": {}, **_said(spec)}


def _template_labels(spec: dict[str, Any]) -> dict[str, str]:
    template = spec.get("template")
    meta = template.get("metadata") if isinstance(template, dict) else None
    return dict((meta or {}).get("labels") or {})


def _fill_job(new: Object) -> None:
    spec, meta = new["spec"], new["metadata"]
    if spec.get("manualSelector") or not isinstance(spec.get("template"), dict):
        return
    uid = str(meta.get("uid"))
    labels = {JOB_UID: uid, JOB_NAME: str(meta.get("name"))}
    spec["selector"] = {"matchLabels": {JOB_UID: uid}}
    held = spec["template"].get("metadata") or {}
    held = {**held, "labels": (held.get("labels") or {}) | labels}
    spec["template"] = {**spec["template"], "metadata": held}


def _service(new: Object, spec: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **spec}
    if spec["type"] != "ExternalName":
        number = zlib.crc32(str(new["metadata"].get("uid")).encode())
        address = f"10.96.{number >> 8 & 255}.{number & 255}"
        spec.setdefault("clusterIP", address)
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        usual = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
        spec = {**usual, "internalTrafficPolicy": "Cluster", **spec}
    ports = spec.get("ports")
    if isinstance(ports, list) and all(isinstance(one, dict) for one in ports):
        spec["ports"] = [{"protocol": "TCP", "targetPort": p.get("port"), **p} for p in ports]
    return spec


# ---- validation ----------------------------------------------------------------------------------------------------


def check(kind: Kind, new: Object, old: Object | None = None) -> None:
    """Raises 422 for a selector that is missing, does not match its template or changes; for a bad number."""
    if kind.kind not in TEMPLATED:
        return
    name, spec = new["metadata"]["name"], new["spec"]
    replicas = spec.get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("spec.replicas: the API defines an integer here")
    if replicas < 0:
        why = f"spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(kind.kind, name, why)
    if "template" in spec:
        _check_selector(kind, name, spec)
    before = ((old or {}).get("spec") or {}).get("selector")
    if old is not None and kind.group and before != spec.get("selector"):
        raise invalid(kind.kind, name, "spec.selector: Invalid value: field is immutable")


def _check_selector(kind: Kind, name: str, spec: dict[str, Any]) -> None:
    if kind.group and not spec.get("selector"):
        raise invalid(kind.kind, name, "spec.selector: Required value")
    raw = spec.get("selector") or {}
    try:
        selector = matching.label_selector(raw if kind.group else {"matchLabels": raw})
    except (matching.SelectorError, AttributeError, TypeError) as error:
        raise invalid(kind.kind, name, f"spec.selector: Invalid value: {error}") from None
    labels = _template_labels(spec)
    if selector is not None and not selector.matches(labels):
        why = "`selector` does not match template `labels`"
        said = orjson.dumps(labels).decode()
        raise invalid(
            kind.kind, name, f"spec.template.metadata.labels: Invalid value: {said}: {why}"
        )


# ---- scale ---------------------------------------------------------------------------------------------------------


def as_scale(kind: Kind, one: Object) -> Object:
    """autoscaling/v1 Scale of an object."""
    meta, spec = one["metadata"], one.get("spec") or {}
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    raw = spec.get("selector") or {}
    labels = (raw.get("matchLabels") or {}) if kind.group else raw
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in fields if name in meta},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {
            "replicas": (one.get("status") or {}).get("replicas", 0),
            "selector": selector,
        },
    }


def scaled(one: Object, scale: Object) -> Object:
    """The object with the replicas, and at the version, that a Scale asks for. Raises 400."""
    meta = scale.get("metadata")
    wanted = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(meta, dict) or not isinstance(wanted, int):
        raise bad_request("a Scale has metadata, and an integer in spec.replicas")
    version = meta.get("resourceVersion") or one["metadata"]["resourceVersion"]
    return {
        **one,
        "metadata": {**one["metadata"], "resourceVersion": version},
        "spec": {**(one.get("spec") or {}), "replicas": wanted},
    }
