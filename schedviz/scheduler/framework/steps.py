"""Everything that goes into a session's core and everything that comes out of it: the product's eleven words as types.

In: Change (the world told us), Command (an operator asked), Reply (the world acted). Out: Step (a plugin spoke),
Effect (the world must act), Move (a pod changed queue), CommandResult, CycleRecord. Used by the whole core, by
`session` and by the sinks behind it. Plain data: no behaviour beyond reading itself.
"""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from schedviz.scheduler.framework.status import NodeStatuses, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedviz.kube.objects import KubeObject, MalformedObject
    from schedviz.scheduler.config import ExtenderConfig


class Lane(enum.StrEnum):
    """Where a pod is. The first four are the scheduling queue's places; the values go to the database and the wire."""

    GATED = "gated"
    UNSCHEDULABLE = "unschedulable"
    BACKOFF = "backoff"
    ACTIVE = "active"
    SCHEDULING = "scheduling"
    BINDING = "binding"
    BOUND = "bound"
    MALFORMED = "malformed"
    GONE = "gone"


# ---- in ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it was and as it is. `new` None: deleted, or (with `error`) not readable in its new form."""

    kind: str
    old: KubeObject | None
    new: KubeObject | None
    error: MalformedObject | None = None
    is_gone: bool = False  # with `error`: the object that could not be read was deleted


@dataclass(frozen=True, slots=True)
class Command:
    """An operator's wish. verb: one that `commands` knows; args: what it asks for, {"uid"} for one about a pod."""

    id: int
    verb: str
    args: dict[str, Any]
    by: str


@dataclass(frozen=True, slots=True)
class Reply:
    """How an Effect ended. `status_code`: HTTP status, 0 when no answer came. `message`: the API server's words.
    answers: of extenders, one for each call."""

    effect_id: int
    ok: bool
    status_code: int = 0
    message: str = ""
    answers: tuple[ExtenderAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """body: what came with status 200; error: in Go's words, why nothing did; seconds: how long that took."""

    body: bytes = b""
    error: str = ""
    seconds: float = 0.0


# ---- out: steps of a cycle ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Scores:
    """One score plugin's columns over the feasible rows. weighted = normalized * weight."""

    rows: NDArray[np.intp]  # [feasible] row numbers in the cycle's node order
    raw: NDArray[np.int64]  # [feasible]
    normalized: NDArray[np.int64]  # [feasible]
    weight: int


class Candidate(NamedTuple):
    """A node where preemption would make room. victims: "namespace/name", the most important first; what follows are
    the choice's criteria in their order: less is better, of earliest_start later (None: not started)."""

    node_name: str
    victims: tuple[str, ...]
    n_pdb_violations: int
    highest_priority: int
    priority_sum: int
    earliest_start: float | None


@dataclass(frozen=True, slots=True)
class Preemption:
    """How a node to preempt on was chosen. n_tried: nodes dry-run; ties: the best candidates, chosen among at random;
    chosen: the one, "" when there is none."""

    n_tried: int
    candidates: tuple[Candidate, ...] = ()
    ties: tuple[str, ...] = ()
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """How an extender was asked. url: without credentials; error: why its answer does not count, "" when it does;
    hint: what to look at, where the answer is a likely mistake."""

    url: str
    request_bytes: int
    answer_bytes: int
    seconds: float
    error: str = ""
    hint: str = ""


@dataclass(slots=True)
class Step:
    """A plugin, or an extender, spoke at an extension point.

    point: upstream's name ("PreFilter"). status: the plugin's answer (for Filter: SUCCESS if any node passed).
    nodes: Filter only, its verdict on every node (SKIP: not asked about it). scores: Score only. node_names:
    PreFilter's node set, None = all. preemption: PostFilter only. call: of an extender.
    """

    point: str
    plugin: str
    status: Status
    nodes: NodeStatuses | None = None
    scores: Scores | None = None
    node_names: tuple[str, ...] | None = None
    preemption: Preemption | None = None
    call: Call | None = None


# ---- out: effects ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodRef:
    namespace: str
    name: str
    uid: str
    resource_version: str = ""

    @classmethod
    def of(cls, pod: KubeObject) -> PodRef:
        return cls(pod.namespace, pod.name, pod.uid, pod.resource_version)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Bind:
    """POST pods/<name>/binding. Awaited by the binding cycle."""

    pod: PodRef
    node_name: str


@dataclass(frozen=True, slots=True)
class PatchPodStatus:
    """PATCH pods/<name>/status: a condition (as the API writes it); nominatedNodeName if not None ("" clears)."""

    pod: PodRef
    condition: dict[str, Any] | None = None
    nominated_node_name: str | None = None


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """An events.k8s.io/v1 Event about a pod, as kube-scheduler writes it: type Normal | Warning."""

    pod: PodRef
    type: str
    reason: str
    action: str
    note: str
    reporting_controller: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Evict a preemption victim: condition first, then DELETE with the uid as precondition."""

    pod: PodRef
    condition: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PatchObject:
    """PATCH (merge) an object that must not have changed since this resourceVersion: else 409. Awaited by the binding
    cycle (PreBind)."""

    kind: str
    namespace: str
    name: str
    resource_version: str
    patch: dict[str, Any]

    @classmethod
    def of(cls, one: KubeObject, patch: dict[str, Any]) -> PatchObject:
        return cls(one.kind, one.namespace, one.name, one.resource_version, patch)


@dataclass(frozen=True, slots=True)
class ExtenderCall:
    """POST to an extender. to: how to reach it, never shown for it may hold credentials; verb: the URL's end."""

    to: ExtenderConfig = field(repr=False)
    verb: str
    body: bytes


@dataclass(frozen=True, slots=True)
class CallExtenders:
    """Ask extenders about a pod, side by side. Awaited by the cycle that asks; to bind, by the binding cycle."""

    pod: PodRef
    calls: tuple[ExtenderCall, ...]


Action = Bind | PatchPodStatus | CreateEvent | DeletePod | PatchObject | CallExtenders


@dataclass(frozen=True, slots=True)
class Effect:
    """The world must act. `id` numbers effects within a session; `cycle` is the cycle it belongs to (0: none)."""

    id: int
    cycle: int
    action: Action


# ---- out: the rest -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """A pod changed lane. cause: upstream's event label or our word ("PodAdd", "BackoffComplete", "NodeAdd",
    "UnschedulableTimeout", "ScheduleAttemptFailure", "Popped", "Assumed", "Bound", "Command/retry", ...);
    detail: what exactly (the node's name, the operator's name, the reason)."""

    at: float
    pod: PodRef
    source: Lane | None
    target: Lane
    cause: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The answer to a Command. before/after: {"lane", "position", ...}: what the audit keeps."""

    command_id: int
    ok: bool
    message: str
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


