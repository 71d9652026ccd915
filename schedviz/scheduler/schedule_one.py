"""One attempt for one pod: from PreFilter to the chosen node, and the words when there is none.

`scheduler` drives it; every Step of every plugin and extender is yielded and kept in the record. Mirrors
pkg/scheduler/schedule_one.go (v1.36). Nodes are sampled only where that is asked for (`framework.sampling`): else all
are looked at, so that the record is whole. Left out on purpose: upstream's goroutines (the binding cycle waits in
`scheduler` for its Reply).
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler import extender
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.filtering import FilterVerdict, first_error
from schedviz.scheduler.framework.interface import PostFilterResult, Rows
from schedviz.scheduler.framework.rng import Rng
from schedviz.scheduler.framework.runtime import Framework, PreFilterVerdict
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import Status, fit_error
from schedviz.scheduler.framework.steps import Cycle, CycleRecord, Outcome, Step

T = TypeVar("T")
NO_NODES = "no nodes available to schedule pods"
ERROR_WORDS = {
    "Filter": 'running "{plugin}" filter plugin: {message}',
    "Score": 'running Score plugins: plugin "{plugin}" failed with: {message}',
}


@dataclass(slots=True)
class Attempt:
    """What a scheduling cycle has to say when it closes. chosen "": none; then `unschedulable_plugins` says who
    refused (empty: an error) and `record.message` why. before, verdict, after: what PreFilter, Filter and PostFilter
    came to, as far as they ran."""

    record: CycleRecord
    state: CycleState = field(default_factory=CycleState)
    before: PreFilterVerdict | None = None
    verdict: FilterVerdict | None = None
    after: PostFilterResult | None = None
    chosen: str = ""
    unschedulable_plugins: set[str] = field(default_factory=set)

    @property
    def is_error(self) -> bool:
        return self.record.outcome is Outcome.ERROR


def placed(pod: Pod, node_name: str) -> Pod:
    """The pod as it will be once it is bound."""
    other = copy.copy(pod)
    other.node_name = node_name
    return other


def scheduling_cycle(
    framework: Framework,
    pod: Pod,
    nodes: Snapshot,
    *,
    record: CycleRecord,
    rng: Rng,
) -> Cycle[Attempt]:
    """Find a node. Every yielded Step is also in `record.steps`; an extender is asked by what else is yielded."""
    attempt = Attempt(record)
    if not len(nodes):
        record.outcome, record.message = Outcome.UNSCHEDULABLE, NO_NODES
        return attempt
    before = yield from kept(framework.run_pre_filter(attempt.state, pod, nodes), record.steps)
    attempt.before = before
    if not before.status.is_success:
        return (yield from _refused(framework, attempt, pod, nodes, before=before))
    verdict = yield from kept(
        framework.run_filter(attempt.state, pod, nodes, only=before.node_names), record.steps
    )
    attempt.verdict = verdict
    if framework.extenders or not len(verdict.feasible):
        attempt.unschedulable_plugins = _rejectors(verdict, before)
    if framework.extenders and verdict.error is None:
        asking = _ask_extenders(framework, attempt, pod, nodes, before)
        yield from kept(asking, record.steps)
    record.first_failure, record.feasible = verdict.first_failure, verdict.feasible
    record.nominated_there = {
        nodes.names[row]: tuple(other.key for other in beside)
        for row, beside in verdict.beside.items()
    }
    if verdict.error is not None:
        return _failed(attempt, "Filter", verdict.error)
    if not len(verdict.feasible):
        return (yield from _refused(framework, attempt, pod, nodes, before=before, verdict=verdict))
    if len(verdict.feasible) == 1:
        attempt.chosen = record.chosen = nodes.names[int(verdict.feasible[0])]
        return attempt
    scored = yield from _scored(framework, attempt, pod, nodes)
    return _chosen(attempt, nodes, rng) if scored else attempt


def kept(steps: Generator[Any, Any, T], into: list[Step]) -> Generator[Any, Any, T]:
    """Pass the steps on and keep them in `into`; what is no Step is answered, and the answer handed in."""
    sent = None
    while True:
        try:
            step = steps.send(sent)
        except StopIteration as end:
            value: T = end.value
            return value
        if isinstance(step, Step):
            into.append(step)
        sent = yield step


def _ask_extenders(
    framework: Framework,
    attempt: Attempt,
    pod: Pod,
    nodes: Snapshot,
    before: PreFilterVerdict,
) -> Cycle[None]:
    """They may refuse feasible nodes. About the node to which the pod is nominated they are asked first, and alone:
    what goes wrong then does not matter."""
    verdict, extenders = attempt.verdict, framework.extenders
    if verdict is None:
        raise ValueError("extenders come after filtering")
    if len(verdict.feasible) == 1 and nodes.names[verdict.feasible[0]] == pod.nominated_node_name:
        rows = yield from extender.passing(extenders, pod, nodes, verdict, verdict.feasible)
        if not isinstance(rows, Status) and len(rows):
            return
        others = nodes.rows if before.node_names is None else before.node_names
        among = np.array(sorted(nodes.rows[name] for name in others if name in nodes.rows))
        failed = verdict.first_failure
        failed[failed >= len(verdict.steps)] = -1
        failed[np.setdiff1d(verdict.feasible, among)] = -2
        if framework.sampling is not None:
            framework.sampling.cut(framework.percentage_of_nodes_to_score, nodes, failed)
        verdict.feasible = among[failed[among] == -1].astype(np.intp)
        verdict.error = first_error(verdict)
        if verdict.error is not None:
            return
    rows = yield from extender.passing(extenders, pod, nodes, verdict, verdict.feasible)
    if isinstance(rows, Status):
        verdict.error = rows.by("")
        return
    if len(rows) != len(verdict.feasible):
        attempt.unschedulable_plugins.add(extender.EXTENDER_NAME)
    verdict.feasible = rows


def _scored(framework: Framework, attempt: Attempt, pod: Pod, nodes: Snapshot) -> Cycle[bool]:
    """Every feasible node's total; False when scoring failed."""
    record = attempt.record
    rows = _feasible(record)
    status = yield from kept(framework.run_pre_score(attempt.state, pod, nodes, rows), record.steps)
    if not status.is_success:
        _failed(attempt, "PreScore", status)
        return False
    status, totals = yield from kept(
        framework.run_score(attempt.state, pod, nodes, rows), record.steps
    )
    if not status.is_success:
        _failed(attempt, "Score", status)
        return False
    if framework.extenders:
        asking = extender.scored(framework.extenders, pod, nodes, rows)
        totals = totals + (yield from kept(asking, record.steps))
    elif not framework.points["Score"]:
        totals = np.ones(len(rows), dtype=np.int64)
    record.totals = totals
    return True


