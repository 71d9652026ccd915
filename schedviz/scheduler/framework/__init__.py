"""What a plugin author imports."""

from __future__ import annotations

from schedviz.scheduler.framework.cluster_event import (
    ActionType,
    ClusterEvent,
    Hinted,
    Registration,
)
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.interface import (
    PermitResult,
    Plugin,
    PostFilterResult,
    PreBindResult,
    PreFilterResult,
    Reads,
    default_normalize_score,
)
from schedviz.scheduler.framework.node_info import NodeInfo, QueuedPodInfo
from schedviz.scheduler.framework.row_memo import RowMemo
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import (
    SUCCESS,
    Code,
    Error,
    NodeStatuses,
    Skip,
    Status,
    Unschedulable,
    UnschedulableAndUnresolvable,
    Wait,
)

__all__ = [
    "SUCCESS",
    "ActionType",
    "ClusterEvent",
    "Code",
    "CycleState",
    "Error",
    "Hinted",
    "NodeInfo",
    "NodeStatuses",
    "PermitResult",
    "Plugin",
    "PostFilterResult",
    "PreBindResult",
    "PreFilterResult",
    "QueuedPodInfo",
    "Reads",
    "Registration",
    "RowMemo",
    "Skip",
    "Snapshot",
    "Status",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "default_normalize_score",
]
