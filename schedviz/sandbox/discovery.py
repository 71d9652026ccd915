"""What clients ask first: the version, the groups and the resources of each.

Called by `rest`. Everything follows from the table of kinds. Mirrors apiserver's endpoints/discovery, its aggregated
form (v2) included.
"""

from __future__ import annotations

from typing import Any

from schedviz.kube.kinds import Kind
from schedviz.sandbox.status import no_such_resource
from schedviz.sandbox.views import ROUTES

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "schedviz/sandbox",
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_CHANGE = ["get", "patch", "update"]
_SHORT = {
    "ConfigMap": ["cm"],
    "DaemonSet": ["ds"],
    "Deployment": ["deploy"],
    "Endpoints": ["ep"],
    "Event": ["ev"],
    "LimitRange": ["limits"],
    "Namespace": ["ns"],
    "Node": ["no"],
    "PersistentVolume": ["pv"],
    "PersistentVolumeClaim": ["pvc"],
    "Pod": ["po"],
    "PodDisruptionBudget": ["pdb"],
    "PriorityClass": ["pc"],
    "ReplicaSet": ["rs"],
    "ReplicationController": ["rc"],
    "ResourceQuota": ["quota"],
    "Service": ["svc"],
    "ServiceAccount": ["sa"],
    "StatefulSet": ["sts"],
    "StorageClass": ["sc"],
}
_ALL = {
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
}
"""The category `all` of `kubectl get all`."""
SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_WITHOUT_STATUS = {
    "ConfigMap",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Endpoints",
    "Event",
    "Lease",
    "LimitRange",
    "PriorityClass",
    "RuntimeClass",
    "Secret",
    "ServiceAccount",
    "StorageClass",
}
Resource = dict[str, Any]


def discovery(parts: list[str], *, aggregated: bool = False) -> dict[str, Any]:
    """/api, /api/v1, /apis, /apis/<group>, /apis/<group>/<version>. Raises 404."""
    if parts in (["api"], ["apis"]) and aggregated:
        return _aggregated([""] if parts == ["api"] else _groups())
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if parts == ["apis"]:
        groups = [_group(group) for group in _groups()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if parts[0] == "api":
        return _resource_list("", parts[1])
    if len(parts) == 2 and parts[1] in _groups():
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1])}
    return _resource_list(parts[1], parts[2] if len(parts) > 2 else "")


def _groups() -> list[str]:
    return list(dict.fromkeys(group for group, _, _ in ROUTES if group))


def _versions(group: str) -> list[str]:
    return sorted({version for name, version, _ in ROUTES if name == group})


def _group(group: str) -> dict[str, Any]:
    listed = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in _versions(group)
    ]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, version: str) -> list[tuple[Resource, list[Resource]]]:
    """(a resource, its subresources), each as an APIResource, in the order of their names. Raises 404."""
    routes = sorted(ROUTES.items(), key=lambda item: item[0])
    found = [
        (_resource(plural, kind), _subresources(plural, kind))
        for (its_group, its_version, plural), kind in routes
        if (its_group, its_version) == (group, version)
    ]
    if not found:
        raise no_such_resource()
    return found


def _resource(plural: str, kind: Kind) -> Resource:
    one: Resource = {
        "name": plural,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
    }
    one |= {"kind": kind.kind, "verbs": _VERBS}
    if kind.kind in _SHORT:
        one["shortNames"] = _SHORT[kind.kind]
    if kind.kind in _ALL:
        one["categories"] = ["all"]
    return one


def _subresources(plural: str, kind: Kind) -> list[Resource]:
    usual: Resource = {"singularName": "", "namespaced": kind.namespaced}
    found: list[Resource] = []
    if kind.kind == "Pod":
        found.append({**usual, "name": "pods/binding", "kind": "Binding", "verbs": ["create"]})
        eviction = {"kind": "Eviction", "group": "policy", "version": "v1", "verbs": ["create"]}
        found.append({**usual, "name": "pods/eviction", **eviction})
    if kind.kind in SCALED:
        scale = {"kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": _CHANGE}
        found.append({**usual, "name": f"{plural}/scale", **scale})
    if kind.kind not in _WITHOUT_STATUS:
        found.append({**usual, "name": f"{plural}/status", "kind": kind.kind, "verbs": _CHANGE})
    return found


def _resource_list(group: str, version: str) -> dict[str, Any]:
    listed = [each for one, parts in _resources(group, version) for each in (one, *parts)]
    api_version = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version}
    return {**head, "resources": listed}


# ---- the aggregated form: everything in two answers ----------------------------------------------------------------


def _aggregated(groups: list[str]) -> dict[str, Any]:
    items = []
    for group in groups:
        versions = [
            {"version": version, "freshness": "Current", "resources": _discovered(group, version)}
            for version in _versions(group)
        ]
        meta: Resource = {"creationTimestamp": None}
        if group:
            meta["name"] = group
        items.append({"metadata": meta, "versions": versions})
    head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
    return {**head, "metadata": {}, "items": items}


def _discovered(group: str, version: str) -> list[Resource]:
    found = []
    for one, parts in _resources(group, version):
        kind = {"group": group, "version": version, "kind": one["kind"]}
        scope = "Namespaced" if one["namespaced"] else "Cluster"
        shown: Resource = {name: one[name] for name in ("shortNames", "categories") if name in one}
        shown |= {"resource": one["name"], "responseKind": kind, "scope": scope}
        shown |= {"singularResource": one["singularName"], "verbs": one["verbs"]}
        found.append(shown | {"subresources": [_discovered_part(part, kind) for part in parts]})
    return found


def _discovered_part(part: Resource, kind: dict[str, str]) -> Resource:
    answers = {name: part.get(name, kind[name]) for name in ("group", "version", "kind")}
    name = part["name"].partition("/")[2]
    return {"subresource": name, "responseKind": answers, "verbs": part["verbs"]}
