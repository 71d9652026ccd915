"""Which columns each kind has, and the function that writes its cells.

Read by `tables`. A column after `|` is shown only with -o wide. Names and order are kubectl's on a v1.36 cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from schedviz.sandbox.storage import Object
from schedviz.sandbox.tables import cells
from schedviz.sandbox.tables.pods import pod_cells

Cells = Callable[[Object], list[Any]]
_COUNTS = {"Desired", "Current", "Up-to-date", "Available", "Data", "Value", "Drivers"}
_COUNTS |= {"Allowed Disruptions"}
_SAID = {"Name": "Name must be unique within a namespace."}
_TEMPLATE = "|Containers|Images"


@dataclass(frozen=True)
class Printed:
    """columns: names, joined by commas; those after | are wide. cells: one value for each."""

    columns: str
    cells: Cells

    @cached_property
    def definitions(self) -> list[dict[str, Any]]:
        usual, _, wide = self.columns.partition("|")
        named = [(name, 0) for name in usual.split(",")]
        named += [(name, 1) for name in wide.replace("|", ",").split(",") if name]
        return [
            {
                "name": name,
                "type": "integer" if name in _COUNTS else "string",
                "format": "name" if name == "Name" else "",
                "description": _SAID.get(name, ""),
                "priority": priority,
            }
            for name, priority in named
        ]


class _Events(Printed):
    """Wide columns stand between the others."""

    @cached_property
    def definitions(self) -> list[dict[str, Any]]:
        wide = {"Subobject", "Source", "First Seen", "Count", "Name"}
        usual = Printed(self.columns, self.cells).definitions
        return [one | {"priority": int(one["name"] in wide)} for one in usual]


UNKNOWN = Printed("Name,Age", cells.named)
"""Kinds without a table of their own."""
TABLES: dict[str, Printed] = {
    "ConfigMap": Printed("Name,Data,Age", cells.config_map),
    "CSIDriver": Printed(
        "Name,AttachRequired,PodInfoOnMount,StorageCapacity,TokenRequests,RequiresRepublish,Modes,Age",
        cells.csi_driver,
    ),
    "CSINode": Printed("Name,Drivers,Age", cells.csi_node),
    "CSIStorageCapacity": Printed("Name,StorageClassName,Capacity", cells.storage_capacity),
    "DaemonSet": Printed(
        f"Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age{_TEMPLATE}|Selector",
        cells.daemon_set,
    ),
    "Deployment": Printed(
        f"Name,Ready,Up-to-date,Available,Age{_TEMPLATE}|Selector", cells.deployment
    ),
    "Endpoints": Printed("Name,Endpoints,Age", cells.endpoints),
    "Event": _Events(
        "Last Seen,Type,Reason,Object,Subobject,Source,Message,First Seen,Count,Name", cells.event
    ),
    "Job": Printed(f"Name,Status,Completions,Duration,Age{_TEMPLATE}|Selector", cells.job),
    "Lease": Printed("Name,Holder,Age", cells.lease),
    "LimitRange": Printed("Name,Created At", cells.created),
    "Namespace": Printed("Name,Status,Age", cells.namespace),
    "Node": Printed(
        "Name,Status,Roles,Age,Version|Internal-IP|External-IP|OS-Image|Kernel-Version|Container-Runtime",
        cells.node,
    ),
    "PersistentVolume": Printed(
        "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age"
        "|VolumeMode",
        cells.volume,
    ),
    "PersistentVolumeClaim": Printed(
        "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age|VolumeMode",
        cells.claim,
    ),
    "Pod": Printed(
        "Name,Ready,Status,Restarts,Age|IP|Node|Nominated Node|Readiness Gates", pod_cells
    ),
    "PodDisruptionBudget": Printed(
        "Name,Min Available,Max Unavailable,Allowed Disruptions,Age", cells.budget
    ),
    "PriorityClass": Printed(
        "Name,Value,Global-Default,Age,PreemptionPolicy", cells.priority_class
    ),
    "ReplicaSet": Printed(f"Name,Desired,Current,Ready,Age{_TEMPLATE}|Selector", cells.replica_set),
    "ReplicationController": Printed(
        f"Name,Desired,Current,Ready,Age{_TEMPLATE}|Selector", cells.replica_set
    ),
    "ResourceQuota": Printed("Name,Request,Limit,Age", cells.quota),
    "RuntimeClass": Printed("Name,Handler,Age", cells.runtime_class),
    "Secret": Printed("Name,Type,Data,Age", cells.secret),
    "ServiceAccount": Printed("Name,Age", cells.named),
    "Service": Printed("Name,Type,Cluster-IP,External-IP,Port(s),Age|Selector", cells.service),
    "StatefulSet": Printed(f"Name,Ready,Age{_TEMPLATE}", cells.stateful_set),
    "StorageClass": Printed(
        "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age",
        cells.storage_class,
    ),
    "VolumeAttachment": Printed("Name,Attacher,PV,Node,Attached,Age", cells.attachment),
}
