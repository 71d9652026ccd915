"""Runs one profile's plugins, extension point by extension point, and yields a Step whenever one has spoken.

Built by `profile`, driven by `schedule_one` (`verdict = yield from framework.run_filter(...)`). Mirrors
pkg/scheduler/framework/runtime/framework.go (v1.36). The filters have a module of their own: `filtering`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.filtering import Filters, FilterVerdict
from schedviz.scheduler.framework.interface import (
    EXTENSION_POINTS,
    PermitResult,
    Plugin,
    PostFilterResult,
    PreBindResult,
    PreFilterResult,
    Rows,
    answer,
    spoken,
)
from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import (
    SUCCESS,
    Code,
    Error,
    Status,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.steps import Bind, Cycle, Scores, Step


@dataclass(slots=True)
class PreFilterVerdict:
    """status: SUCCESS, or why no node needs to be filtered. node_names: None = all; by: who said so."""

    status: Status
    node_names: frozenset[str] | None = None
    by: tuple[str, ...] = ()


@dataclass(slots=True)
class BindVerdict:
    """Either an action for the world, or how binding ended without one."""

    status: Status
    action: Bind | None = None
    plugin: str = ""


@dataclass(slots=True)
class PreBindVerdict:
    """awaited: what `plugin` waits for before the others are asked; None: all have spoken, or one refused."""

    status: Status
    awaited: PreBindResult | None = None
    plugin: str = ""


class Framework(Filters):
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
        self.weights = dict(weights)
        by_name = {plugin.name: plugin for plugin in plugins}
        at: dict[str, tuple[Plugin, ...]] = {}
        for point, method in EXTENSION_POINTS.items():
            if points is None:
                at[point] = tuple(plugin for plugin in plugins if hasattr(plugin, method))
            else:
                at[point] = tuple(by_name[name] for name in points.get(point, ()))
        super().__init__(by_name, at)
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

    def run_post_filter(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> Cycle[PostFilterResult | None]:
        """None without plugins. A success, an error and "unresolvable" end it; otherwise reasons add up. A plugin that
        asks extenders answers with a generator of that."""
        reasons: tuple[str, ...] = ()
        nominated: str | None = None
        for plugin in self.points["PostFilter"]:
            said = answer(plugin, plugin.post_filter, state, pod, nodes, verdict)  # type: ignore[attr-defined]
            if isinstance(said, Generator):
                said = yield from _patient(plugin, said)
            result = (
                said
                if isinstance(said, PostFilterResult)
                else PostFilterResult(spoken(plugin, said))
            )
            status = result.status.by(plugin.name)
            yield Step("PostFilter", plugin.name, status, preemption=result.preemption)
            if status.is_success or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return replace(result, status=status)
            if not status.is_rejected:
                return PostFilterResult(status)
            if result.nominated_node_name is not None:
                nominated = result.nominated_node_name
            reasons += status.reasons
        if not self.points["PostFilter"]:
            return None
        return PostFilterResult(Status(Code.UNSCHEDULABLE, reasons), nominated)

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
        raw = np.asarray(raw, dtype=np.int64)
        normalized = raw
        if hasattr(plugin, "normalize_score"):
            normalized = np.asarray(plugin.normalize_score(state, pod, raw), dtype=np.int64)
        if len(normalized) and int(normalized.view(np.uint64).max()) > 100:  # below 0 is very large
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
        self, state: CycleState, pod: Pod, node_name: str, *, after: str = ""
    ) -> Generator[Step, None, PreBindVerdict]:
        """The plugins behind the one named `after`. The first that must wait ends it: its step comes when answered."""
        plugins = self.points["PreBind"]
        names = [plugin.name for plugin in plugins]
        for plugin in plugins[names.index(after) + 1 if after else 0 :]:
            said = answer(plugin, plugin.pre_bind, state, pod, node_name)  # type: ignore[attr-defined]
            if isinstance(said, PreBindResult):
                return PreBindVerdict(SUCCESS, said, plugin.name)
            status = spoken(plugin, said)
            yield Step("PreBind", plugin.name, status)
            if not status.is_success and status.code is not Code.SKIP:
                return PreBindVerdict(status)
        return PreBindVerdict(SUCCESS)

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


def _patient(plugin: Plugin, asking: Cycle[Any]) -> Cycle[Any]:
    """What a plugin that asks comes to say; what it raises becomes an error of its own."""

    def fail() -> None:
        raise failure

    try:
        return (yield from asking)
    except Exception as error:
        failure = error
        return answer(plugin, fail)


def _no_common_node(by: list[str]) -> Status:
    if len(by) == 1:
        return UnschedulableAndUnresolvable(f"node(s) didn't satisfy plugin {by[0]}").by(by[0])
    return UnschedulableAndUnresolvable(
        f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(by))}] simultaneously"
    )
