"""The binding cycle: Reserve, Permit, PreBind and Bind of a pod that has its node, until the world answers.

Called by `binding_cycles`, which keeps the Bindings that wait. Mirrors the binding cycle of
pkg/scheduler/schedule_one.go (v1.36); instead of a goroutine, a Binding waits for what it needs:

    Reserve, Permit --allowed--> PreBind --all have spoken--> Bind --answered--> bound
                |                  |  ^ a plugin's actions are answered, and then its `until` says so
                | time is up       v  |
                +--> given up <-- waiting: a refusal, an error, the time is up, the pod is gone
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from schedviz.kube.objects import Node, Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.extending import Extender
from schedviz.scheduler.framework.interface import PreBindResult, answer, spoken
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.status import (
    SUCCESS,
    Code,
    Error,
    Status,
    Unschedulable,
    fit_error,
)
from schedviz.scheduler.framework.steps import (
    Bind,
    CallExtenders,
    CreateEvent,
    CycleRecord,
    Outcome,
    PatchObject,
    PatchPodStatus,
    Reply,
    Step,
)
from schedviz.scheduler.schedule_one import Attempt, kept

FREED = ClusterEvent("AssignedPod", ActionType.DELETE)
"""A forgotten assumption frees room like a deleted pod, as upstream has it."""
EVENT_NOTE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod with a node does not get there. plugins: who rejected it; none: something went wrong."""

    outcome: Outcome
    message: str
    plugins: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Waiting:
    """A PreBind plugin that needs the world. n_done: how many of its actions are answered; since: when it began."""

    plugin: str
    awaited: PreBindResult
    since: float
    n_done: int = 0

    def next_action(self) -> PatchObject | None:
        actions = self.awaited.actions
        return actions[self.n_done] if self.n_done < len(actions) else None


@dataclass(slots=True, eq=False)
class Binding:
    """A pod with a chosen node. waits: the Permit plugins that have not let it go yet, with their seconds since
    permit_since; waiting: the PreBind plugin at work; pre_bound: the last one that has spoken; action: what the world
    is asked to do at last; seen_on, is_gone: what the watch has said of the pod meanwhile; is_nominated: the API server
    was told of the node before the pod is bound; binder: the extender that is asked to bind it; is_unconfirmed: it says
    that it did, and the watch has not shown it yet.
    """

    framework: Framework
    queued: QueuedPodInfo
    pod: Pod
    attempt: Attempt
    placed_at: float = 0.0
    action: Bind | CallExtenders | None = None
    binder: Extender | None = None
    bind_plugin: str = ""
    waits: dict[str, float] = field(default_factory=dict)
    permit_since: float = 0.0
    waiting: Waiting | None = None
    pre_bound: str = ""
    deadline: float = 0.0
    seen_on: str = ""
    is_gone: bool = False
    is_nominated: bool = False
    is_unconfirmed: bool = False

    @property
    def point(self) -> str:
        """Where it waits."""
        return "PreBind" if self.waiting is not None else "Permit" if self.waits else "Bind"

    @property
    def waits_for(self) -> str:
        """The Permit plugin whose time is up first."""
        return min(self.waits, key=lambda plugin: self.waits[plugin])

    @property
    def says(self) -> str:
        """What it waits for, in words for the board."""
        if self.is_unconfirmed and self.binder is not None:
            where = f"assumed on {self.pod.node_name}, not confirmed"
            return f"{where}: {self.binder.name} says that it has bound the pod"
        if self.waiting is not None:
            seconds = self.waiting.awaited.timeout_seconds
            return f"it waits for {self.waiting.plugin}, {duration(seconds)} at most"
        if self.waits:
            seconds = self.waits[self.waits_for]
            return f"it waits at Permit for {', '.join(self.waits)}, {duration(seconds)} at most"
        return ""

    @property
    def record(self) -> CycleRecord:
        return self.attempt.record

    def reopen(self) -> None:
        """The record that was put out may not be written yet: go on with a copy."""
        record = self.attempt.record
        steps, durations = [*record.binding_steps], [*record.binding_durations]
        again = replace(record, binding_steps=steps, binding_durations=durations)
        self.attempt.record = again

    def release(self) -> None:
        """Undo Reserve."""
        self.framework.run_unreserve(self.attempt.state, self.pod, self.pod.node_name)

    def finish(self) -> None:
        """PostBind: told, not asked."""
        steps = self.framework.run_post_bind(self.attempt.state, self.pod, self.pod.node_name)
        self.record.binding_steps.extend(steps)


