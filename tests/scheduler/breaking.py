"""Objects as nobody should write them: rich manifests in which one place after the other is broken.

Used by `test_fuzz`. `broken(kind, number)` always gives the same manifest for the same number.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 1.5, 1e308),
    *("", " ", "x", "1", "-1", "1e400", "1Zi", "100m", "0x10", "٣", "a" * 300, "\x00", "<script>"),
    *("Exists", "In", "NoSchedule", "DoNotSchedule", "Always", "2026-13-45T99:00:00Z"),
    *([], [None], ["x"], [[]], [{}], {}, {"": ""}, {"x": None}, {"a": {"b": []}}, {"cpu": "lots"}),
)


def _pod(chance: random.Random) -> dict[str, Any]:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
    }
    term = {
        "labelSelector": selector,
        "topologyKey": "zone",
        "namespaces": ["default"],
        "namespaceSelector": {"matchLabels": {"team": "x"}},
        "matchLabelKeys": ["app"],
    }
    node_term = {
        "matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "size", "operator": "Gt", "values": ["3"]},
        ],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0", "n1"]}],
    }
    resources = {"requests": {"cpu": "100m", "memory": "64Mi", "example.com/gpu": "1"}}
    resources["limits"] = {"cpu": "200m", "memory": "64Mi", "example.com/gpu": "1"}
    container = {
        "name": "c",
        "image": "app:v1",
        "resources": resources,
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "TCP"}],
    }
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "priority": chance.choice([0, 1, 1000]),
        "preemptionPolicy": "PreemptLowerPriority",
        "containers": [container],
        "initContainers": [{**container, "name": "i", "restartPolicy": "Always"}],
        "overhead": {"cpu": "10m"},
        "resources": {"requests": {"cpu": "300m"}},
        "nodeSelector": {"zone": "a"},
        "tolerations": [
            {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"operator": "Exists", "tolerationSeconds": 5},
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [node_term]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": node_term}
                ],
            },
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "podAffinityTerm": term}
                ],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
                "minDomains": 2,
                "matchLabelKeys": ["app"],
                "nodeAffinityPolicy": "Honor",
                "nodeTaintsPolicy": "Honor",
            }
        ],
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "g", "gcePersistentDisk": {"pdName": "d"}},
            {"name": "k", "csi": {"driver": "d"}},
        ],
        "schedulingGates": [],
        "resourceClaims": [],
    }
    for name in chance.sample(sorted(spec), chance.randrange(len(spec))):
        if name != "containers":
            del spec[name]
    if chance.random() < 0.3:
        spec["nodeName"] = chance.choice(["n0", "n1", "nowhere"])
    status = {
        "phase": "Pending",
        "startTime": "2026-01-01T00:00:00Z",
        "nominatedNodeName": chance.choice(["", "n0"]),
        "conditions": [{"type": "PodScheduled", "status": "False"}],
        "containerStatuses": [{"name": "c", "resources": resources, "allocatedResources": {}}],
    }
    return {"metadata": {"labels": {"app": "web", "tier": "a"}}, "spec": spec, "status": status}


def _node(chance: random.Random) -> dict[str, Any]:
    rooms = {"cpu": "4", "memory": "8Gi", "pods": "20", "example.com/gpu": "2"}
    return {
        "metadata": {"labels": {"zone": chance.choice("ab"), "size": "4"}},
        "spec": {
            "unschedulable": False,
            "taints": [{"key": "a", "value": "x", "effect": "PreferNoSchedule"}],
        },
        "status": {
            "allocatable": rooms,
            "capacity": rooms,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["app:v1", "app@sha256:1"], "sizeBytes": 50 << 20}],
            "declaredFeatures": ["F"],
        },
    }


def _other(kind: str, chance: random.Random) -> dict[str, Any]:
    topology = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
    modes = ["ReadWriteOnce"]
    specs: dict[str, dict[str, Any]] = {
        "PersistentVolumeClaim": {
            "spec": {
                "accessModes": modes,
                "storageClassName": "s",
                "volumeName": chance.choice(["", "v"]),
                "resources": {"requests": {"storage": "1Gi"}},
                "selector": {"matchLabels": {"a": "b"}},
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Pending"},
        },
        "PersistentVolume": {
            "spec": {
                "capacity": {"storage": "2Gi"},
                "accessModes": modes,
                "storageClassName": "s",
                "claimRef": {"namespace": "default", "name": "c"},
                "nodeAffinity": {"required": topology},
                "csi": {"driver": "d", "volumeHandle": "h"},
            },
            "status": {"phase": "Available"},
        },
        "StorageClass": {
            "provisioner": "d",
            "volumeBindingMode": chance.choice(["WaitForFirstConsumer", "Immediate"]),
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}
            ],
        },
        "CSINode": {"spec": {"drivers": [{"name": "d", "allocatable": {"count": 2}}]}},
        "CSIDriver": {"spec": {"storageCapacity": True}},
        "CSIStorageCapacity": {
            "storageClassName": "s",
            "capacity": "5Gi",
            "maximumVolumeSize": "2Gi",
            "nodeTopology": {"matchLabels": {"zone": "a"}},
        },
        "Service": {"spec": {"selector": {"app": "web"}}},
        "ReplicaSet": {"spec": {"selector": {"matchLabels": {"app": "web"}}}},
        "PodDisruptionBudget": {
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 1, "disruptedPods": {}},
        },
        "Namespace": {"spec": {}},
        "VolumeAttachment": {
            "spec": {"nodeName": "n0", "attacher": "d", "source": {"persistentVolumeName": "v"}}
        },
    }
    return {"metadata": {"labels": {"team": "x", "topology.kubernetes.io/zone": "a"}}} | specs[kind]


OTHERS = {  # kind -> the name under which pods mean it
    "PersistentVolumeClaim": "c",
    "PersistentVolume": "v",
    "StorageClass": "s",
    "CSINode": "n0",
    "CSIDriver": "d",
    "CSIStorageCapacity": "k",
    "Service": "s",
    "ReplicaSet": "r",
    "PodDisruptionBudget": "b",
    "Namespace": "default",
    "VolumeAttachment": "a",
}
CLUSTER_WIDE = ("Node", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "Namespace")


def manifest(kind: str, number: int, *, n_breaks: int) -> dict[str, Any]:
    """Valid, then broken in so many places."""
    chance = random.Random(f"{kind} {number}")
    if kind == "Pod":
        made = _pod(chance)
        name = f"p{number}"
    elif kind == "Node":
        made, name = _node(chance), f"n{number % 6}"
    else:
        made, name = _other(kind, chance), OTHERS[kind]
    made = copy.deepcopy(made)
    for _ in range(n_breaks):
        _break(made, chance)
    meta = made.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    meta |= {"name": name, "uid": f"{kind}-{name}", "resourceVersion": str(number + 1)}
    if kind not in CLUSTER_WIDE:
        meta["namespace"] = "default"
    return {**made, "metadata": meta}


def _break(made: dict[str, Any], chance: random.Random) -> None:
    holder, key = chance.choice(list(_places(made)))
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(chance.choice(JUNK))


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    entries = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, value in entries:
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)
