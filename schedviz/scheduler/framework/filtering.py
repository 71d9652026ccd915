"""The filters of one profile: on every node as it is, with pods that are nominated to it, and without some of its pods.

The part of `runtime.Framework` that looks for feasible nodes; gives plugins their Handle. Mirrors RunFilterPlugins and
RunFilterPluginsWithNominatedPods of pkg/scheduler/framework/runtime/framework.go (v1.36). What differs on purpose:
every filter is evaluated on every node, and the first failure of each node is kept beside.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.extending import Extender
from schedviz.scheduler.framework.interface import Plugin, Reads, Rows, answer, spoken
from schedviz.scheduler.framework.rng import Rng
from schedviz.scheduler.framework.sampling import Sampling
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import SUCCESS, Code, Error, NodeStatuses, Status
from schedviz.scheduler.framework.steps import Step
from schedviz.scheduler.framework.trials import (
    Crew,
    NodeTrial,
    Nominated,
    RoomTrial,
    counted_before,
)


@dataclass(slots=True)
class FilterVerdict:
    """first_failure int16 [node]: number of the Filter step that rejected the node first, -1 none, -2 not filtered.
    feasible: rows. alone: number of a step -> what it says without nominated pods; beside: row -> the nominated pods
    that made it say something else. unfiltered: the code of nodes that were not filtered. error: a filter that went
    wrong. extended: what extenders said afterwards, their steps numbered on; strangers: reasons that they gave for
    names that no node has."""

    first_failure: NDArray[np.int16]
    feasible: Rows
    steps: list[Step]
    alone: dict[int, NodeStatuses] = field(default_factory=dict)
    beside: dict[int, list[Pod]] = field(default_factory=dict)
    unfiltered: Code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    error: Status | None = None
    extended: list[Step] = field(default_factory=list)
    strangers: dict[str, str] = field(default_factory=dict)

    @property
    def all_steps(self) -> list[Step]:
        return [*self.steps, *self.extended] if self.extended else self.steps

    def codes(self) -> NDArray[np.uint8]:
        """[node]: the code of the first failure; of nodes that were not filtered, `unfiltered`."""
        codes = np.zeros(len(self.first_failure), dtype=np.uint8)
        codes[self.first_failure == -2] = int(self.unfiltered)
        for number, step in enumerate(self.all_steps):
            rows = self.first_failure == number
            if step.nodes is not None and rows.any():
                codes[rows] = step.nodes.codes[rows]
        return codes

    def refuse(
        self, number: int, rows: Rows, said: NodeStatuses, beside: Mapping[int, list[Pod]]
    ) -> None:
        """With the pods nominated to them these nodes fail at this filter first. What is no news is left out."""
        step = self.steps[number]
        if step.nodes is None:
            raise ValueError(f"{step.plugin} said nothing of nodes")
        is_old = (self.first_failure[rows] == number) & step.nodes.at(rows).same(said)
        fresh = np.flatnonzero(~is_old)
        if not len(fresh):
            return
        if number not in self.alone:
            self.alone[number] = step.nodes
            step.nodes = step.nodes.at(np.arange(len(step.nodes), dtype=np.intp))
        step.nodes.take(rows[fresh], said.at(fresh))
        self.first_failure[rows[fresh]] = number
        self.beside.update({row: beside[row] for row in rows[fresh].tolist()})


class Filters:
    """nominated, preempting, leaving, extenders, rng: what plugins see through their handle; set by the scheduler that
    owns it."""

    def __init__(
        self, plugins: Mapping[str, Plugin], points: Mapping[str, tuple[Plugin, ...]]
    ) -> None:
        self.plugins, self.points = plugins, points
        self.nominated: Nominated = {}
        self.preempting: Container[str] = ()
        self.leaving: Container[str] = ()
        self.extenders: Sequence[Extender] = ()
        self.rng = Rng(0)
        self.sampling: Sampling | None = None
        self.percentage_of_nodes_to_score = 0
        for plugin in plugins.values():
            plugin.handle = self

    def run_filter(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Snapshot,
        *,
        only: frozenset[str] | None = None,
    ) -> Generator[Step, None, FilterVerdict]:
        """Every filter that PreFilter did not skip, on every node; nodes outside `only` are not counted. The node to
        which the pod is nominated, if it passes, is the only feasible one."""
        first = np.full(len(nodes), -1, dtype=np.int16)
        steps: list[Step] = []
        for plugin in self._filters(state):
            said = answer(plugin, plugin.filter_nodes, state, pod, nodes)  # type: ignore[attr-defined]
            if not isinstance(said, NodeStatuses):
                status = spoken(
                    plugin, said if isinstance(said, Status) else Error("gave no NodeStatuses")
                )
                yield Step("Filter", plugin.name, status)
                return FilterVerdict(first, np.zeros(0, dtype=np.intp), steps, error=status)
            status = SUCCESS.by(plugin.name)
            if said.codes.any():
                first[(said.codes != 0) & (first == -1)] = len(steps)
                status = _of_nodes(plugin, said)
            step = Step("Filter", plugin.name, status, nodes=said)
            steps.append(step)
            yield step
        verdict = FilterVerdict(first, np.zeros(0, dtype=np.intp), steps)
        verdict.error = self._count_nominated(state, pod, nodes, verdict)
        promised = nodes.rows.get(pod.nominated_node_name, -1)
        if promised >= 0 and first[promised] == -1:
            verdict.feasible = np.array([promised], dtype=np.intp)
            verdict.error = None
        if only is not None:
            outside = np.ones(len(nodes), dtype=np.bool_)
            outside[[nodes.rows[name] for name in only if name in nodes.rows]] = False
            outside[verdict.feasible] = False
            first[outside] = -2
        if not len(verdict.feasible):
            if self.sampling is not None:
                self.sampling.cut(self.percentage_of_nodes_to_score, nodes, first)
            verdict.feasible = np.flatnonzero(first == -1)
            if len(verdict.feasible) < len(first):
                verdict.error = verdict.error or first_error(verdict)
        return verdict

    # ---- what is not so --------------------------------------------------------------------------------------------

    def node_trial(
        self, state: CycleState, pod: Pod, nodes: Snapshot, row: int, verdict: FilterVerdict
    ) -> NodeTrial:
        """A node whose pods can be taken away and put back."""
        listeners = [
            plugin
            for plugin in self.points["PreFilter"]
            if plugin.name not in state.skip_filter and hasattr(plugin, "add_pod")
        ]
        fixed = {
            step.plugin: step.nodes.status(row).by(step.plugin)
            for step in verdict.steps
            if step.nodes is not None and self.plugins[step.plugin].filter_reads is Reads.NODE
        }
        crew = Crew(self._filters(state), listeners, fixed)
        return NodeTrial(crew, state.at(row), pod, nodes.trial(row))

    def room_trial(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> RoomTrial | None:
        """Many nodes at once; None when some filter of this cycle looks at single pods, or has not been asked."""
        filters = self._filters(state)
        known = [step.nodes for step in verdict.steps if step.nodes is not None]
        if len(known) < len(filters) or any(one.reads_now(state) is Reads.PODS for one in filters):
            return None
        return RoomTrial(filters, known, state, pod, nodes)

    def _filters(self, state: CycleState) -> list[Plugin]:
        return [one for one in self.points["Filter"] if one.name not in state.skip_filter]

    def _count_nominated(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> Status | None:
        """Nodes must also have room for the pods that are nominated to them and no less important."""
        beside = {
            nodes.rows[name]: counted
            for name, there in self.nominated.items()
            if name in nodes.rows and (counted := counted_before(pod, there))
        }
        if not beside:
            return None
        trial = self.room_trial(state, pod, nodes, verdict)
        if trial is None:
            return self._try_each(state, pod, nodes, verdict, beside)
        rows = np.fromiter(beside, np.intp, len(beside))
        said = trial.verdict(trial.room(rows, self.nominated))
        for number, statuses in enumerate(said.statuses):
            here = np.flatnonzero(said.first == number)
            verdict.refuse(number, rows[here], statuses.at(here), beside)
        return said.error

    def _try_each(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Snapshot,
        verdict: FilterVerdict,
        beside: dict[int, list[Pod]],
    ) -> Status | None:
        numbers = {step.plugin: number for number, step in enumerate(verdict.steps)}
        for row, counted in beside.items():
            trial = self.node_trial(state, pod, nodes, row, verdict)
            status = trial.verdict_with(counted)
            if status.plugin in numbers and not status.is_success:
                said = NodeStatuses(1)
                said.reject(0, status)
                rows = np.array([row], dtype=np.intp)
                verdict.refuse(numbers[status.plugin], rows, said, beside)
            elif not status.is_success:
                return status
        return None


def _of_nodes(plugin: Plugin, nodes: NodeStatuses) -> Status:
    """SUCCESS if any node passed."""
    if nodes.passed.any():
        return SUCCESS.by(plugin.name)
    worst = (
        Code.UNSCHEDULABLE
        if (nodes.codes == int(Code.UNSCHEDULABLE)).any()
        else Code(int(nodes.codes[0]))
    )
    return Status(worst, (), plugin.name)


def first_error(verdict: FilterVerdict) -> Status | None:
    """A node whose first failure is an error fails the whole cycle."""
    for number, step in enumerate(verdict.steps):
        if step.nodes is None or not (step.nodes.codes == int(Code.ERROR)).any():
            continue
        rows = np.flatnonzero(
            (verdict.first_failure == number) & (step.nodes.codes == int(Code.ERROR))
        )
        if len(rows):
            return step.nodes.status(int(rows[0])).by(step.plugin)
    return None
