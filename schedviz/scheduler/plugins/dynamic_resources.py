"""Resource claims: this scheduler allocates none, and says so for each pod that needs some.

Mirrors pkg/scheduler/framework/plugins/dynamicresources (v1.36) for pods without spec.resourceClaims. Left out on
purpose: allocation of devices; a pod with a claim is answered with a reason instead of being bound without it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import (
    CycleState,
    NodeStatuses,
    Plugin,
    Reads,
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
    itself,
)
from schedviz.scheduler.framework.filtering import FilterVerdict

STATE_KEY = "DynamicResources"
ERR_REASON_UNSUPPORTED = "pod has resource claims, and this scheduler does not support them"
ERR_REASON_NO_NEW_CLAIMS = "no new claims to deallocate"


class DynamicResources(Plugin):
    """Refuse pods that need resource claims; let all others pass."""

    filter_reads = Reads.NODE

    def pre_enqueue(self, pod: Pod) -> Status | None:
        if any(one.claim_name is None for one in pod.resource_claims):
            return UnschedulableAndUnresolvable(f'pod "{pod.key}": ResourceClaim not created yet')
        return None

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Snapshot) -> Status | None:
        state.write(STATE_KEY, True)
        if pod.resource_claims:
            return UnschedulableAndUnresolvable(ERR_REASON_UNSUPPORTED)
        return Skip()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        state.read(STATE_KEY)
        return NodeStatuses(len(nodes))

    def post_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> Status:
        state.read(STATE_KEY)
        return Unschedulable(ERR_REASON_NO_NEW_CLAIMS)

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        return np.zeros(len(rows), dtype=np.int64)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        state.read(STATE_KEY)
        return None

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return Skip()

    def events_to_register(self) -> tuple[Registration, ...]:
        return (Hinted(ClusterEvent("UnscheduledPod", ActionType.UPDATE), itself),)
