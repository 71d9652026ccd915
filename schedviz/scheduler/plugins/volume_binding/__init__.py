"""Finds, takes and binds the volumes of a pod's claims, together with its node.

Filter looks for volumes that exist already (the smallest that fits) and else for a place to make new ones; Reserve
takes them for granted, so that the next pod finds others; PreBind asks the world to bind them and waits. Mirrors
pkg/scheduler/framework/plugins/volumebinding (v1.36).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject, Other, Pod
from schedviz.scheduler.framework import (
    CycleState,
    Error,
    NodeStatuses,
    Plugin,
    PreBindResult,
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
from schedviz.scheduler.framework.shape_score import broken_linear
from schedviz.scheduler.framework.steps import PatchObject
from schedviz.scheduler.plugins.volume_binding import binder, taking
from schedviz.scheduler.plugins.volume_binding.binder import PV, PVC, PodClaims

STATE_KEY = "VolumeBinding"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
SCORING = "StorageCapacityScoring"
ERR_REASONS = {
    binder.NOT_REACHED: "node(s) didn't match PersistentVolume's node affinity",
    binder.NO_VOLUME: "node(s) didn't find available persistent volumes to bind",
    binder.NO_SPACE: "node(s) did not have enough free storage",
    binder.NO_SUCH_VOLUME: (
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    ),
}
ERR_REASON_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
TIMED_OUT = "binding volumes: context deadline exceeded"

Rows = NDArray[np.intp]


class VolumeBinding(Plugin):
    """Refuse nodes where the pod's claims can't get volumes; bind the volumes before the pod."""

    @dataclass(frozen=True)
    class Args:
        """VolumeBindingArgs. shape: points (utilisation, score 0..10), for StorageCapacityScoring only."""

        bind_timeout_seconds: float = 600.0
        shape: tuple[tuple[int, int], ...] = ((0, 10), (100, 0))

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> VolumeBinding.Args:
            seconds = raw.get("bindTimeoutSeconds")
            shape = tuple(
                (one.get("utilization") or 0, one.get("score") or 0)
                for one in raw.get("shape") or ()
            )
            return cls(600.0 if seconds is None else float(seconds), shape or cls.shape)

    filter_reads = Reads.NODE
    args: VolumeBinding.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: VolumeBinding.Args | None = None) -> None:
        super().__init__(args)
        self._index = binder.VolumeIndex()

    # ---- scheduling cycle ------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        claims = PodClaims(nodes.listers)
        is_unbound = False
        for one in volumes.claim_names(pod):
            thing = nodes.listers.get(PVC, one.key(pod))
            refused = _refusal(one, thing, pod)
            if refused or thing is None:
                return UnschedulableAndUnresolvable(refused)
            claim = volumes.read_claim(thing.raw)
            if claim.is_bound:
                claims.bound.append(claim)
            elif claim.volume_name or not _waits(claim, nodes.listers):
                is_unbound = True
            else:
                claims.delayed.append(claim)
        if is_unbound:
            return UnschedulableAndUnresolvable(ERR_REASON_UNBOUND)
        state.write(STATE_KEY, claims)
        return None if claims.bound or claims.delayed else Skip()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        claims: PodClaims = state.read(STATE_KEY)
        search = binder.Search(claims, nodes, self._index)
        claims.found.append(search.run())
        statuses = NodeStatuses(len(nodes))
        for flags in np.unique(search.flags[search.flags != 0]):
            reasons = [reason for flag, reason in ERR_REASONS.items() if flags & flag]
            statuses.reject(search.flags == flags, UnschedulableAndUnresolvable(*reasons))
        return statuses

    def pre_score(self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows) -> Status | None:
        return None if SCORING in self.features else Skip()

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows
    ) -> NDArray[np.int64]:
        claims: PodClaims = state.read(STATE_KEY)
        table = broken_linear((at, score * 10) for at, score in self.args.shape)
        scores = [_score(claims, nodes.names[row], table) for row in rows]
        return np.array(scores, dtype=np.int64)

    # ---- the chosen node -------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        claims: PodClaims = state.read(STATE_KEY)
        there = claims.on(node_name)
        lost = taking.take(claims, *there, node_name) if there else ""
        return Error(lost) if lost else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        taking.release(state.read(STATE_KEY))

    def pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Status | PreBindResult | None:
        claims: PodClaims = state.read(STATE_KEY)
        if not claims.taken:
            return Skip()
        taken = claims.taken.values()
        return PreBindResult(
            tuple(PatchObject.of(one.before, one.patch) for one in taken if one.patch),
            until=lambda listers, node: taking.are_bound(claims, listers, node, node_name),
            kinds=frozenset({PV, PVC, "Node", "CSINode"}),
            timeout_seconds=self.args.bind_timeout_seconds,
            timed_out=Error(TIMED_OUT),
        )

    def events_to_register(self) -> tuple[Registration, ...]:
        either = ActionType.ADD | ActionType.UPDATE
        return (
            Hinted(ClusterEvent("StorageClass", either), _allows_other_places),
            Hinted(ClusterEvent(PVC, either), volumes.is_of_claim),
            ClusterEvent(PV, either),
            ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            Hinted(ClusterEvent("CSINode", either), _migrates_others),
            Hinted(ClusterEvent("CSIDriver", ActionType.UPDATE), _counts_no_more),
            Hinted(ClusterEvent("CSIStorageCapacity", either), _holds_more),
        )


def _allows_other_places(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether a class came, or makes volumes in other places now."""
    if not isinstance(new, Other) or not isinstance(old, Other):
        return isinstance(new, Other)
    return bool(old.raw.get("allowedTopologies") != new.raw.get("allowedTopologies"))


