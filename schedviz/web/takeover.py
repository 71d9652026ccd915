"""What a session's last holder left open, settled once the new one knows the cluster.

Called by `recording` inside its transactions: it watches the first batches go by and, when the cluster has been read,
forgets nodes that are gone and closes cycles whose binding nobody heard the end of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedviz.scheduler.framework.steps import Lane, Outcome
from schedviz.web.models import Cycle, NodeState, PodState, Session

if TYPE_CHECKING:
    from schedviz.session import Batch

LOOK_BACK = 2000  # cycles: far more than may be open at a time
UNKNOWN = "The worker ended before the API server answered; the pod is tried again."


class Takeover:
    """`session`: as it was when the lease was taken."""

    def __init__(self, session: Session) -> None:
        self.is_due = False
        self._was_connected = False
        self._id = session.pk
        self._last_cycle = session.last_cycle
        self._nodes: set[str] = set()

    def observe(self, batch: Batch) -> None:
        """Due with the second batch of a connected session: counters may be newer than their batch's rows."""
        self._nodes.update(name for name, node in batch.nodes.items() if node is not None)
        is_connected = bool(batch.counters.get("cluster", {}).get("connected"))
        self.is_due = is_connected and self._was_connected
        self._was_connected = is_connected

    def settle(self) -> None:
        known = NodeState.objects.filter(session_id=self._id).values_list("name", flat=True)
        gone = [name for name in known if name not in self._nodes]
        NodeState.objects.filter(session_id=self._id, name__in=gone).delete()
        left_open = Cycle.objects.filter(
            session_id=self._id,
            outcome=Outcome.SCHEDULED,
            number__gt=self._last_cycle - LOOK_BACK,
            number__lte=self._last_cycle,
        )
        for cycle in left_open.defer("blob"):
            self._close(cycle)

    def _close(self, cycle: Cycle) -> None:
        pods = PodState.objects.filter(session_id=self._id, uid=cycle.pod_uid)
        is_bound = pods.filter(lane=Lane.BOUND, node_name=cycle.node_name, cycle__lte=cycle.number)
        if is_bound.update(cycle=cycle.number, attempts=cycle.attempt):
            cycle.outcome = Outcome.BOUND.value
        else:
            cycle.outcome, cycle.message = Outcome.BIND_FAILED.value, UNKNOWN
        cycle.summary |= {"outcome": cycle.outcome, "message": cycle.message}
        cycle.save(update_fields=["outcome", "message", "summary"])
