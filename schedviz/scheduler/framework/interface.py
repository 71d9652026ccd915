"""The plugin's side of the contract: what a plugin may define, and how one node's answer becomes every node's.

A plugin is a class with one method named as an extension point; plugins of the product and of its users derive from
`Plugin`. Read by `runtime`, by configuration and by the pages (columns). Mirrors pkg/scheduler/framework/interface.go
(v1.36). Left out on purpose: one interface type per extension point; having the method is being the plugin.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Node, Pod
from schedviz.scheduler.framework.cluster_event import Registration
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.rng import Rng
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import SUCCESS, Error, NodeStatuses, Status
from schedviz.scheduler.framework.steps import PatchObject, Preemption

if TYPE_CHECKING:
    from schedviz.scheduler.framework.extending import Extender
    from schedviz.scheduler.framework.filtering import FilterVerdict
    from schedviz.scheduler.framework.trials import NodeTrial, RoomTrial

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
    "filter_room",
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
    """status: SUCCESS when something was made possible. nominated_node_name: None leaves it, "" clears it.
    victims: pods that must go from there; preemption: how they were chosen, for the record."""

    status: Status
    nominated_node_name: str | None = None
    victims: tuple[Pod, ...] = ()
    preemption: Preemption | None = None


@dataclass(frozen=True, slots=True)
class PermitResult:
    """status WAIT holds the pod for at most `timeout_seconds`."""

    status: Status
    timeout_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PreBindResult:
    """The pod may be bound only when the world has done something, and told of it.

    actions: carried out one after the other, each when the one before was; a refusal by the API server is the plugin's
    error. Then `until(listers, node)` is asked, and again whenever an object of one of `kinds` changes: None is "not
    yet", a Status is the plugin's answer. listers: as the watch tells; node: the pod's, None when it is gone.
    timed_out: the answer when `timeout_seconds` have passed since the actions were done.
    A plugin that has nothing to ask answers with a Status or None, as at any other point.
    """

    actions: tuple[PatchObject, ...]
    until: Callable[[Listers, Node | None], Status | None]
    kinds: frozenset[str]
    timeout_seconds: float
    timed_out: Status


class Reads(enum.Enum):
    """What of a node a filter looks at. NODE: only what the Node object and the pod say. SUMS: also sums over the pods
    there, and more of them never helps: how many they are and what they request, or whatever the plugin's `filter_room`
    asks of a Room. PODS: anything."""

    NODE = enum.auto()
    SUMS = enum.auto()
    PODS = enum.auto()


class Handle(Protocol):
    """What a plugin may ask of the framework that runs it."""

    nominated: Mapping[str, Mapping[str, Pod]]
    """node name -> uid -> pending pods that are nominated to it."""
    preempting: Container[str]
    """Uids of pods whose victims are being asked to go."""
    leaving: Container[str]
    """Uids of victims that were asked to go."""
    extenders: Sequence[Extender]
    """In the order in which they are asked."""
    rng: Rng

    def node_trial(
        self, state: CycleState, pod: Pod, nodes: Snapshot, row: int, verdict: FilterVerdict
    ) -> NodeTrial: ...

    def room_trial(
        self, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
    ) -> RoomTrial | None: ...


class Plugin:
    """Derive, give the class a docstring and one method. `args`: the plugin's configuration, if it has `Args`.

    filter(state, pod, node) -> Status | None, or filter_nodes(state, pod, nodes) -> NodeStatuses: never both.
    score(state, pod, node) -> int, or score_nodes(state, pod, nodes, rows) -> int64 [feasible]: never both.
    """

    name: ClassVar[str] = ""
    """The class's."""
    Args: ClassVar[type[Any] | None] = None
    features: frozenset[str] = frozenset()
    """Names of the feature gates that are on; set by whoever builds the profile."""
    filter_reads: ClassVar[Reads] = Reads.PODS
    handle: Handle
    """Set by the framework that runs the plugin."""

    def __init__(self, args: Any = None) -> None:
        self.args = args if args is not None or self.Args is None else self.Args()

    def reads_now(self, state: CycleState) -> Reads:
        """`filter_reads`, unless it depends on the pod of the cycle."""
        return self.filter_reads

    def events_to_register(self) -> tuple[Registration, ...]:
        """The events that may help a pod that this plugin rejected; without an answer, all of them."""
        return ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__name__
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