class Outcome(enum.StrEnum):
    """How a cycle ended. SCHEDULED: a node was chosen and assumed, its binding is not answered yet."""

    SCHEDULED = "scheduled"
    BOUND = "bound"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    BIND_FAILED = "bind_failed"


@dataclass(slots=True)
class CycleRecord:
    """One attempt for one pod: all that was yielded.

    Emitted when the scheduling cycle closes (before its Bind is sent) and once more, same number, when the binding
    cycle closes: then `binding_steps`, `outcome` and `message` are new and the rest is as it was.
    """

    number: int
    pod: PodRef
    attempt: int
    priority: int
    scheduler_name: str
    started_at: float
    node_names: tuple[str, ...]  # the cycle's node order: rows of every column below
    steps: list[Step] = field(default_factory=list)
    binding_steps: list[Step] = field(default_factory=list)
    first_failure: NDArray[np.int16] | None = None  # [node] filter step that rejected first, or -1
    feasible: NDArray[np.intp] | None = None  # rows
    totals: NDArray[np.int64] | None = None  # [feasible]
    chosen: str = ""
    n_ties: int = 0  # how many nodes had the best total, when more than one
    nominated_node_name: str = ""
    nominated_there: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """node -> pending pods nominated to it ("namespace/name") that left no room: filters counted them as there."""
    outcome: Outcome = Outcome.SCHEDULED
    message: str = ""
    # Seconds, parallel to steps and binding_steps; measured by the session.
    step_durations: list[float] = field(default_factory=list)
    binding_durations: list[float] = field(default_factory=list)
    duration: float = 0.0  # seconds, pop to assume; measured by the session

    @property
    def tied(self) -> NDArray[np.intp]:
        """The rows that shared the best total; none when one was ahead, or when the columns are not kept any more."""
        if self.n_ties and self.feasible is not None and self.totals is not None:
            tied: NDArray[np.intp] = self.feasible[self.totals == self.totals.max()]
            return tied
        return np.zeros(0, dtype=np.intp)


Output = Move | Effect | CommandResult | CycleRecord
"""What a scheduler answers with."""
T = TypeVar("T")
Cycle = Generator[Step | Effect | CallExtenders, "Reply | None", T]
"""A cycle under way: an Effect that it yields is answered by the Reply that it is sent."""