def _migrates_others(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    if not isinstance(new, Other) or not isinstance(old, Other):
        return isinstance(new, Other)
    before, now = (
        (one.raw["metadata"].get("annotations") or {}).get(volumes.MIGRATED) for one in (old, new)
    )
    return bool(before != now)


def _counts_no_more(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the capacity of this driver's storage is not looked at any more. Upstream asks so of the pod's inline
    volumes only; a claim's driver is known by its class, hence any driver may help here."""
    if not isinstance(old, Other) or not isinstance(new, Other):
        return False
    before, now = (bool(volumes.spec(one).get("storageCapacity")) for one in (old, new))
    return before and not now


def _holds_more(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether there is storage where there was none, or a larger volume can be made."""
    if not isinstance(new, Other) or not isinstance(old, Other):
        return isinstance(new, Other)
    before, now = volumes.capacity_limit(old), volumes.capacity_limit(new)
    return now is not None and (before is None or now > before)


def _refusal(one: volumes.ClaimName, claim: Other | None, pod: Pod) -> str:
    """Why a pod with this claim can't be scheduled anywhere; "" when it may be."""
    if claim is None and one.is_ephemeral:
        waited_for = f'persistentvolumeclaim "{one.name}"'
        return f"waiting for ephemeral volume controller to create the {waited_for}"
    if claim is None:
        return volumes.not_found(PVC, one.name)
    if (claim.raw.get("status") or {}).get("phase") == "Lost":
        lost = volumes.volume_name(claim)
        return f'persistentvolumeclaim "{one.name}" bound to non-existent persistentvolume "{lost}"'
    if claim.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{one.name}" is being deleted'
    if one.is_ephemeral and not volumes.belongs_to(claim, pod):
        return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _waits(claim: volumes.Claim, listers: Listers) -> bool:
    """Whether the claim is bound for its first pod only."""
    found = listers.get("StorageClass", claim.class_name)
    return found is not None and volumes.binding_mode(found) == "WaitForFirstConsumer"


def _score(claims: PodClaims, node_name: str, table: NDArray[np.int64]) -> int:
    """The mean of the classes' scores, each by how much of its volumes' size is asked for."""
    there = claims.on(node_name)
    if there is None:
        return 0
    found, row = there
    sizes: dict[str, tuple[int, int]] = {}  # class -> requested, capacity
    for claim, volume in found.static_on(row):
        requested, capacity = sizes.get(volume.class_name, (0, 0))
        added = (requested + math.ceil(claim.size), capacity + math.ceil(volume.size))
        sizes[volume.class_name] = added
    for claim, room in () if sizes else found.provisions_on(row):
        if room != binder.NO_LIMIT:
            requested, _ = sizes.get(claim.class_name, (0, 0))
            sizes[claim.class_name] = (requested + math.ceil(claim.size), room)
    scores = [
        int(table[100 if not capacity or requested > capacity else requested * 100 // capacity])
        for requested, capacity in sizes.values()
    ]
    return math.floor(sum(scores) / len(scores) + 0.5) if scores else 0
