"""Every kind that the product reads or serves: its group, version, plural and scope, and the REST paths they give.

Used by `cluster` to build URLs, by `sandbox` to route them and by the store to name kinds. Order matters: it is the
order in which informers start (nodes before pods).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource type. `group` is "" for the core group."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The REST path below the server's URL. Without a namespace: the collection across namespaces."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/" + "/".join(parts)


KINDS: dict[str, Kind] = {
    kind.kind: kind
    for kind in (
        Kind("Namespace", "", "v1", "namespaces", False),
        Kind("Node", "", "v1", "nodes", False),
        Kind("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", False),
        Kind("CSINode", "storage.k8s.io", "v1", "csinodes", False),
        Kind("CSIDriver", "storage.k8s.io", "v1", "csidrivers", False),
        Kind("CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities", True),
        Kind("StorageClass", "storage.k8s.io", "v1", "storageclasses", False),
        Kind("VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", False),
        Kind("PersistentVolume", "", "v1", "persistentvolumes", False),
        Kind("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", True),
        Kind("Service", "", "v1", "services", True),
        Kind("ReplicationController", "", "v1", "replicationcontrollers", True),
        Kind("ReplicaSet", "apps", "v1", "replicasets", True),
        Kind("StatefulSet", "apps", "v1", "statefulsets", True),
        Kind("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", True),
        Kind("Pod", "", "v1", "pods", True),
        Kind("Lease", "coordination.k8s.io", "v1", "leases", True),
        Kind("Event", "events.k8s.io", "v1", "events", True),
        Kind("ConfigMap", "", "v1", "configmaps", True),
        Kind("Secret", "", "v1", "secrets", True),
        Kind("ServiceAccount", "", "v1", "serviceaccounts", True),
        Kind("Endpoints", "", "v1", "endpoints", True),
        Kind("LimitRange", "", "v1", "limitranges", True),
        Kind("ResourceQuota", "", "v1", "resourcequotas", True),
        Kind("Deployment", "apps", "v1", "deployments", True),
        Kind("DaemonSet", "apps", "v1", "daemonsets", True),
        Kind("Job", "batch", "v1", "jobs", True),
        Kind("RuntimeClass", "node.k8s.io", "v1", "runtimeclasses", False),
    )
}

# What a session's informers watch: what scheduling reads. From Lease on, the kinds are the sandbox's and kubectl's.
WATCHED: tuple[Kind, ...] = tuple(KINDS.values())[: list(KINDS).index("Lease")]
