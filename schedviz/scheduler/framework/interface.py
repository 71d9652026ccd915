"""The plugin's side of the contract: what a plugin may define, and how one node's answer becomes every node's.

A plugin is a class with one method named as an extension point; plugins of the product and of its users derive from
`Plugin`. Read by `runtime`, by configuration and by the pages (columns). Mirrors pkg/scheduler/framework/interface.go
(v1.36). Left out on purpose: one interface type per extension point; having the method is being the plugin.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import ClusterEvent
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import NodeStatuses, Status

# Upstream's extension points in the order in which a pod meets them -> the method that makes a class a plugin there.
EXTENSION_POINTS: dict[str, str] = {
    "PreEnqueue": "pre_enqueue",
    "QueueSort": "queue_sort",
    "PreFilter": "pre_filter",
    "Filter": "filter_nodes",
    "PostFilter": "post_filter",
    "PreScore": "pre_score",
    "Score": "score_nodes",
    "Reserve": "reserve",
    "Permit": "permit",
    "PreBind": "pre_bind",
    "Bind": "bind",
    "PostBind": "post_bind",
}
_ALSO = (
    "filter",
    "score",
    "normalize_score",
    "unreserve",
    "events_to_register",
    "add_pod",
    "remove_pod",
)
METHODS = frozenset({*EXTENSION_POINTS.values(), *_ALSO})

Rows = NDArray[np.intp]


class PluginError(TypeError):
    """A plugin class that cannot work; the message names the class, the method and the right spelling."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """node_names: the only nodes worth filtering; None: all."""

    node_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """status: SUCCESS when something was made possible. nominated_node_name: None leaves it, "" clears it."""

    status: Status
    nominated_node_name: str | None = None


@dataclass(frozen=True, slots=True)
class PermitResult:
    """status WAIT holds the pod for at most `timeout_seconds`."""

    status: Status
    timeout_seconds: float = 0.0


class Plugin:
    """Derive, give the class a docstring and one method. `args`: the plugin's configuration, if it has `Args`.

    filter(state, pod, node) -> Status | None, or filter_nodes(state, pod, nodes) -> NodeStatuses: never both.
    score(state, pod, node) -> int, or score_nodes(state, pod, nodes, rows) -> int64 [feasible]: never both.
    """

    Args: ClassVar[type[Any] | None] = None
    features: frozenset[str] = frozenset()
    """Names of the feature gates that are on; set by whoever builds the profile."""

    def __init__(self, args: Any = None) -> None:
        self.args = args if args is not None or self.Args is None else self.Args()

    @property
    def name(self) -> str:
        return type(self).__name__

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """The events that may help a pod that this plugin rejected; without an answer, all of them."""
        return ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _refuse_misspelt(cls)
        for one, every, lift in (
            ("filter", "filter_nodes", _lift_filter),
            ("score", "score_nodes", _lift_score),
        ):
            if one in cls.__dict__ and every in cls.__dict__:
                raise PluginError(
                    f"{cls.__name__} defines both {one} and {every}: keep one of them"
                )
            if one in cls.__dict__:
                setattr(cls, every, lift(cls.__dict__[one]))


def points_of(plugin: Plugin) -> tuple[str, ...]:
    """The extension points at which this plugin has something to say."""
    return tuple(point for point, method in EXTENSION_POINTS.items() if hasattr(plugin, method))


def _refuse_misspelt(cls: type[Plugin]) -> None:
    for name, member in cls.__dict__.items():
        if (
            name.startswith("_")
            or name in METHODS
            or not callable(member)
            or isinstance(member, type)
        ):
            continue
        close = difflib.get_close_matches(name, METHODS, n=1, cutoff=0.75)
        if close:
            raise PluginError(
                f"{cls.__name__}.{name} is not an extension point: did you mean {close[0]}?"
            )


def _lift_filter(
    method: Callable[[Any, CycleState, Pod, NodeInfo], Status | None],
) -> Callable[[Any, CycleState, Pod, Snapshot], NodeStatuses]:
    def filter_nodes(self: Any, state: CycleState, pod: Pod, nodes: Snapshot) -> NodeStatuses:
        statuses = NodeStatuses(len(nodes))
        for row, info in enumerate(nodes.infos):
            status = method(self, state, pod, info)
            if status is not None and not status.is_success:
                statuses.reject(row, status)
        return statuses

    return filter_nodes


def _lift_score(
    method: Callable[[Any, CycleState, Pod, NodeInfo], int],
) -> Callable[[Any, CycleState, Pod, Snapshot, Rows], NDArray[np.int64]]:
    def score_nodes(
        self: Any, state: CycleState, pod: Pod, nodes: Snapshot, rows: Rows
    ) -> NDArray[np.int64]:
        infos = nodes.infos
        return np.fromiter(
            (method(self, state, pod, infos[row]) for row in rows), np.int64, len(rows)
        )

    return score_nodes


def default_normalize_score(
    scores: NDArray[np.int64], *, reverse: bool = False
) -> NDArray[np.int64]:
    """Scale to 0..100 by the largest. Mirrors plugins/helper/normalize_score.go: all zero stays 0 (100 reversed)."""
    largest = int(scores.max()) if len(scores) else 0
    if largest == 0:
        return np.full(len(scores), 100, dtype=np.int64) if reverse else scores.copy()
    scaled = scores * 100 // largest
    return 100 - scaled if reverse else scaled
