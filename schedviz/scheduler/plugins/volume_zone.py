"""A volume that lives in a zone can be used on that zone's nodes only.

Mirrors pkg/scheduler/framework/plugins/volumezone (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject, Other, Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
    Skip,
    Snapshot,
    Status,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)
from schedviz.scheduler.framework.listers import Listers

ERR_REASON = "node(s) had no available volume zone"
STATE_KEY = "PreFilterVolumeZone"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
}
LABELS = (*BETA, ZONE, REGION)


@dataclass(frozen=True, slots=True)
class Place:
    """A label of a volume that its node must carry with one of the values."""

    key: str
    values: frozenset[str]

    def allows(self, labels: dict[str, str]) -> bool:
        value = labels.get(self.key)
        if value is None:
            value = labels.get(BETA.get(self.key, self.key))
        return value in self.values


def places_of(volume: Other) -> list[Place]:
    """ "a__b" is a set; one with an empty part is no set and is not looked at."""
    found = []
    for key in LABELS:
        parts = frozenset(part.strip() for part in volume.labels.get(key, "").split("__"))
        if "" not in parts:
            found.append(Place(key, parts))
    return found


class VolumeZone(Plugin):
    """Refuse nodes outside the zones of the pod's volumes."""

    filter_reads = Reads.NODE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        places = _places(pod, nodes.listers)
        if isinstance(places, Status):
            return places
        if not places:
            return Skip()
        state.write(STATE_KEY, places)
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        places = state.get(STATE_KEY)
        if places is None:  # PreFilter is disabled
            places = _places(pod, nodes.listers)
        if isinstance(places, Status):
            statuses.reject(np.ones(len(nodes), dtype=np.bool_), places)
            return statuses
        zoned = np.zeros(len(nodes), dtype=np.bool_)
        for key in LABELS:
            zoned |= nodes.label(key).codes >= 0
        for place in places:
            outside = zoned & ~_inside(place, nodes)
            if outside.any():
                statuses.reject(outside, UnschedulableAndUnresolvable(ERR_REASON))
        return statuses

    def events_to_register(self) -> tuple[Registration, ...]:
        either = ActionType.ADD | ActionType.UPDATE
        return (
            Hinted(ClusterEvent("StorageClass", ActionType.ADD), _waits_for_a_pod),
            ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            Hinted(ClusterEvent("PersistentVolumeClaim", either), volumes.is_of_claim),
            Hinted(ClusterEvent("PersistentVolume", either), _is_elsewhere_now),
        )


def _inside(place: Place, nodes: Snapshot) -> NDArray[np.bool_]:
    """[node]: whether the node's label, or its name of today, has one of the values."""
    column = nodes.label(place.key)
    inside = column.select([value in place.values for value in column.values], absent=False)
    if place.key in BETA:
        today = nodes.label(BETA[place.key])
        other = today.select([value in place.values for value in today.values], absent=False)
        inside = np.where(column.codes >= 0, inside, other)
    return inside


def _places(pod: Pod, listers: Listers) -> list[Place] | Status:
    """What the pod's bound volumes ask of a node's labels, or why that can't be told."""
    found: list[Place] = []
    for one in volumes.claim_names(pod):
        if one.is_ephemeral:
            continue
        volume = _volume(one, pod, listers)
        if isinstance(volume, str):
            return UnschedulableAndUnresolvable(volume)
        if volume is not None:
            found += places_of(volume)
    return found


def _volume(one: volumes.ClaimName, pod: Pod, listers: Listers) -> Other | str | None:
    """The volume that the claim is bound to; None while it waits for its first consumer; or what is wrong."""
    if not one.name:
        return "PersistentVolumeClaim had no name"
    claim = listers.get("PersistentVolumeClaim", one.key(pod))
    if claim is None:
        return volumes.not_found("PersistentVolumeClaim", one.name)
    name = volumes.volume_name(claim)
    if not name:
        return _unbound(claim, listers)
    volume = listers.get("PersistentVolume", name)
    return volume if volume is not None else volumes.not_found("PersistentVolume", name)


def _unbound(claim: Other, listers: Listers) -> str | None:
    name = volumes.class_name(claim)
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = listers.get("StorageClass", name)
    if storage_class is None:
        return volumes.not_found("StorageClass", name)
    if volumes.binding_mode(storage_class) == "WaitForFirstConsumer":
        return None
    return "PersistentVolume had no name"


def _waits_for_a_pod(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the new class leaves its claims unbound until a pod has its node: such claims are passed over."""
    return isinstance(new, Other) and volumes.binding_mode(new) == "WaitForFirstConsumer"


def _is_elsewhere_now(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether a volume came, or says of other places that it is there."""
    if not isinstance(new, Other):
        return False
    return not isinstance(old, Other) or places_of(old) != places_of(new)
