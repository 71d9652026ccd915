"""Recorded data as a session would leave it: records built by hand, committed through the real sink.

`fill(session)` gives a session some nodes, bound and pending pods, their cycles and moves. Used by the tests of
readers, of pages and of the recording itself.
"""

from __future__ import annotations

import numpy as np

from schedviz.scheduler.framework import status as st
from schedviz.scheduler.framework.status import NodeStatuses, Status
from schedviz.scheduler.framework.steps import (
    CycleRecord,
    Lane,
    Move,
    Outcome,
    PodRef,
    Scores,
    Step,
)
from schedviz.scheduler.views import NodeView, PodView
from schedviz.session import Batch
from schedviz.web import leases
from schedviz.web.models import Session
from schedviz.web.publishing import Publisher
from schedviz.web.recording import DatabaseSink

NOW = 1_760_000_000.0
FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
)
SCORES = (
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
)
TAINT = "node(s) had untolerated taint(s)"


def node_names(n_nodes: int) -> tuple[str, ...]:
    return tuple(f"node-{i:04}" for i in range(n_nodes))


def pod_ref(number: int, namespace: str = "team-a") -> PodRef:
    return PodRef(namespace, f"pod-{number}", f"uid-{number}", str(number))


def filter_steps(n_nodes: int, n_passing: int, rng: np.random.Generator) -> list[Step]:
    """Every third failing node has a taint, the others too little memory or cpu."""
    failing = rng.permutation(n_nodes)[n_passing:]
    steps = []
    for plugin in FILTERS:
        nodes = NodeStatuses(n_nodes)
        if plugin == "TaintToleration":
            nodes.reject(failing[::3], st.UnschedulableAndUnresolvable(TAINT))
        if plugin == "NodeResourcesFit":
            nodes.reject(failing[1::3], st.Unschedulable("Insufficient memory"))
            nodes.reject(failing[2::3], st.Unschedulable("Insufficient cpu", "Insufficient memory"))
        verdict = st.SUCCESS if nodes.passed.any() else st.Unschedulable()
        steps.append(Step("Filter", plugin, verdict.by(plugin), nodes=nodes))
    return steps


def score_steps(feasible: np.ndarray, rng: np.random.Generator) -> list[Step]:
    steps = []
    for plugin, weight in SCORES:
        raw = rng.integers(0, 101, len(feasible)).astype(np.int64)
        scores = Scores(rows=feasible, raw=raw, normalized=raw.copy(), weight=weight)
        steps.append(Step("Score", plugin, st.SUCCESS.by(plugin), scores=scores))
    return steps


def plain(point: str, plugin: str, status: Status = st.SUCCESS) -> Step:
    return Step(point, plugin, status.by(plugin))


def record(
    number: int,
    pod: PodRef,
    *,
    names: tuple[str, ...] = node_names(6),
    n_passing: int = 3,
    attempt: int = 1,
    at: float = NOW,
) -> CycleRecord:
    """One attempt as the scheduling cycle closes: scheduled when a node passes, else unschedulable."""
    rng = np.random.default_rng(number)
    steps = [
        plain("PreFilter", "NodeAffinity", st.Skip()),
        plain("PreFilter", "NodeResourcesFit"),
        *filter_steps(len(names), n_passing, rng),
    ]
    filters = [step for step in steps if step.point == "Filter"]
    first_failure = np.full(len(names), -1, dtype=np.int16)
    for index in reversed(range(len(filters))):
        first_failure[~filters[index].nodes.passed] = index
    feasible = np.flatnonzero(first_failure < 0)
    made = CycleRecord(
        number=number,
        pod=pod,
        attempt=attempt,
        priority=0,
        scheduler_name="default-scheduler",
        started_at=at,
        node_names=names,
        steps=steps,
        first_failure=first_failure,
        feasible=feasible,
        duration=0.004,
    )
    if len(feasible):
        close_scheduled(made, rng)
    else:
        made.outcome = Outcome.UNSCHEDULABLE
        made.message = f"0/{len(names)} nodes are available: {len(names)} Insufficient cpu."
    made.step_durations = [0.0001 * (i + 1) for i in range(len(made.steps))]
    return made


