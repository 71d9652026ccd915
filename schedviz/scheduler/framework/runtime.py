"""Runs one profile's plugins, extension point by extension point, and yields a Step whenever one has spoken.

Built by `profile`, driven by `schedule_one` (`verdict = yield from framework.run_filter(...)`). Mirrors
pkg/scheduler/framework/runtime/framework.go (v1.36). What differs on purpose: every filter is evaluated on every node,
and the first failure of each node is kept beside, so that the record can say what else would fail.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.interface import (
    EXTENSION_POINTS,
    PermitResult,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Rows,
)
from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import (
    SUCCESS,
    Code,
    Error,
    NodeStatuses,
    Status,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.steps import Bind, Scores, Step


@dataclass(slots=True)
class PreFilterVerdict:
    """status: SUCCESS, or why no node needs to be filtered. node_names: None = all; by: who said so."""

    status: Status
    node_names: frozenset[str] | None = None
    by: tuple[str, ...] = ()


@dataclass(slots=True)
class FilterVerdict:
    """first_failure int16 [node]: number of the Filter step that rejected the node first, -1 none, -2 not filtered.
    feasible: rows. failed: the statuses of rejected nodes by row. error: a filter that went wrong."""

    first_failure: NDArray[np.int16]
    feasible: Rows
    steps: list[Step]
    error: Status | None = None


@dataclass(slots=True)
class BindVerdict:
    """Either an action for the world, or how binding ended without one."""

    status: Status
    action: Bind | None = None
    plugin: str = ""


def answer(plugin: Plugin, call: Callable[..., Any], *args: Any) -> Any:
    """What the plugin says; whatever it raises becomes a Status with the plugin's name and the words."""
    try:
        return call(*args)
    except (
        Exception
    ) as error:  # a plugin is anybody's code: its fault is its cycle's error, never the session's
        words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        return Error(
            f"{type(error).__name__}: {words}" if not isinstance(error, KeyError) else words
        ).by(plugin.name)


def spoken(plugin: Plugin, said: Any) -> Status:
    """None is success; anything that is no Status is the plugin's mistake."""
    if said is None:
        return SUCCESS.by(plugin.name)
    if isinstance(said, Status):
        return said.by(plugin.name)
    return Error(f"answered with {type(said).__name__} where a Status or None was expected").by(
        plugin.name
    )