@dataclass(slots=True)
class Bindings:
    """The pods that have a node and wait: held (for Permit, or for what PreBind needs), or for the answer to an
    effect."""

    _of_pod: dict[str, Binding] = field(default_factory=dict)
    _of_effect: dict[int, Binding] = field(default_factory=dict)
    _held: dict[str, Binding] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._of_pod)

    def __iter__(self) -> Iterator[Binding]:
        return iter(self._of_pod.values())

    def get(self, uid: str) -> Binding | None:
        return self._of_pod.get(uid)

    def is_held(self, uid: str) -> bool:
        return uid in self._held

    def hold(self, held: Binding) -> None:
        """Until its deadline, or until it is taken."""
        self._of_pod[held.pod.uid] = self._held[held.pod.uid] = held

    def ask(self, held: Binding, effect_id: int) -> None:
        """Until the effect is answered."""
        self._of_pod[held.pod.uid] = self._of_effect[effect_id] = held

    def answered(self, effect_id: int) -> Binding | None:
        held = self._of_effect.pop(effect_id, None)
        if held is not None:
            del self._of_pod[held.pod.uid]
        return held

    def take(self, uid: str) -> Binding:
        """One that is held, which is over."""
        del self._of_pod[uid]
        held = self._held.pop(uid)
        held.reopen()
        return held

    def concerned(self, kind: str) -> list[Binding]:
        """Those at PreBind that a change of this kind may let go on."""
        return [
            held
            for held in self._held.values()
            if held.waiting is not None and kind in held.waiting.awaited.kinds
        ]

    def overdue(self, now: float) -> list[str]:
        return [uid for uid, held in self._held.items() if held.deadline <= now]

    def next_due(self) -> float | None:
        due = min((held.deadline for held in self._held.values()), default=math.inf)
        return None if due == math.inf else due


def begin(held: Binding, now: float) -> Generator[Step, None, Refusal | None]:
    """Reserve and Permit, then PreBind and Bind as far as they need no answer. A refusal is returned."""
    framework, state, pod = held.framework, held.attempt.state, held.pod
    steps = held.record.steps
    status = yield from kept(framework.run_reserve(state, pod, pod.node_name), steps)
    if not status.is_success:
        return refusal("Reserve", status)
    status, waits = yield from kept(framework.run_permit(state, pod, pod.node_name), steps)
    if waits:
        held.waits, held.permit_since = waits, now
        held.deadline = now + min(waits.values())
        return None
    if not status.is_success:
        return refusal("Permit", status)
    return (yield from go_on(held, now))


def go_on(held: Binding, now: float) -> Generator[Step, None, Refusal | None]:
    """PreBind from where it stands, then Bind, as far as they need no answer."""
    framework, state, pod = held.framework, held.attempt.state, held.pod
    steps = held.record.binding_steps
    before = yield from kept(
        framework.run_pre_bind(state, pod, pod.node_name, after=held.pre_bound), steps
    )
    if before.awaited is not None:
        held.waiting = Waiting(before.plugin, before.awaited, now)
        return None
    if not before.status.is_success:
        return refusal("PreBind", before.status)
    return (yield from bind(held))


def bind(held: Binding, *, is_asked: bool = False) -> Generator[Step, None, Refusal | None]:
    """An extender that binds comes before the Bind plugins. is_asked: it was, and could be ignored."""
    framework, pod = held.framework, held.pod
    binders = [one for one in framework.extenders if not is_asked and one.binds(pod)]
    held.binder = binders[0] if binders else None
    if held.binder is not None:
        call = held.binder.bind_call(pod, pod.node_name)
        held.action = CallExtenders(held.record.pod, (call,))
        return None
    run = framework.run_bind(held.attempt.state, pod, pod.node_name)
    verdict = yield from kept(run, held.record.binding_steps)
    held.action, held.bind_plugin = verdict.action, verdict.plugin
    return None if verdict.status.is_success else refusal("Bind", verdict.status)


def allowed(
    held: Binding, plugins: tuple[str, ...], now: float
) -> Generator[Step, None, Refusal | None]:
    """These Permit plugins let it go; when they were the last ones, it goes on."""
    record = held.record
    for plugin in plugins:
        step = Step("Permit", plugin, SUCCESS.by(plugin))
        _append_timed(record, step, now - held.permit_since)
        yield step
        del held.waits[plugin]
    if held.waits:
        held.deadline = held.permit_since + min(held.waits.values())
        return None
    return (yield from go_on(held, now))


