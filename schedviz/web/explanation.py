"""Why a pod is pending, or where it went and why, in words: from the record alone, nothing is guessed.

Used by the pod's page, by `manage.py explain` and by the API.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from schedviz.scheduler import plugins
from schedviz.scheduler.explain import Clause, NodeGroup, clauses, groups
from schedviz.scheduler.framework.cluster_event import event_of
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.framework.steps import Lane, Outcome
from schedviz.web import readers
from schedviz.web.words import wakes

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord
    from schedviz.web.models import PodState, Session

VERSION = 1
WAITING = (Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.GATED)
OBSERVED = "observed"
"""What a plugin answered in a recorded cycle; `recomputed` is what it answers now, to a question of ours."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A plugin's reason and on how many nodes it was the first one. `resolvable`: removing pods could help."""

    plugin: str
    reason: str
    n_nodes: int
    resolvable: bool


@dataclass(frozen=True, slots=True)
class Waker:
    """A plugin that refused the pod, and the events that may change its mind; none named: any change."""

    plugin: str
    events: list[str]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`sentence` says it all; `more` are further sentences; `cycle` is the attempt that they speak of, 0 when none.
    `clauses` and `groups`: how its nodes became fewer; read from the record, hence `certainty`."""

    pod: str
    lane: str
    sentence: str
    more: list[str] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    cycle: int = 0
    clauses: list[Clause] = field(default_factory=list)
    groups: list[NodeGroup] = field(default_factory=list)
    n_nodes: int = 0
    certainty: str = OBSERVED
    wakers: list[Waker] = field(default_factory=list)
    retry_at: float | None = None

    def as_json(self, changes: dict[str, Any] | None = None) -> dict[str, Any]:
        """`changes`: as `findings.said`."""
        return {"version": VERSION, **asdict(self), "changes": changes}


def explain(session: Session, pod: PodState, now: float | None = None) -> Explanation:
    now = time.time() if now is None else now
    detail = readers.cycle_detail(session, pod.cycle) if pod.cycle else None
    record = detail.record if detail else None
    return Explanation(
        pod=f"{pod.namespace}/{pod.name}",
        lane=pod.lane,
        sentence=SENTENCES[Lane(pod.lane)](session, pod, now),
        more=_more(pod, record, now),
        rejections=rejections(record) if record else [],
        cycle=pod.cycle,
        clauses=clauses(record) if record else [],
        groups=groups(record) if record else [],
        n_nodes=len(record.node_names) if record else 0,
        wakers=wakers(pod),
        retry_at=pod.retry_at if pod.lane == Lane.BACKOFF else None,
    )


def wakers(pod: PodState) -> list[Waker]:
    if pod.lane not in WAITING:
        return []
    found = []
    for name in pod.plugins:
        kind = plugins.IN_TREE.get(name)
        registered = kind().events_to_register() if kind is not None else ()
        said = [words for one in registered for words in wakes(event_of(one))]
        found.append(Waker(name, said))
    return found


def _gated(session: Session, pod: PodState, now: float) -> str:
    if pod.hold:
        why = f": {pod.hold['reason'].rstrip('.')}." if pod.hold["reason"] else "."
        since = _ago(now - pod.hold["since"])
        return (
            f"{pod.hold['by']} holds it since {since}{why} It is tried when somebody releases it."
        )
    by = ", ".join(pod.plugins) or "a PreEnqueue plugin"
    return f"It is held back by {by}{_because(pod)} It is tried when that changes."


def _unschedulable(session: Session, pod: PodState, now: float) -> str:
    waits = f" It waits for a change that may help {_words(pod.plugins)}." if pod.plugins else ""
    return f"No node can take it{_because(pod)}{waits}"


def _backoff(session: Session, pod: PodState, now: float) -> str:
    wait = max(0.0, (pod.retry_at or now) - now)
    return f"It is tried again in {wait:.0f} s, after {_times(pod.attempts)}{_because(pod)}"


def _active(session: Session, pod: PodState, now: float) -> str:
    before = readers.active_pods_before(session, pod)
    place = (
        "It is next."
        if not before
        else f"{before} {'pod is' if before == 1 else 'pods are'} before it."
    )
    return f"It waits for its turn. {place}"


def _scheduling(session: Session, pod: PodState, now: float) -> str:
    return "It is being scheduled now."


def _binding(session: Session, pod: PodState, now: float) -> str:
    return f"Node {pod.node_name} was chosen; {pod.message or 'the API server is being told'}."


def _bound(session: Session, pod: PodState, now: float) -> str:
    if not pod.attempts:
        return f"It was placed on node {pod.node_name} without the scheduler: nothing was checked."
    return f"It was bound to node {pod.node_name} after {_times(pod.attempts)}."


def _malformed(session: Session, pod: PodState, now: float) -> str:
    return f"It cannot be read{_because(pod)} It is not scheduled until it is put right."


def _gone(session: Session, pod: PodState, now: float) -> str:
    where = f" It ran on node {pod.node_name}." if pod.node_name else " It was never bound."
    return f"It was deleted.{where}"


SENTENCES = {
    Lane.GATED: _gated,
    Lane.UNSCHEDULABLE: _unschedulable,
    Lane.BACKOFF: _backoff,
    Lane.ACTIVE: _active,
    Lane.SCHEDULING: _scheduling,
    Lane.BINDING: _binding,
    Lane.BOUND: _bound,
    Lane.MALFORMED: _malformed,
    Lane.GONE: _gone,
}


def _because(pod: PodState) -> str:
    return f": {pod.message.rstrip('.')}." if pod.message else "."


def _times(attempts: int) -> str:
    return "one attempt" if attempts == 1 else f"{attempts} attempts"


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"


def _words(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _more(pod: PodState, record: CycleRecord | None, now: float) -> list[str]:
    more = []
    if pod.moved_by:
        more.append(f"It came here {_ago(now - pod.since)} by {pod.moved_by}.")
    if record is None:
        if pod.cycle:
            more.append(f"Cycle {pod.cycle} is no longer in the record.")
        return more
    more.append(_attempt(pod, record))
    if record.n_ties:
        more.append(f"{record.n_ties} nodes had the best total; one of them was drawn.")
    return more


def _attempt(pod: PodState, record: CycleRecord) -> str:
    head = f"Attempt {record.attempt} was cycle {record.number}: "
    n_nodes = len(record.node_names)
    if record.outcome == Outcome.BIND_FAILED:
        return f"{head}{record.chosen} was chosen, but it could not be bound there."
    if record.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR) or not record.chosen:
        is_said = pod.lane in (Lane.UNSCHEDULABLE, Lane.BACKOFF) and record.message == pod.message
        if record.message and is_said:
            return f"That was the answer of attempt {record.attempt}, cycle {record.number}."
        return f"{head}{record.message or record.outcome}"
    if record.feasible is None or record.totals is None or len(record.feasible) < 2:
        return f"{head}{record.chosen} was chosen out of {n_nodes}, the only one that passed."
    best = int(record.totals.max())
    return f"{head}{len(record.feasible)} of {n_nodes} nodes passed; {record.chosen} had the best total, {best}."


def rejections(record: CycleRecord) -> list[Rejection]:
    """The first failure of each node, counted, the most frequent first. Empty when the detail was dropped."""
    if record.first_failure is None:
        return []
    filters = [step for step in record.steps if step.point == "Filter"]
    counts: Counter[tuple[str, str, bool]] = Counter()
    for row, index in enumerate(record.first_failure):
        if index < 0 or filters[index].nodes is None:
            continue
        status = filters[index].nodes.status(row)
        resolvable = status.code is not Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        counts[filters[index].plugin, status.message, resolvable] += 1
    return [
        Rejection(plugin, reason, n_nodes, resolvable)
        for (plugin, reason, resolvable), n_nodes in counts.most_common()
    ]
