"""When no node has room: pods of lower priority on one node make room, as few and unimportant ones as can be.

Mirrors pkg/scheduler/framework/plugins/defaultpreemption and pkg/scheduler/framework/preemption (v1.36). What is chosen
here is carried out by `scheduler`: nominations, and the victims' deletion. Where no filter of the cycle looks at single
pods, nodes are dry-run many at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import (
    SUCCESS,
    Code,
    CycleState,
    Error,
    Plugin,
    PostFilterResult,
    Snapshot,
    Status,
    Unschedulable,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.disruption_budgets import Budgets
from schedviz.scheduler.framework.extending import Extender, Victims, VictimsByNode
from schedviz.scheduler.framework.filtering import FilterVerdict
from schedviz.scheduler.framework.status import fit_error
from schedviz.scheduler.framework.steps import Candidate, Cycle, Preemption
from schedviz.scheduler.framework.trials import RoomTrial, RoomVerdict, counted_before
from schedviz.scheduler.framework.victims import NOT_STARTED, PodTable, by_importance, started

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "preemption: no candidate node for preemption"
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
WAITING = "waiting for the preemption for this pod to be finished"

NOBODY_LOWER = UnschedulableAndUnresolvable(NO_VICTIMS)

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
IntColumn = NDArray[np.int64]
Criteria = tuple[int, int, int, int, float]


@dataclass(slots=True)
class DryRun:
    """What one node would cost: the victims, the most important first, or why it would not help."""

    row: int
    victims: tuple[Pod, ...] = ()
    n_pdb_violations: int = 0
    status: Status = SUCCESS


@dataclass(slots=True)
class Case:
    """One pod that found no node. trial: many nodes at once, or None when each needs to be looked at."""

    state: CycleState
    pod: Pod
    nodes: Snapshot
    verdict: FilterVerdict
    budgets: Budgets
    trial: RoomTrial | None


def criteria(run: DryRun) -> Criteria:
    """Smaller is better: violated budgets, the most important victim, all of them, how many, and how long the longest
    of the most important ones has run."""
    victims = run.victims
    highest = victims[0].priority
    return (
        run.n_pdb_violations,
        highest,
        sum([victim.priority for victim in victims]) + (len(victims) << 31),
        len(victims),
        -min([started(victim) for victim in victims if victim.priority == highest]),
    )


class DefaultPreemption(Plugin):
    """Find a node where the pod fits once pods of lower priority are gone, and nominate the pod to it."""

    @dataclass(frozen=True)
    class Args:
        """DefaultPreemptionArgs: how many candidates to look for, as a share of the nodes and at least."""

        min_candidate_nodes_percentage: int = 10
        min_candidate_nodes_absolute: int = 100

        @classmethod
        def read(cls, raw: Mapping[str, Any]) -> DefaultPreemption.Args:
            percentage = raw.get("minCandidateNodesPercentage")
            absolute = raw.get("minCandidateNodesAbsolute")
            return cls(
                10 if percentage is None else percentage, 100 if absolute is None else absolute
            )

    args: DefaultPreemption.Args
    Args: ClassVar[type[Args]]  # type: ignore[no-redef]

    def __init__(self, args: DefaultPreemption.Args | None = None) -> None:
        super().__init__(args)
        self._table = PodTable()
        self._budgets: tuple[int, Budgets | None] = (-1, None)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """A pod whose victims are being asked to go is not tried meanwhile."""
        if pod.uid in self.handle.preempting:
            return UnschedulableAndUnresolvable(WAITING)
        return None

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent("AssignedPod", ActionType.DELETE),)

    def post_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> PostFilterResult | Cycle[PostFilterResult]:
        refusal = self._not_eligible(pod, nodes, verdict)
        if refusal:
            return PostFilterResult(Unschedulable(refusal))
        trial = self.handle.room_trial(state, pod, nodes, verdict)
        case = Case(state, pod, nodes, verdict, self._known_budgets(nodes), trial)
        potential = np.flatnonzero(verdict.codes() == int(Code.UNSCHEDULABLE))
        candidates, failed, n_tried = self._search(case, potential)
        if not candidates:
            return _none_found(nodes, failed)
        extenders = [one for one in self.handle.extenders if one.preempts(pod)]
        if extenders:
            return self._call_extenders(case, candidates, n_tried, extenders)
        return self._select(nodes, candidates, n_tried)

    def _call_extenders(
        self, case: Case, candidates: list[DryRun], n_tried: int, extenders: list[Extender]
    ) -> Cycle[PostFilterResult]:
        """They may strike candidates out, or change their victims; one after the other."""
        nodes, told = case.nodes, Preemption(n_tried)
        left: VictimsByNode = {
            nodes.names[run.row]: Victims(run.victims, run.n_pdb_violations) for run in candidates
        }
        for extender in extenders:
            said = yield from extender.preempt(case.pod, nodes, left)
            if isinstance(said, Status):
                return PostFilterResult(Error(f"preemption: {said.message}"), preemption=told)
            left = said
            if not left:
                return PostFilterResult(Unschedulable(NO_CANDIDATE), preemption=told)
        runs = [DryRun(nodes.rows[name], *victims) for name, victims in left.items()]
        return self._select(nodes, runs, n_tried)

    def _select(self, nodes: Snapshot, candidates: list[DryRun], n_tried: int) -> PostFilterResult:
        """The best of them."""
        keys = [criteria(one) for one in candidates]
        best = min(keys)
        ties = [one for one, key in zip(candidates, keys, strict=True) if key == best]
        chosen = ties[self.handle.rng.below(len(ties))] if len(ties) > 1 else ties[0]
        name = nodes.names[chosen.row]
        told = Preemption(
            n_tried,
            tuple(map(_told, candidates, keys, [nodes.names[one.row] for one in candidates])),
            tuple(nodes.names[one.row] for one in ties),
            name,
        )
        return PostFilterResult(SUCCESS, name, chosen.victims, told)

    def _known_budgets(self, nodes: Snapshot) -> Budgets:
        version, budgets = nodes.listers.version("PodDisruptionBudget"), self._budgets[1]
        if budgets is None or self._budgets[0] != version:
            budgets = Budgets(nodes.listers)
            self._budgets = (version, budgets)
        return budgets

    def _not_eligible(self, pod: Pod, nodes: Snapshot, verdict: FilterVerdict) -> str:
        """Why the pod may not preempt now, or ""."""
        if pod.preemption_policy == "Never":
            return NEVER
        row = nodes.rows.get(pod.nominated_node_name)
        if row is None or int(verdict.codes()[row]) == int(Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            return ""
        there = nodes.infos[row].pods.values()
        for other in there:
            is_leaving = other.is_preempted or other.uid in self.handle.leaving
            if is_leaving and other.priority < pod.priority:
                return TERMINATING
        return ""

    # ---- candidates ------------------------------------------------------------------------------------------------

    def _search(self, case: Case, potential: Rows) -> tuple[list[DryRun], list[DryRun], int]:
        """(candidates, nodes that would not help, how many were tried). As upstream it ends early: when there are
        enough candidates and one of them breaks no budget."""
        free: list[DryRun] = []
        costly: list[DryRun] = []
        failed: list[DryRun] = []
        wanted = self._n_candidates(len(potential))
        n_tried = 0
        for run in self._dry_runs(case, potential, wanted):
            n_tried += 1
            if not run.status.is_success:
                failed.append(run)
                continue
            (costly if run.n_pdb_violations else free).append(run)
            if free and len(free) + min(len(costly), wanted) >= wanted:
                break
        return free + costly[:wanted], failed, n_tried

    def _n_candidates(self, n_nodes: int) -> int:
        share = n_nodes * self.args.min_candidate_nodes_percentage // 100
        return min(max(share, self.args.min_candidate_nodes_absolute), n_nodes)

    def _dry_runs(self, case: Case, potential: Rows, at_once: int) -> Iterator[DryRun]:
        """From a random node on."""
        if not len(potential):
            return
        rows = np.roll(potential, -self.handle.rng.below(len(potential)))
        if case.trial is None:
            yield from (self._on_node(case, row) for row in rows.tolist())
            return
        for start in range(0, len(rows), at_once):
            yield from self._on_nodes(case, case.trial, rows[start : start + at_once])

    def _on_node(self, case: Case, row: int) -> DryRun:
        """Take all pods of lower priority away, then spare one after the other: first those whose eviction breaks a
        budget, then the others, the most important first."""
        pod, state = case.pod, case.state
        trial = self.handle.node_trial(state, pod, case.nodes, row, case.verdict)
        beside = counted_before(pod, self.handle.nominated.get(case.nodes.names[row], {}))
        lower = by_importance(other for other in trial.pods if other.priority < pod.priority)
        if not lower:
            return DryRun(row, status=NOBODY_LOWER)
        for other in lower:
            status = trial.remove(other)
            if not status.is_success:
                return DryRun(row, status=Error(status.message))
        status = trial.verdict_beside(beside)
        if not status.is_success:
            return DryRun(row, status=status)
        is_violating = dict(zip(lower, case.budgets.violations(lower), strict=True))
        victims = set()
        for other in sorted(lower, key=lambda one: not is_violating[one]):
            status = trial.add(other)
            if status.is_success and not trial.verdict_beside(beside).is_success:
                status = trial.remove(other)
                victims.add(other)
            if not status.is_success:
                return DryRun(row, status=Error(status.message))
        n_violations = sum(is_violating[one] for one in victims)
        return _spared(case, row, tuple(one for one in lower if one in victims), n_violations)

    def _on_nodes(self, case: Case, trial: RoomTrial, rows: Rows) -> Iterator[DryRun]:
        """The same for many nodes, a step for all of them at a time."""
        table, index = self._table, np.arange(len(rows))
        table.refresh(case.nodes, rows)
        width = int(table.n[rows].max(initial=0))
        lower = table.priority[rows, :width] < case.pod.priority
        room = trial.room(rows, self.handle.nominated)
        gone = lower.copy()

        def change(key: Hashable, of: Callable[[Pod], int]) -> IntColumn:
            freed = (table.measure(key, of, rows, width) * gone).sum(axis=1)
            sums: IntColumn = room.nominated(key, of) - freed
            return sums

        def verdict() -> RoomVerdict:
            room.recount()
            return trial.verdict(room)

        room.change = change
        bare = verdict()
        violating = self._violating(case, rows, lower)
        order = np.argsort(np.where(lower, ~violating, 2), axis=1, kind="stable")
        n_lower = np.where(bare.passed, lower.sum(axis=1), 0)
        for step in range(int(n_lower.max(initial=0))):
            place, here = order[:, step], step < n_lower
            gone[index[here], place[here]] = False
            fails = here & ~verdict().passed
            gone[index[fails], place[fails]] = True
        return self._results(case, rows, bare, lower, (gone, violating))

    def _violating(self, case: Case, rows: Rows, lower: Mask) -> Mask:
        """[row, place]: whose eviction breaks a budget. The pods of lower priority are the last ones of a row."""
        violating = np.zeros_like(lower)
        if case.budgets:
            for index, row in enumerate(rows.tolist()):
                places = np.flatnonzero(lower[index])
                pods = self._table.pods[row]
                flags = case.budgets.violations(pods[place] for place in places.tolist())
                violating[index, places] = flags
        return violating

    def _results(
        self, case: Case, rows: Rows, bare: RoomVerdict, lower: Mask, marks: tuple[Mask, Mask]
    ) -> Iterator[DryRun]:
        gone, violating = marks
        n_violations = (gone & violating).sum(axis=1).tolist()
        has_lower: Mask = np.any(lower, axis=1)
        passed = bare.passed
        chosen: list[list[Pod]] = [[] for _ in rows]
        for index, place in np.argwhere(gone & passed[:, None]).tolist():
            chosen[index].append(self._table.pods[rows[index]][place])
        for index, row in enumerate(rows.tolist()):
            if not has_lower[index]:
                yield DryRun(row, status=NOBODY_LOWER)
            elif bare.error is not None or not passed[index]:
                yield DryRun(row, status=bare.error or bare.status(index))
            else:
                yield _spared(case, row, tuple(chosen[index]), n_violations[index])


def _spared(case: Case, row: int, victims: tuple[Pod, ...], n_violations: int) -> DryRun:
    if victims:
        return DryRun(row, victims, n_violations)
    words = f'expected at least one victim pod on node "{case.nodes.names[row]}"'
    return DryRun(row, status=Error(words))


def _none_found(nodes: Snapshot, failed: list[DryRun]) -> PostFilterResult:
    """An earlier nomination is cleared: it came to nothing."""
    told = Preemption(len(failed))
    errors = dict.fromkeys(run.status.message for run in failed if run.status.code is Code.ERROR)
    if errors:
        words = next(iter(errors)) if len(errors) == 1 else f"[{', '.join(errors)}]"
        return PostFilterResult(Error(f"preemption: {words}"), preemption=told)
    counts = Counter(reason for run in failed for reason in run.status.reasons)
    if len(failed) < len(nodes):
        counts[NOT_HELPFUL] += len(nodes) - len(failed)
    words = f"preemption: {fit_error(len(nodes), counts)}"
    return PostFilterResult(Unschedulable(words), "", preemption=told)


def _told(run: DryRun, key: Criteria, name: str) -> Candidate:
    n_violations, highest, priority_sum, _, ran_since = key
    since = None if -ran_since == NOT_STARTED else -ran_since
    victims = tuple([one.key for one in run.victims])
    return Candidate(name, victims, n_violations, highest, priority_sum, since)
