"""What a live frame says: the last state of each pod and node that changed, the counters, the last cycle in short.

Built by `publishing` from one or more committed batches, read by `live`. A frame is JSON:
session, prev (the seq of the frame before it), seq (the last committed batch in it), at, state, state_message,
counters, pods, nodes, gone_nodes, cycle (or null), results. Rows of pods have PodState's fields, of nodes NodeState's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from schedviz.scheduler.framework.status import Code
from schedviz.web.readers import NODE_FIELDS, POD_FIELDS

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CommandResult, CycleRecord, Step
    from schedviz.scheduler.views import NodeView, PodView
    from schedviz.session import Batch

MAX_TOTALS = 200
MAX_REJECTED = 500
MAX_RESULTS = 200

_pod_values = attrgetter(*POD_FIELDS)
_node_values = attrgetter(*NODE_FIELDS)


def pod_row(pod: PodView) -> dict[str, Any]:
    return dict(zip(POD_FIELDS, _pod_values(pod), strict=True))


def node_row(node: NodeView) -> dict[str, Any]:
    return dict(zip(NODE_FIELDS, _node_values(node), strict=True))


@dataclass(slots=True)
class Pending:
    """What the next frame of one session will say: batches folded together, the newest state of each row."""

    seq: int = 0
    at: float = 0.0
    counters: dict[str, Any] = field(default_factory=dict)
    pods: dict[str, PodView] = field(default_factory=dict)
    nodes: dict[str, NodeView | None] = field(default_factory=dict)
    cycle: CycleRecord | None = None
    results: list[CommandResult] = field(default_factory=list)
    state: str = ""
    state_message: str = ""

    def add(self, seq: int, batch: Batch) -> None:
        self.seq, self.at = seq, batch.at
        self.counters = batch.counters or self.counters
        self.pods.update(batch.pods)
        self.nodes.update(batch.nodes)
        closed = batch.cycles or batch.updates
        if closed:
            self.cycle = closed[-1]
        self.results = [*self.results, *batch.results][-MAX_RESULTS:]

    def under(self, newer: Pending) -> Pending:
        """Both folded together, where `newer` has the last word: for a frame that could not be sent."""
        return Pending(
            seq=max(self.seq, newer.seq),
            at=max(self.at, newer.at),
            counters=newer.counters or self.counters,
            pods=self.pods | newer.pods,
            nodes=self.nodes | newer.nodes,
            cycle=newer.cycle or self.cycle,
            results=[*self.results, *newer.results][-MAX_RESULTS:],
            state=newer.state or self.state,
            state_message=newer.state_message if newer.state else self.state_message,
        )

    def frame(self, session_id: int, prev: int) -> dict[str, Any]:
        frame: dict[str, Any] = {
            "session": session_id,
            "prev": prev,
            "seq": self.seq,
            "at": self.at,
            "counters": self.counters,
            "pods": [pod_row(pod) for pod in self.pods.values()],
            "nodes": [node_row(node) for node in self.nodes.values() if node is not None],
            "gone_nodes": [name for name, node in self.nodes.items() if node is None],
            "cycle": None if self.cycle is None else cycle_in_short(self.cycle),
            "results": [
                {"command": result.command_id, "ok": result.ok, "message": result.message}
                for result in self.results
            ],
        }
        if self.state:
            frame |= {"state": self.state, "state_message": self.state_message}
        return frame


def cycle_in_short(record: CycleRecord) -> dict[str, Any]:
    """The cycle as the strip of extension points, and the score or the first rejection of each node."""
    return {
        "number": record.number,
        "pod": record.pod.key,
        "pod_uid": record.pod.uid,
        "attempt": record.attempt,
        "priority": record.priority,
        "outcome": record.outcome,
        "chosen": record.chosen,
        "message": record.message,
        "n_nodes": len(record.node_names),
        "n_feasible": 0 if record.feasible is None else len(record.feasible),
        "ms": record.duration * 1000,
        "points": _points(record),
        "totals": _totals(record),
        "rejected": _rejected(record),
    }


def _points(record: CycleRecord) -> list[dict[str, Any]]:
    points: dict[str, dict[str, Any]] = {}
    timed = [
        *_timed(record.steps, record.step_durations),
        *_timed(record.binding_steps, record.binding_durations),
    ]
    for step, seconds in timed:
        point = points.setdefault(
            step.point, {"point": step.point, "ran": 0, "skipped": 0, "ms": 0.0, "text": ""}
        )
        point["skipped" if step.status.code is Code.SKIP else "ran"] += 1
        point["ms"] += seconds * 1000
        if not step.status.is_success and step.status.code is not Code.SKIP:
            point["text"] = point["text"] or f"{step.plugin}: {step.status.message}"
    if "Filter" in points and record.feasible is not None:
        points["Filter"]["text"] = f"{len(record.feasible)}/{len(record.node_names)}"
    if "Score" in points and record.chosen:
        points["Score"]["text"] = record.chosen
    return list(points.values())


def _timed(steps: list[Step], durations: list[float]) -> list[tuple[Step, float]]:
    return list(zip(steps, [*durations, *[0.0] * (len(steps) - len(durations))], strict=True))


def _totals(record: CycleRecord) -> dict[str, int]:
    """The best ones when there are many."""
    if record.feasible is None or record.totals is None:
        return {}
    order = np.argsort(-record.totals, kind="stable")[:MAX_TOTALS]
    return {record.node_names[record.feasible[i]]: int(record.totals[i]) for i in order}


def _rejected(record: CycleRecord) -> dict[str, list[Any]]:
    if record.first_failure is None:
        return {}
    filters = [step for step in record.steps if step.point == "Filter"]
    rejected: dict[str, list[Any]] = {}
    for row in np.flatnonzero(record.first_failure >= 0)[:MAX_REJECTED]:
        step = filters[record.first_failure[row]]
        code = 0 if step.nodes is None else int(step.nodes.codes[row])
        rejected[record.node_names[row]] = [step.plugin, code]
    return rejected
