"""What clients ask first: the version, the groups and the resources of each.

Called by `rest`. Everything follows from the table of kinds.
"""

from __future__ import annotations

from typing import Any

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
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_SHORT = {
    "Namespace": ["ns"],
    "Node": ["no"],
    "Pod": ["po"],
    "Event": ["ev"],
    "PriorityClass": ["pc"],
    "PersistentVolume": ["pv"],
    "PersistentVolumeClaim": ["pvc"],
    "StorageClass": ["sc"],
    "Service": ["svc"],
    "ReplicaSet": ["rs"],
    "StatefulSet": ["sts"],
    "ReplicationController": ["rc"],
    "PodDisruptionBudget": ["pdb"],
}
_SUBRESOURCES = (
    ("pods/binding", "Binding", "", "v1"),
    ("pods/eviction", "Eviction", "policy", "v1"),
)
_GROUPS = sorted({group for group, _, _ in ROUTES} - {""})


def discovery(parts: list[str]) -> dict[str, Any]:
    """/api, /api/v1, /apis, /apis/<group>, /apis/<group>/<version>. Raises 404."""
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if parts == ["apis"]:
        groups = [_group(group) for group in _GROUPS]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if parts[0] == "api":
        return _resources("", parts[1])
    if len(parts) == 2 and parts[1] in _GROUPS:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1])}
    return _resources(parts[1], parts[2] if len(parts) > 2 else "")


def _group(group: str) -> dict[str, Any]:
    versions = sorted({version for name, version, _ in ROUTES if name == group})
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, version: str) -> dict[str, Any]:
    listed: list[dict[str, Any]] = []
    for (its_group, its_version, plural), kind in ROUTES.items():
        if (its_group, its_version) != (group, version):
            continue
        one = {"singularName": kind.kind.lower(), "namespaced": kind.namespaced, "kind": kind.kind}
        short = {"shortNames": _SHORT[kind.kind]} if kind.kind in _SHORT else {}
        listed.append({**one, "name": plural, "verbs": _VERBS, **short})
        status = {**one, "singularName": "", "name": f"{plural}/status"}
        listed.append({**status, "verbs": ["get", "patch", "update"]})
    if not listed:
        raise no_such_resource()
    if (group, version) == ("", "v1"):
        for name, kind_name, its_group, its_version in _SUBRESOURCES:
            one = {"name": name, "singularName": "", "namespaced": True, "kind": kind_name}
            listed.append({**one, "group": its_group, "version": its_version, "verbs": ["create"]})
    api_version = f"{group}/{version}" if group else version
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version}
    return {**head, "resources": listed}