def _chosen(attempt: Attempt, nodes: Snapshot, rng: Rng) -> Attempt:
    """The node with the best total; ties are broken at random."""
    record, rows = attempt.record, _feasible(attempt.record)
    if record.totals is None:
        raise ValueError("choosing comes after scoring")
    best = rows[record.totals == record.totals.max()]
    attempt.chosen = record.chosen = nodes.names[int(best[rng.below(len(best))])]
    record.n_ties = len(best) if len(best) > 1 else 0
    return attempt


def _feasible(record: CycleRecord) -> Rows:
    if record.feasible is None:
        raise ValueError("scoring comes after filtering")
    return record.feasible


def _refused(
    framework: Framework,
    attempt: Attempt,
    pod: Pod,
    nodes: Snapshot,
    *,
    before: PreFilterVerdict,
    verdict: FilterVerdict | None = None,
) -> Cycle[Attempt]:
    """No node: PostFilter may make room; the message says why there was none."""
    record = attempt.record
    if verdict is None and not before.status.is_rejected:
        return _failed(attempt, "PreFilter", before.status)
    if verdict is None:
        verdict = FilterVerdict(
            np.full(len(nodes), -2, dtype=np.int16),
            np.zeros(0, dtype=np.intp),
            [],
            unfiltered=before.status.code,
        )
        record.feasible = verdict.feasible
        attempt.unschedulable_plugins = {*before.by, before.status.plugin} - {""}
        said = before.status.message
        record.message = f"0/{len(nodes)} nodes are available:{' ' + said if said else ''}."
    else:
        record.message = fit_error(len(nodes), _histogram(verdict, before))
    record.outcome = Outcome.UNSCHEDULABLE
    after = yield from kept(
        framework.run_post_filter(attempt.state, pod, nodes, verdict), record.steps
    )
    attempt.after = after
    if after is not None:
        record.nominated_node_name = after.nominated_node_name or ""
        if after.status.message:
            record.message += f" {after.status.message}"
    return attempt


def _failed(attempt: Attempt, point: str, status: Status) -> Attempt:
    """An error ends the attempt; the words around the plugin's own are upstream's."""
    around = ERROR_WORDS.get(point, "running " + point + ' plugin "{plugin}": {message}')
    record = attempt.record
    record.outcome = Outcome.ERROR
    record.message = (
        around.format(plugin=status.plugin, message=status.message)
        if status.plugin
        else status.message
    )
    return attempt


def _rejectors(verdict: FilterVerdict, before: PreFilterVerdict) -> set[str]:
    """The filters that rejected a node first, and the plugins that narrowed the nodes down before."""
    seen = np.unique(verdict.first_failure)
    return {verdict.steps[n].plugin for n in seen if n >= 0} | set(before.by)


def _histogram(verdict: FilterVerdict, before: PreFilterVerdict) -> dict[str, int]:
    """How many nodes gave each reason; a node with two counts in both."""
    counts: dict[str, int] = {}
    outside = int((verdict.first_failure == -2).sum())
    if outside:
        counts[f"node(s) didn't satisfy plugin(s) [{' '.join(before.by)}]"] = outside
    for number, step in enumerate(verdict.all_steps):
        if step.nodes is None:
            continue
        ids: NDArray[np.uint16] = step.nodes.reason_ids[verdict.first_failure == number]
        for reason_id, n in zip(*np.unique(ids, return_counts=True), strict=True):
            for reason in step.nodes.table[int(reason_id)]:
                counts[reason] = counts.get(reason, 0) + int(n)
    for reason in verdict.strangers.values():
        counts[reason] = counts.get(reason, 0) + 1
    return counts
