"""A node can hold so many volumes of each CSI driver.

Mirrors pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36). What is attached to a node is worked out once
and kept until its pods or some volume change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject, Other, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Skip,
    Snapshot,
    Status,
    Unschedulable,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)
from schedviz.scheduler.framework.listers import Listers

ERR_REASON = "node(s) exceed max volume count"
# In-tree volume sources that a CSI driver took over: source -> (in-tree name, driver, field that names the volume).
IN_TREE_SOURCES = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "volumeID"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "pdName"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com", "diskURI"),
    "azureFile": ("kubernetes.io/azure-file", "file.csi.azure.com", "shareName"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org", "volumeID"),
    "vsphereVolume": ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "volumePath"),
    "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com", "volumeID"),
}
DRIVER_OF = {in_tree: driver for in_tree, driver, _ in IN_TREE_SOURCES.values()}
_KINDS = (
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "VolumeAttachment",
)

Attachable = dict[str, str]  # a volume's unique name -> its driver


class NotFound(LookupError):
    """A claim of the pod does not exist, or is another pod's."""


def limits_of(csi_node: Other | None) -> dict[str, int]:
    """driver -> how many volumes; drivers without a count have no limit."""
    found = {}
    for driver in volumes.spec(csi_node).get("drivers") or () if csi_node else ():
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None:
            found[driver["name"]] = int(count)
    return found


def attachable(pod: Pod, csi_node: Other | None, listers: Listers, *, is_new: bool) -> Attachable:
    """The CSI volumes that the pod needs on this node. Raises NotFound for a new pod."""
    found: Attachable = {}
    names = iter(volumes.claim_names(pod))
    for volume in pod.volumes:
        if volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            found.update(_migrated(volume, csi_node))
            continue
        one = next(names)
        claim = listers.get("PersistentVolumeClaim", one.key(pod))
        if claim is None:
            if is_new:
                words = volumes.not_found("PersistentVolumeClaim", one.name)
                raise NotFound(f"looking up PVC {one.key(pod)}: {words}")
            continue
        if one.is_ephemeral and not volumes.belongs_to(claim, pod):
            if is_new:
                raise NotFound(
                    f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
                )
            continue
        found.update(_of_claim(claim, csi_node, listers))
    return found


def _of_claim(claim: Other, csi_node: Other | None, listers: Listers) -> Attachable:
    volume = listers.get("PersistentVolume", volumes.volume_name(claim))
    if volume is not None:
        csi = volumes.spec(volume).get("csi")
        if csi is not None:
            return {f"{csi.get('driver')}/{csi.get('volumeHandle')}": csi.get("driver") or ""}
        return _migrated(volumes.spec(volume), csi_node)
    storage_class = listers.get("StorageClass", volumes.class_name(claim))
    if storage_class is None:
        return {}
    provisioner = storage_class.raw.get("provisioner") or ""
    if provisioner in DRIVER_OF:
        if not volumes.is_migrated(provisioner, csi_node):
            return {}
        provisioner = DRIVER_OF[provisioner]
    # The volume will be made: nothing else has this name.
    return {f"{provisioner}/to be provisioned-{claim.key}": provisioner} if provisioner else {}


def _migrated(source: Mapping[str, Any], csi_node: Other | None) -> Attachable:
    """An in-tree volume, if this node's CSI driver took its sort over."""
    for name, (in_tree, driver, field) in IN_TREE_SOURCES.items():
        if source.get(name) is not None and volumes.is_migrated(in_tree, csi_node):
            return {f"{driver}/{source[name].get(field)}": driver}
    return {}


