"""What the board shows of a pod and of a node, as plain data.

Made by `scheduler` for what was touched, kept by the sinks (the fields are those of the tables PodState and NodeState).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.node_info import Hold, NodeInfo, QueuedPodInfo
from schedviz.scheduler.framework.steps import Lane, Move, PodRef


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an earlier holder of the session left about a waiting pod. retry_at: of one in backoff; plugins: who refused
    it, none: it had an error."""

    attempts: int = 0
    rank: float | None = None
    moved_by: str = ""
    hold: Hold | None = None
    retry_at: float | None = None
    plugins: tuple[str, ...] = ()
    message: str = ""
    cycle: int = 0

    @classmethod
    def of(cls, queued: QueuedPodInfo) -> Remembered:
        """What is to be remembered of a pod that leaves the queue for a while."""
        where = queued.rank, queued.moved_by, queued.hold
        return cls(queued.attempts, *where, cycle=queued.cycle)

    def as_view(self) -> dict[str, Any]:
        """The fields of a PodView that keep it."""
        hold = None if self.hold is None else asdict(self.hold)
        where = {"rank": self.rank or 0.0, "moved_by": self.moved_by, "hold": hold}
        return {"attempts": self.attempts, "cycle": self.cycle, **where}

    def queued(self, pod: Pod) -> QueuedPodInfo:
        """The pod as it was, but for what may have happened meanwhile: who waited for an event is tried again."""
        rank = self.rank if self.rank is not None else pod.creation_timestamp
        queued = QueuedPodInfo(pod, pod.creation_timestamp, rank, attempts=self.attempts)
        queued.unschedulable_count, queued.moved_by = self.attempts, self.moved_by
        queued.hold, queued.retry_at, queued.cycle = self.hold, self.retry_at, self.cycle
        queued.unschedulable_plugins = set(self.plugins)
        queued.message = "" if self.hold else self.message
        if self.retry_at is not None and not self.plugins:
            queued.consecutive_errors_count = self.attempts
        return queued


@dataclass(slots=True)
class PodView:
    """Moments are seconds since the epoch; `plugins`: who refused the pod last, or whom it waits for at Permit; `hold`:
    Hold's fields when an operator holds it."""

    uid: str
    namespace: str
    name: str
    lane: Lane
    priority: int = 0
    attempts: int = 0
    rank: float = 0.0
    since: float = 0.0
    created_at: float = 0.0
    retry_at: float | None = None
    plugins: list[str] = field(default_factory=list)
    message: str = ""
    moved_by: str = ""
    node_name: str = ""
    cycle: int = 0
    hold: dict[str, Any] | None = None


@dataclass(slots=True)
class NodeView:
    """Quantities: cpu in milli-CPU, everything else in whole units. nominated: the pods that room is kept for, the most
    important first, each with `pod`, `priority` and `requests`."""

    name: str
    allocatable: dict[str, int]
    requested: dict[str, int]
    n_pods: int
    unschedulable: bool
    ready: bool
    zone: str
    taints: list[str]
    nominated: list[dict[str, Any]] = field(default_factory=list)


class Settled:
    """Views of pods that are out of the queue (binding, bound, gone, malformed), until they have been drained."""

    def __init__(self) -> None:
        self._views: dict[str, PodView] = {}
        self.touched: set[str] = set()

    def put(
        self, lane: Lane, ref: PodRef, now: float, *, pod: Pod | None = None, **fields: Any
    ) -> None:
        """`pod`: what more there is to say of it."""
        view = PodView(ref.uid, ref.namespace, ref.name, lane, since=now, **fields)
        if pod is not None:
            view.priority, view.created_at = pod.priority, pod.creation_timestamp
            view.node_name = pod.node_name
        self._views[ref.uid] = view
        self.touched.add(ref.uid)

    def get(self, uid: str) -> PodView | None:
        return self._views.get(uid)

    def note(self, moves: Iterable[object]) -> None:
        """Remember which pods have to be shown anew."""
        for move in moves:
            if isinstance(move, Move):
                self.touched.add(move.pod.uid)
                if move.target is Lane.GONE:
                    self.put(Lane.GONE, move.pod, move.at)

    def drain(self) -> set[str]:
        """Uids touched since the last call; older views end."""
        touched, self.touched = self.touched, set()
        for uid in [uid for uid in self._views if uid not in touched]:
            del self._views[uid]
        return touched


def of_queued(queued: QueuedPodInfo, lane: Lane) -> PodView:
    pod = queued.pod
    hold = queued.hold
    plugins = queued.unschedulable_plugins or ({queued.gating_plugin} - {""})
    if hold is not None:
        plugins = set()
    return PodView(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        lane=lane,
        priority=pod.priority,
        attempts=queued.attempts,
        rank=queued.rank,
        since=queued.timestamp,
        created_at=pod.creation_timestamp,
        retry_at=queued.retry_at if lane is Lane.BACKOFF else None,
        plugins=sorted(plugins),
        message=queued.message if hold is None else hold.said,
        moved_by=queued.moved_by,
        cycle=queued.cycle,
        hold=None if hold is None else asdict(hold),
    )


def of_node(info: NodeInfo, nominated: Iterable[Pod] = ()) -> NodeView | None:
    """None while the node itself is unknown."""
    node = info.node
    if node is None:
        return None
    return NodeView(
        name=info.name,
        allocatable=dict(node.allocatable),
        requested={name: n for name, n in info.requested.items() if n},
        n_pods=len(info.pods),
        unschedulable=node.unschedulable,
        ready=node.is_ready,
        zone=node.zone,
        taints=[f"{taint.key}={taint.value}:{taint.effect}" for taint in node.taints],
        nominated=[
            {"pod": pod.key, "priority": pod.priority, "requests": dict(pod.requests)}
            for pod in sorted(nominated, key=lambda pod: (-pod.priority, pod.key))
        ],
    )
