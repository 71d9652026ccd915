"""Disks that only one pod can use at a time are not given to a second one.

Mirrors pkg/scheduler/framework/plugins/volumerestrictions (v1.36): inline disks of old, and claims with access mode
ReadWriteOncePod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeInfo,
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

ERR_REASON_DISK = "node(s) had no available disk"
ERR_REASON_ONCE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
STATE_KEY = "PreFilterVolumeRestrictions"
RESTRICTED = ("gcePersistentDisk", "awsElasticBlockStore", "rbd", "iscsi")

Volume = Mapping[str, Any]


def collides(one: Volume, other: Volume) -> bool:
    """Whether two inline volumes of one node are the same disk and not both read-only."""
    for source in RESTRICTED:
        mine, theirs = one.get(source), other.get(source)
        if mine is None or theirs is None:
            continue
        read_only = bool(mine.get("readOnly") and theirs.get("readOnly"))
        if source == "awsElasticBlockStore":
            read_only = False
        if not read_only and _is_same(source, mine, theirs):
            return True
    return False


def _is_same(source: str, mine: Volume, theirs: Volume) -> bool:
    if source == "gcePersistentDisk":
        return bool(mine.get("pdName") == theirs.get("pdName"))
    if source == "awsElasticBlockStore":
        return bool(mine.get("volumeID") == theirs.get("volumeID"))
    if source == "iscsi":
        return bool(mine.get("iqn") == theirs.get("iqn"))
    shares = set(mine.get("monitors") or ()) & set(theirs.get("monitors") or ())
    pools = (mine.get("pool") or "rbd", theirs.get("pool") or "rbd")
    return bool(shares) and pools[0] == pools[1] and mine.get("image") == theirs.get("image")


@dataclass(slots=True)
class Wanted:
    """disks: the pod's restricted inline volumes; once: its claims that one pod only may use; n_in_use: how many of
    those another pod uses."""

    disks: Sequence[Volume]
    once: frozenset[str]
    n_in_use: int

    def at(self, row: int) -> Wanted:
        return replace(self)

    def count(self, other: Pod, sign: int) -> None:
        """Another pod comes or leaves. As upstream, claims are compared by name."""
        names = [one.name for one in volumes.claim_names(other) if not one.is_ephemeral]
        self.n_in_use += sign * sum(name in self.once for name in names)


class VolumeRestrictions(Plugin):
    """Refuse nodes where a disk that the pod needs is in use."""

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        once: set[str] = set()
        for one in volumes.claim_names(pod):
            if one.is_ephemeral:
                continue
            claim = nodes.listers.get("PersistentVolumeClaim", one.key(pod))
            if claim is None:
                return UnschedulableAndUnresolvable(
                    volumes.not_found("PersistentVolumeClaim", one.name)
                )
            if "ReadWriteOncePod" in (volumes.spec(claim).get("accessModes") or ()):
                once.add(one.name)
        n_in_use = sum(nodes.pod_index.uses_claim(f"{pod.namespace}/{name}") for name in once)
        disks = [volume for volume in pod.volumes if any(s in volume for s in RESTRICTED)]
        if not disks and not n_in_use:
            return Skip()
        state.write(STATE_KEY, Wanted(disks, frozenset(once), n_in_use))
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        state.read(STATE_KEY).count(other, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        state.read(STATE_KEY).count(other, -1)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        wanted: Wanted = state.read(STATE_KEY)
        statuses = NodeStatuses(len(nodes))
        if wanted.n_in_use > 0:
            statuses.reject(slice(None), Unschedulable(ERR_REASON_ONCE))
        for row, pods in nodes.pod_index.with_volumes.items() if wanted.disks else ():
            there = [volume for other in pods.values() for volume in other.volumes]
            if any(collides(one, other) for one in wanted.disks for other in there):
                statuses.reject(row, Unschedulable(ERR_REASON_DISK))
        return statuses

    def events_to_register(self) -> tuple[Registration, ...]:
        return (
            Hinted(ClusterEvent("AssignedPod", ActionType.DELETE), _shared_a_volume),
            ClusterEvent("Node", ActionType.ADD),
            Hinted(
                ClusterEvent("PersistentVolumeClaim", ActionType.ADD | ActionType.UPDATE),
                volumes.is_of_claim,
            ),
        )


def _shared_a_volume(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the deleted pod used a disk or a claim that this one wants. As upstream, the claims' access modes are not
    looked up."""
    if not isinstance(old, Pod) or old.namespace != pod.namespace:
        return False
    mine, theirs = (
        {one.name for one in volumes.claim_names(each) if not one.is_ephemeral}
        for each in (pod, old)
    )
    return bool(mine & theirs) or any(
        collides(one, other) for one in pod.volumes for other in old.volumes
    )