class NodeVolumeLimits(Plugin):
    """Refuse nodes that could not attach the pod's volumes."""

    def __init__(self, args: Any = None) -> None:
        super().__init__(args)
        self._attached: dict[str, tuple[object, Attachable]] = {}
        self._attached_of = -1

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        sources = {"persistentVolumeClaim", "ephemeral", *IN_TREE_SOURCES}
        if any(sources & volume.keys() for volume in pod.volumes):
            return None
        return Skip()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        if not pod.volumes:
            return statuses
        attachments = _attachments(nodes.listers)
        for row, name in enumerate(nodes.names):
            csi_node = nodes.listers.get("CSINode", name)
            status = self._verdict(pod, row, csi_node, nodes, attachments.get(name, {}))
            if status is not None:
                statuses.reject(row, status)
        return statuses

    def events_to_register(self) -> tuple[Registration, ...]:
        return (
            Hinted(ClusterEvent("CSINode", ActionType.ADD | ActionType.UPDATE), _has_higher_limit),
            Hinted(ClusterEvent("AssignedPod", ActionType.DELETE), _had_a_volume),
            Hinted(ClusterEvent("PersistentVolumeClaim", ActionType.ADD), volumes.is_of_claim),
            ClusterEvent("VolumeAttachment", ActionType.DELETE),
        )

    def _verdict(
        self, pod: Pod, row: int, csi_node: Other | None, nodes: Snapshot, attached: Attachable
    ) -> Status | None:
        try:
            new = attachable(pod, csi_node, nodes.listers, is_new=True)
        except NotFound as error:
            return UnschedulableAndUnresolvable(str(error))
        if not new:
            return None
        if "VolumeLimitScaling" in self.features:
            missing = _missing_driver(new, csi_node, nodes.listers)
            if missing:
                return Unschedulable(f"{missing} CSI driver is not installed on the node")
        limits = limits_of(csi_node)
        if not limits:
            return None
        # A volume that a pod here uses costs nothing more; one that is only attached counts once more, as upstream.
        of_pods = self._of_pods(row, csi_node, nodes)
        used = Counter({**attached, **of_pods}.values())
        wanted = Counter(driver for name, driver in new.items() if name not in of_pods)
        for driver, n in wanted.items():
            if driver in limits and used[driver] + n > limits[driver]:
                return Unschedulable(ERR_REASON)
        return None

    def _of_pods(self, row: int, csi_node: Other | None, nodes: Snapshot) -> Attachable:
        """The volumes that the node's pods use."""
        if nodes.is_trial:
            return self._find(row, csi_node, nodes)
        version = nodes.listers.version(*_KINDS)
        if self._attached_of != version:
            self._attached.clear()
            self._attached_of = version
        info = nodes.infos[row]
        known = self._attached.get(info.name)
        if known is not None and known[0] is info:
            return known[1]
        found = self._find(row, csi_node, nodes)
        self._attached[info.name] = (info, found)
        return found

    def _find(self, row: int, csi_node: Other | None, nodes: Snapshot) -> Attachable:
        found: Attachable = {}
        for other in nodes.pod_index.with_volumes.get(row, {}).values():
            found.update(attachable(other, csi_node, nodes.listers, is_new=False))
        return found


def _missing_driver(new: Attachable, csi_node: Other | None, listers: Listers) -> str:
    """A driver of the new volumes that is not on the node though its CSIDriver says it must be; "" if none."""
    drivers = volumes.spec(csi_node).get("drivers") or () if csi_node else ()
    there = {driver["name"] for driver in drivers}
    for driver in sorted(set(new.values()) - there):
        known = listers.get("CSIDriver", driver)
        if known is not None and volumes.spec(known).get("preventPodSchedulingIfMissing"):
            return driver
    return ""


def _attachments(listers: Listers) -> dict[str, Attachable]:
    """node -> the CSI volumes that VolumeAttachments put there."""
    found: dict[str, Attachable] = {}
    for attachment in listers.of("VolumeAttachment").values():
        spec = volumes.spec(attachment)
        name = (spec.get("source") or {}).get("persistentVolumeName") or ""
        volume = listers.get("PersistentVolume", name)
        csi = volumes.spec(volume).get("csi") if volume is not None else None
        driver = spec.get("attacher")
        if csi is not None and driver:
            there = found.setdefault(spec.get("nodeName") or "", {})
            there[f"{driver}/{csi.get('volumeHandle')}"] = driver
    return found


def _has_higher_limit(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether a driver may hold more volumes there, or one that had a limit has none now."""
    if not isinstance(new, Other) or not isinstance(old, Other):
        return isinstance(new, Other)
    before, now = limits_of(old), limits_of(new)
    return any(driver not in now or now[driver] > n for driver, n in before.items())


def _had_a_volume(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the deleted pod had a volume that a driver attaches."""
    if not isinstance(old, Pod):
        return False
    sources = ("persistentVolumeClaim", "ephemeral", *IN_TREE_SOURCES)
    return any(volume.get(source) is not None for volume in old.volumes for source in sources)
