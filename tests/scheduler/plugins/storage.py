"""What tests of volumes share: volumes, claims and classes from a few words, with resourceVersions as the API gives."""

from __future__ import annotations

import itertools
from typing import Any

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject
from tests import make

ZONE = "topology.kubernetes.io/zone"
_versions = itertools.count(1)


def on(*values: str, key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    """A volume's node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def volume(
    name: str,
    size: str = "5Gi",
    *,
    storage_class: str = "slow",
    phase: str = "Available",
    kept_for: str = "",
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> KubeObject:
    """kept_for: "name" or "name uid" of a claim in namespace default."""
    made = {"capacity": {"storage": size}, "storageClassName": storage_class, **spec}
    made.setdefault("accessModes", ["ReadWriteOnce"])
    if kept_for:
        claim, _, uid = kept_for.partition(" ")
        made["claimRef"] = {"namespace": "default", "name": claim, **({"uid": uid} if uid else {})}
    meta = {"resourceVersion": str(next(_versions)), **(meta or {})}
    return make.other("PersistentVolume", name, spec=made, status={"phase": phase}, meta=meta)


def claim(
    name: str,
    size: str = "5Gi",
    *,
    storage_class: str = "slow",
    bound_to: str = "",
    node: str | None = None,
    phase: str = "",
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> KubeObject:
    """bound_to: its volume, and both say so; node: where its volume is to be made."""
    annotations = {volumes.BIND_COMPLETED: "yes"} if bound_to else {}
    if node is not None:
        annotations[volumes.SELECTED_NODE] = node
    made = {
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "volumeName": bound_to,
        **spec,
    }
    meta = {
        "resourceVersion": str(next(_versions)),
        "annotations": annotations,
        "uid": f"uid-{name}",
        **(meta or {}),
    }
    return make.other(
        "PersistentVolumeClaim",
        name,
        namespace="default",
        spec=made,
        status={"phase": phase},
        meta=meta,
    )


def storage_class(
    name: str = "slow", provisioner: str = "", *, mode: str = "WaitForFirstConsumer", **words: Any
) -> KubeObject:
    provisioner = provisioner or volumes.NO_PROVISIONER
    return make.other(
        "StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **words
    )


def capacity(name: str, size: str, *, of: str, zone: str = "", **words: Any) -> KubeObject:
    """zone "": of every node."""
    topology = {"matchLabels": {ZONE: zone}} if zone else {}
    words = {"nodeTopology": topology, "storageClassName": of, "capacity": size, **words}
    return make.other("CSIStorageCapacity", name, namespace="default", **words)