class Framework:
    """One profile. `points`: plugins by extension point, in the order they run; `weights`: of score plugins."""

    def __init__(
        self,
        scheduler_name: str,
        plugins: Sequence[Plugin],
        *,
        weights: Mapping[str, int],
        points: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.scheduler_name = scheduler_name
        self.plugins = {plugin.name: plugin for plugin in plugins}
        self.weights = dict(weights)
        self.points: dict[str, tuple[Plugin, ...]] = {}
        for point, method in EXTENSION_POINTS.items():
            if points is None:
                self.points[point] = tuple(plugin for plugin in plugins if hasattr(plugin, method))
            else:
                self.points[point] = tuple(self.plugins[name] for name in points.get(point, ()))
        if len(self.points["QueueSort"]) != 1:
            raise ValueError(f"profile {scheduler_name!r}: exactly one queue sort plugin is needed")
        self._queue_sort: Any = self.points["QueueSort"][0]

    def queue_key(self, queued: QueuedPodInfo) -> Any:
        """The pod's place in activeQ: smaller comes first."""
        return self._queue_sort.queue_sort(queued)

    def pre_enqueue(self, pod: Pod) -> Status:
        """SUCCESS, or the first plugin's refusal."""
        for plugin in self.points["PreEnqueue"]:
            status = spoken(plugin, answer(plugin, plugin.pre_enqueue, pod))  # type: ignore[attr-defined]
            if not status.is_success:
                return status
        return SUCCESS

    # ---- scheduling cycle ------------------------------------------------------------------------------------------

    def run_pre_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot
    ) -> Generator[Step, None, PreFilterVerdict]:
        """Unresolvable and errors end it at once, Unschedulable goes on and the last one wins; node sets intersect."""
        names: frozenset[str] | None = None
        by: list[str] = []
        rejected: Status | None = None
        for plugin in self.points["PreFilter"]:
            said = answer(plugin, plugin.pre_filter, state, pod, nodes)  # type: ignore[attr-defined]
            result = said.node_names if isinstance(said, PreFilterResult) else None
            status = spoken(plugin, None if isinstance(said, PreFilterResult) else said)
            yield Step(
                "PreFilter",
                plugin.name,
                status,
                node_names=None if result is None else tuple(sorted(result)),
            )
            if status.code is Code.SKIP:
                state.skip_filter.add(plugin.name)
            elif status.code is Code.UNSCHEDULABLE:
                rejected = status
            elif not status.is_success:
                return PreFilterVerdict(status)
            if result is not None:
                by.append(plugin.name)
                names = result if names is None else names & result
                if not names:
                    return PreFilterVerdict(_no_common_node(by), by=tuple(sorted(by)))
        return PreFilterVerdict(rejected or SUCCESS, names, tuple(sorted(by)))

    def run_filter(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Snapshot,
        *,
        only: frozenset[str] | None = None,
    ) -> Generator[Step, None, FilterVerdict]:
        """Every filter that PreFilter did not skip, on every node; nodes outside `only` are not counted."""
        first = np.full(len(nodes), -1, dtype=np.int16)
        if only is not None:
            first[:] = -2
            first[[nodes.rows[name] for name in only if name in nodes.rows]] = -1
        steps: list[Step] = []
        for plugin in self.points["Filter"]:
            if plugin.name in state.skip_filter:
                continue
            said = answer(plugin, plugin.filter_nodes, state, pod, nodes)  # type: ignore[attr-defined]
            if not isinstance(said, NodeStatuses):
                status = spoken(
                    plugin, said if isinstance(said, Status) else Error("gave no NodeStatuses")
                )
                yield Step("Filter", plugin.name, status)
                return FilterVerdict(first, np.zeros(0, dtype=np.intp), steps, error=status)
            fresh = (said.codes != 0) & (first == -1)
            first[fresh] = len(steps)
            step = Step("Filter", plugin.name, _of_nodes(plugin, said), nodes=said)
            steps.append(step)
            yield step
        verdict = FilterVerdict(first, np.flatnonzero(first == -1), steps)
        verdict.error = _first_error(verdict)
        return verdict

    def run_post_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> Generator[Step, None, PostFilterResult | None]:
        """None without plugins. The first success ends it; reasons of the others add up."""
        reasons: tuple[str, ...] = ()
        nominated: str | None = None
        unresolvable = False
        for plugin in self.points["PostFilter"]:
            said = answer(plugin, plugin.post_filter, state, pod, nodes, verdict)  # type: ignore[attr-defined]
            result = (
                said
                if isinstance(said, PostFilterResult)
                else PostFilterResult(spoken(plugin, said))
            )
            status = result.status.by(plugin.name)
            yield Step("PostFilter", plugin.name, status)
            if result.nominated_node_name is not None:
                nominated = result.nominated_node_name
            if status.is_success or not status.is_rejected:
                return PostFilterResult(status, nominated)
            unresolvable = unresolvable or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            reasons += status.reasons
        if not self.points["PostFilter"]:
            return None
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE
        return PostFilterResult(Status(code, reasons), nominated)

    def run_pre_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows
    ) -> Generator[Step, None, Status]:
        for plugin in self.points["PreScore"]:
            status = spoken(plugin, answer(plugin, plugin.pre_score, state, pod, nodes, rows))  # type: ignore[attr-defined]
            yield Step("PreScore", plugin.name, status)
            if status.code is Code.SKIP:
                state.skip_score.add(plugin.name)
            elif not status.is_success:
                return status
        return SUCCESS

    def run_score(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows
    ) -> Generator[Step, None, tuple[Status, NDArray[np.int64]]]:
        """Raw, normalised, times weight; the sum over plugins, int64 [feasible]."""
        totals = np.zeros(len(rows), dtype=np.int64)
        for plugin in self.points["Score"]:
            if plugin.name in state.skip_score:
                continue
            scores = answer(plugin, self._scored, plugin, state, pod, nodes, rows)
            if isinstance(scores, Status):
                yield Step("Score", plugin.name, scores)
                return scores, totals
            totals += scores.normalized * scores.weight
            yield Step("Score", plugin.name, SUCCESS.by(plugin.name), scores=scores)
        return SUCCESS, totals

    def _scored(
        self, plugin: Any, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows
    ) -> Scores | Status:
        raw = plugin.score_nodes(state, pod, nodes, rows)
        if isinstance(raw, Status):
            return raw.by(plugin.name)
        normalized = (
            plugin.normalize_score(state, pod, raw) if hasattr(plugin, "normalize_score") else raw
        )
        if len(normalized) and (int(normalized.min()) < 0 or int(normalized.max()) > 100):
            worst = int(normalized.min()) if int(normalized.min()) < 0 else int(normalized.max())
            return Error(
                f'plugin "{plugin.name}" returns an invalid score {worst}, it should in the range of [0, 100] '
                "after normalizing"
            ).by(plugin.name)
        return Scores(rows, raw, normalized, self.weights.get(plugin.name, 1) or 1)

    # ---- the chosen node -------------------------------------------------------------------------------------------

    def run_reserve(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, Status]:
        return (yield from self._each("Reserve", state, pod, node_name))

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """In reverse order; what goes wrong here has nowhere to go and changes nothing."""
        for plugin in reversed(self.points["Reserve"]):
            if hasattr(plugin, "unreserve"):
                answer(plugin, plugin.unreserve, state, pod, node_name)

    def run_permit(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, tuple[Status, dict[str, float]]]:
        """SUCCESS, a refusal, or WAIT with each waiting plugin's seconds."""
        waits: dict[str, float] = {}
        for plugin in self.points["Permit"]:
            said = answer(plugin, plugin.permit, state, pod, node_name)  # type: ignore[attr-defined]
            result = said if isinstance(said, PermitResult) else PermitResult(spoken(plugin, said))
            status = result.status.by(plugin.name)
            yield Step("Permit", plugin.name, status)
            if status.code is Code.WAIT:
                waits[plugin.name] = min(result.timeout_seconds, 900.0)
            elif not status.is_success:
                return status, {}
        return (Status(Code.WAIT) if waits else SUCCESS), waits

    def run_pre_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, Status]:
        return (yield from self._each("PreBind", state, pod, node_name))

    def run_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, BindVerdict]:
        """The first plugin that does not skip decides. A Bind action is the world's; its step comes with the reply."""
        for plugin in self.points["Bind"]:
            said = answer(plugin, plugin.bind, state, pod, node_name)  # type: ignore[attr-defined]
            if isinstance(said, Bind):
                return BindVerdict(SUCCESS.by(plugin.name), said, plugin.name)
            status = spoken(plugin, said)
            yield Step("Bind", plugin.name, status)
            if status.code is not Code.SKIP:
                return BindVerdict(status, None, plugin.name)
        return BindVerdict(Error("no bind plugin took the pod"))

    def run_post_bind(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, None]:
        for plugin in self.points["PostBind"]:
            status = spoken(plugin, answer(plugin, plugin.post_bind, state, pod, node_name))  # type: ignore[attr-defined]
            yield Step("PostBind", plugin.name, status)

    def _each(
        self, point: str, state: CycleState, pod: Pod, node_name: str
    ) -> Generator[Step, None, Status]:
        method = EXTENSION_POINTS[point]
        for plugin in self.points[point]:
            status = spoken(plugin, answer(plugin, getattr(plugin, method), state, pod, node_name))
            yield Step(point, plugin.name, status)
            if not status.is_success and status.code is not Code.SKIP:
                return status
        return SUCCESS


def _no_common_node(by: list[str]) -> Status:
    if len(by) == 1:
        return UnschedulableAndUnresolvable(f"node(s) didn't satisfy plugin {by[0]}").by(by[0])
    return UnschedulableAndUnresolvable(
        f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(by))}] simultaneously"
    )


def _of_nodes(plugin: Plugin, nodes: NodeStatuses) -> Status:
    """SUCCESS if any node passed (or there is none to ask)."""
    if not len(nodes) or nodes.passed.any():
        return SUCCESS.by(plugin.name)
    worst = (
        Code.UNSCHEDULABLE
        if (nodes.codes == int(Code.UNSCHEDULABLE)).any()
        else Code(int(nodes.codes[0]))
    )
    return Status(worst, (), plugin.name)


def _first_error(verdict: FilterVerdict) -> Status | None:
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
