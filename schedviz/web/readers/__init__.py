"""Every question the pages, the commands and the live board ask of the database. Nothing here writes.

List questions page by keyset (the last row's key), never by offset, and leave the heavy columns out. One file for each
thing that is asked about; callers use `readers.<question>`.
"""

from schedviz.web.readers.audits import audit_page, command_result, moves_to_undo
from schedviz.web.readers.cycles import CycleDetail, attempts_beside, cycle_detail, cycles_page
from schedviz.web.readers.paging import Page
from schedviz.web.readers.pods import (
    PodDetail,
    active_band,
    active_pods_before,
    nodes_page,
    pod_by_name,
    pod_by_uid,
    pod_detail,
    pods_page,
    pods_per_lane,
    waiting_counts,
    waiting_pods,
)
from schedviz.web.readers.sessions import (
    BOUND_LATELY,
    NODE_FIELDS,
    POD_FIELDS,
    STALE_SECONDS,
    RingState,
    board_snapshot,
    extender_rules,
    extenders_list,
    ring_state,
    session_by_name,
    session_status,
    sessions_list,
)

__all__ = [
    "BOUND_LATELY",
    "NODE_FIELDS",
    "POD_FIELDS",
    "STALE_SECONDS",
    "CycleDetail",
    "Page",
    "PodDetail",
    "RingState",
    "active_band",
    "active_pods_before",
    "attempts_beside",
    "audit_page",
    "board_snapshot",
    "command_result",
    "cycle_detail",
    "cycles_page",
    "extender_rules",
    "extenders_list",
    "moves_to_undo",
    "nodes_page",
    "pod_by_name",
    "pod_by_uid",
    "pod_detail",
    "pods_page",
    "pods_per_lane",
    "ring_state",
    "session_by_name",
    "session_status",
    "sessions_list",
    "waiting_counts",
    "waiting_pods",
]