def look(held: Binding, waiting: Waiting, listers: Listers, node: Node | None) -> Status | None:
    """What the waiting plugin says of the world as it is; None: not yet."""
    plugin = held.framework.plugins[waiting.plugin]
    said = answer(plugin, waiting.awaited.until, listers, node)
    return None if said is None else spoken(plugin, said)


def pre_bound(
    held: Binding, waiting: Waiting, status: Status, now: float
) -> Generator[Step, None, Refusal | None]:
    """The waiting plugin has its answer, which is its step: on to the next ones, or it was in vain."""
    record = held.record
    step = Step("PreBind", waiting.plugin, status.by(waiting.plugin))
    _append_timed(record, step, now - waiting.since)
    yield step
    held.waiting, held.pre_bound = None, waiting.plugin
    if not status.is_success and status.code is not Code.SKIP:
        return refusal("PreBind", step.status)
    return (yield from go_on(held, now))


def _append_timed(record: CycleRecord, step: Step, seconds: float) -> None:
    record.binding_durations += [0.0] * (len(record.binding_steps) - len(record.binding_durations))
    record.binding_steps.append(step)
    record.binding_durations.append(seconds)


def conclude(held: Binding, reply: Reply) -> Refusal | None:
    """The answer to Bind is that plugin's step."""
    status = (SUCCESS if reply.ok else Error(reply.message)).by(held.bind_plugin)
    held.record.binding_steps.append(Step("Bind", held.bind_plugin, status))
    return None if reply.ok else refusal("Bind", status)


def answered(
    held: Binding, binder: Extender, reply: Reply
) -> Generator[Step, None, Refusal | None]:
    """What an extender says to a binding: done, not done, or nothing that counts."""
    if not isinstance(held.action, CallExtenders):
        raise TypeError("no extender was asked to bind")
    step = binder.bound(held.action.calls[0], reply.answers[0])
    _append_timed(held.record, step, reply.answers[0].seconds)
    yield step
    if step.status.code is Code.SKIP:
        return (yield from bind(held, is_asked=True))
    held.is_unconfirmed = step.status.is_success
    return None if held.is_unconfirmed else Refusal(Outcome.BIND_FAILED, step.status.message)


def timed_out(held: Binding) -> Refusal:
    """Nobody allowed the pod in time."""
    waited = duration(held.waits[held.waits_for])
    words = f"rejected due to timeout after waiting {waited} at plugin {held.waits_for}"
    return refusal("Permit", Unschedulable(words).by(held.waits_for))


def in_vain(held: Binding) -> Refusal:
    """The pod needs no binding any more."""
    what = "deleted" if held.is_gone else "bound by another"
    return Refusal(Outcome.ERROR, f"pod was {what} while it waited at {held.point}")


def refusal(point: str, status: Status) -> Refusal:
    """In upstream's words: a rejection counts as the one node's, an error names its plugin."""
    if status.is_rejected:
        message = fit_error(1, dict.fromkeys(status.reasons, 1))
        return Refusal(Outcome.UNSCHEDULABLE, message, frozenset({status.plugin}))
    words = f'running {point} plugin "{status.plugin}": {status.message}'
    return Refusal(Outcome.BIND_FAILED if point == "Bind" else Outcome.ERROR, words)


def duration(seconds: float) -> str:
    """As Go writes it: "10s", "1m30s", "500ms"."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return (
        (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{rest:g}s"
    )


def scheduled(record: CycleRecord) -> CreateEvent:
    note = f"Successfully assigned {record.pod.key} to {record.chosen}"
    return CreateEvent(record.pod, "Normal", "Scheduled", "Binding", note, record.scheduler_name)


def failed_scheduling(record: CycleRecord) -> CreateEvent:
    note = record.message
    in_bytes = note.encode(errors="replace")
    if len(in_bytes) > EVENT_NOTE_BYTES:
        note = in_bytes[: EVENT_NOTE_BYTES - 4].decode(errors="ignore") + " ..."
    return CreateEvent(
        record.pod, "Warning", "FailedScheduling", "Scheduling", note, record.scheduler_name
    )


def not_scheduled(record: CycleRecord, pod: Pod, nominated: str | None = None) -> PatchPodStatus:
    """The PodScheduled condition, as kube-scheduler writes it; it has been False since it first was. nominated: the new
    nominatedNodeName, None: as it is."""
    reason = "Unschedulable" if record.outcome is Outcome.UNSCHEDULABLE else "SchedulerError"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": record.message,
    }
    if pod.unscheduled_since:
        condition["lastTransitionTime"] = pod.unscheduled_since
    return PatchPodStatus(record.pod, condition, nominated)