def close_scheduled(made: CycleRecord, rng: np.random.Generator) -> None:
    feasible = made.feasible
    if len(feasible) > 1:
        scores = score_steps(feasible, rng)
        made.steps += [plain("PreScore", "TaintToleration"), *scores]
        made.totals = sum(step.scores.normalized * step.scores.weight for step in scores)
        best = np.flatnonzero(made.totals == made.totals.max())
        made.n_ties = len(best) if len(best) > 1 else 0
        made.chosen = made.node_names[feasible[best[0]]]
    else:
        made.chosen = made.node_names[feasible[0]]
    made.steps.append(plain("Reserve", "VolumeBinding"))
    made.outcome = Outcome.SCHEDULED


def bound(made: CycleRecord) -> CycleRecord:
    """The same cycle when its binding cycle closes."""
    steps = [plain("PreBind", "VolumeBinding"), plain("Bind", "DefaultBinder")]
    made.binding_steps, made.binding_durations = steps, [0.0002, 0.003]
    made.outcome = Outcome.BOUND
    return made


def pod_view(pod: PodRef, lane: Lane, **fields: object) -> PodView:
    """What the scheduler says of a pod."""
    given = {"attempts": 1, "rank": NOW, "since": NOW, "created_at": NOW - 5} | fields
    return PodView(pod.uid, pod.namespace, pod.name, lane, **given)


def node_view(name: str, **fields: object) -> NodeView:
    """What the scheduler says of a node."""
    blank = {
        "allocatable": {"cpu": 4000, "memory": 8 << 30, "pods": 110},
        "requested": {"cpu": 500, "memory": 1 << 30, "pods": 2},
        "n_pods": 2,
        "unschedulable": False,
        "ready": True,
        "zone": "zone-a",
        "taints": [],
    }
    return NodeView(name, **blank | fields)


def batch(**fields: object) -> Batch:
    """A batch with nothing in it but what is given."""
    blank = {
        "seq": 0,
        "at": NOW,
        "cycles": [],
        "updates": [],
        "moves": [],
        "results": [],
        "pods": {},
        "nodes": {},
        "counters": {"cluster": {"connected": True, "message": ""}},
    }
    return Batch(**blank | fields)


def sink(session: Session, publisher: Publisher | None = None) -> DatabaseSink:
    """A sink that holds the session's lease."""
    session.refresh_from_db()
    lease = leases.take(session.pk, "sample")
    assert lease is not None
    return DatabaseSink(lease, session=session, publisher=publisher)


def fill(session: Session, *, n_bound: int = 8, n_pending: int = 4, n_nodes: int = 6) -> None:
    """Nodes, pods that were bound at their first attempt, and pods that no node takes."""
    names = node_names(n_nodes)
    to = sink(session)
    to.commit(batch(nodes={name: node_view(name) for name in names}))
    for number in range(1, n_bound + 1):
        made = record(number, pod_ref(number), names=names, at=NOW + number)
        moves = [
            Move(made.started_at, made.pod, Lane.ACTIVE, Lane.SCHEDULING, "Popped"),
            Move(made.started_at, made.pod, Lane.SCHEDULING, Lane.BINDING, "Assumed", made.chosen),
        ]
        where = {"node_name": made.chosen, "cycle": number, "since": made.started_at}
        binding = pod_view(made.pod, Lane.BINDING, **where)
        to.commit(batch(cycles=[made], moves=moves, pods={made.pod.uid: binding}))
        moves = [
            Move(made.started_at + 1, made.pod, Lane.BINDING, Lane.BOUND, "Bound", made.chosen)
        ]
        done = pod_view(made.pod, Lane.BOUND, **where)
        to.commit(batch(updates=[bound(made)], moves=moves, pods={made.pod.uid: done}))
    for number in range(n_bound + 1, n_bound + n_pending + 1):
        made = record(number, pod_ref(number), names=names, n_passing=0, at=NOW + number)
        lane = Lane.BACKOFF if number % 2 else Lane.UNSCHEDULABLE
        moves = [Move(made.started_at, made.pod, Lane.SCHEDULING, lane, "ScheduleAttemptFailure")]
        pending = pod_view(
            made.pod,
            lane,
            cycle=number,
            since=made.started_at,
            message=made.message,
            plugins=["NodeResourcesFit"],
            retry_at=made.started_at + 2 if lane is Lane.BACKOFF else None,
        )
        to.commit(batch(cycles=[made], moves=moves, pods={made.pod.uid: pending}))
    leases.release(to._lease)
    session.refresh_from_db()
