"""What is measured: nodes of one size in three zones, and pods that ask for what the workload's name says.

Raw manifests, as an informer gets them.
"""

from __future__ import annotations

from typing import Any

WORKLOADS = ("basic", "nodeaffinity", "spread", "anti", "preemption")
ZONES = ("zone-a", "zone-b", "zone-c")
NODE_CPU = 32
VICTIMS_A_NODE = 4
"""preemption: this many pods of low priority fill a node; each pod that comes needs the room of one of them."""
LABELS = {"app": "bench"}


def node_name(number: int) -> str:
    return f"node-{number:05}"


def node(number: int) -> dict[str, Any]:
    name = node_name(number)
    amounts = {"cpu": str(NODE_CPU), "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
    }
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "resourceVersion": "1"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, workload: str) -> dict[str, Any]:
    """One that is to be scheduled."""
    made = _pod(name, cpu="100m", labels=LABELS)
    if workload == "preemption":
        made = _pod(name, cpu=str(NODE_CPU // VICTIMS_A_NODE), labels=LABELS)
        made["spec"]["priority"] = 1000
    made["spec"] |= ASKED.get(workload, {})
    return made


def running(name: str, workload: str, node_name: str) -> dict[str, Any]:
    """One that is on its node from the beginning. With `anti` it is another application's: else it would be in the
    way of every pod that comes."""
    cpu = str(NODE_CPU // VICTIMS_A_NODE) if workload == "preemption" else "100m"
    made = _pod(name, cpu=cpu, labels={"app": "other"} if workload == "anti" else LABELS)
    made["spec"]["nodeName"] = node_name
    if workload == "spread":
        made["spec"] |= ASKED["spread"]
    return made


def _pod(name: str, *, cpu: str, labels: dict[str, str]) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": "500Mi"}
    return {
        "metadata": {
            "name": name,
            "namespace": "bench",
            "uid": name,
            "labels": labels,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "pause",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": requests},
                }
            ],
        },
        "status": {"phase": "Pending"},
    }


_SELECTOR = {"matchLabels": LABELS}
ASKED: dict[str, dict[str, Any]] = {
    "nodeaffinity": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {
                                    "key": "topology.kubernetes.io/zone",
                                    "operator": "In",
                                    "values": list(ZONES[:2]),
                                }
                            ]
                        }
                    ]
                }
            }
        }
    },
    "spread": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _SELECTOR,
            }
        ]
    },
    "anti": {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": _SELECTOR}
                ]
            }
        }
    },
}
