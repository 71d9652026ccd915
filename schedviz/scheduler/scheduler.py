"""The scheduler: in go Change, Command, Reply and time, out come Move, Effect, CommandResult and CycleRecord.

Driven by `session`: it applies what arrives, ticks, starts a cycle and drains it, and acts on the Effects. Mirrors
pkg/scheduler/scheduler.go and the binding half of schedule_one.go (v1.36). Same inputs, same outputs, byte for byte.
Nothing that arrives makes it raise: bad objects and unknown commands come back as Moves and CommandResults.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from schedviz.kube.objects import Pod
from schedviz.scheduler import binding, commands, event_handlers, schedule_one, views
from schedviz.scheduler.binding import Binding
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.event_handlers import World
from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    Command,
    CommandResult,
    CreateEvent,
    CycleRecord,
    DeletePod,
    Effect,
    Lane,
    Move,
    Outcome,
    PatchPodStatus,
    PodRef,
    Reply,
    Step,
)
from schedviz.scheduler.queue import SchedulingQueue
from schedviz.scheduler.schedule_one import Attempt, Rng
from schedviz.scheduler.views import NodeView, PodView, Remembered

Output = Move | Effect | CommandResult | CycleRecord


class Scheduler:
    """profiles: by scheduler name, all with the same queue sort. first_cycle: number of the next cycle."""

    def __init__(
        self,
        profiles: Mapping[str, Framework],
        *,
        seed: int = 0,
        first_cycle: int = 1,
        config: QueueConfig | None = None,
    ) -> None:
        self._profiles = dict(profiles)
        first = next(iter(self._profiles.values()))
        self._queue = SchedulingQueue(
            queue_key=first.queue_key,
            pre_enqueue=lambda pod: self._profiles[pod.scheduler_name].pre_enqueue(pod),
            events_of={
                plugin.name: plugin.events_to_register()
                for profile in self._profiles.values()
                for plugin in profile.plugins.values()
            },
            config=config or QueueConfig(),
        )
        self._cache = Cache()
        self._rng = Rng(seed)
        self._next_cycle = first_cycle
        self._next_effect = 1
        self._remembered: dict[str, Remembered] = {}
        self._bindings: dict[int, Binding] = {}  # by the id of the awaited Bind
        self._waiting: dict[str, Binding] = {}  # by uid: held by Permit
        self._settled: dict[
            str, PodView
        ] = {}  # bound, malformed and gone pods, until they are drained
        self._touched: set[str] = set()
        self._world = World(
            self._cache, self._queue, self._profiles.__contains__, lambda pod: self._recall(pod)
        )

    # ---- in --------------------------------------------------------------------------------------------------------

    def restore(
        self, uid: str, *, attempts: int = 0, rank: float | None = None, moved_by: str = ""
    ) -> None:
        """Before the first Change: what is remembered of a waiting pod."""
        self._remembered[uid] = Remembered(attempts, rank, moved_by)

    def apply(self, entry: Change | Command | Reply, now: float) -> list[Output]:
        """Take in one entry of the inbox."""
        if isinstance(entry, Change):
            return self._noted(self._changed(entry, now))
        if isinstance(entry, Command):
            return self._noted([*commands.obey(entry, self._queue, now)])
        return self._replied(entry, now)

    def tick(self, now: float) -> list[Output]:
        """Time passed: backoffs that end, pods that waited too long, Permits that ran out."""
        outputs: list[Output] = list(self._queue.flush(now))
        for uid in [uid for uid, held in self._waiting.items() if held.deadline <= now]:
            held = self._waiting.pop(uid)
            why = f"rejected due to timeout after waiting {held.waited_seconds:g}s at plugin {held.waits_for}"
            outputs += self._give_up(held, now, why, outcome=Outcome.UNSCHEDULABLE)
        return self._noted(outputs)

    def next_due(self) -> float | None:
        """When `tick` next has something to do."""
        due = [held.deadline for held in self._waiting.values()]
        queue_due = self._queue.next_due()
        return min([*due, *([] if queue_due is None else [queue_due])], default=None)

    def start_cycle(self, now: float) -> Generator[Step, None, list[Output]] | None:
        """Pop the next pod and schedule it, or None when none is due. Its steps are yielded, its outputs returned."""
        popped = self._queue.pop(now)
        if popped is None:
            return None
        queued, move = popped
        return self._cycle(queued, move, now)

    # ---- out -------------------------------------------------------------------------------------------------------

    def drain_touched(self) -> tuple[set[str], set[str]]:
        """(uids of pods, names of nodes) changed since the last call. Views of settled pods end at the next one."""
        pods, self._touched = self._touched, set()
        nodes, self._cache.touched = self._cache.touched, set()
        for uid in [uid for uid in self._settled if uid not in pods]:
            del self._settled[uid]
        return pods, nodes

    def missing(self) -> list[str]:
        """Uids of remembered pods that have not arrived; after the first sync they are gone."""
        return list(self._remembered)

    def pod_view(self, uid: str) -> PodView | None:
        """The pod as the board shows it; a settled pod (bound, gone, malformed) until it was drained."""
        lane = self._queue.lane(uid)
        queued = self._queue.get(uid)
        if lane is not None and queued is not None:
            return views.of_queued(queued, lane)
        return self._settled.get(uid)

    def node_view(self, name: str) -> NodeView | None:
        info = self._cache.node_info(name)
        return None if info is None else views.of_node(info)

    def counts(self) -> dict[Lane, int]:
        """Pods by lane: the queue's and those being bound."""
        counts = self._queue.counts()
        counts[Lane.BINDING] = len(self._bindings) + len(self._waiting)
        return counts

    def check_invariants(self) -> None:
        """Raises AssertionError when queue, cache and bindings contradict each other."""
        self._queue.check_invariants()
        self._cache.check_invariants()
        for held in (*self._bindings.values(), *self._waiting.values()):
            assert self._queue.lane(held.pod.uid) is None, (
                f"{held.pod.key} is queued and being bound"
            )

    # ---- changes ---------------------------------------------------------------------------------------------------

    def _changed(self, change: Change, now: float) -> list[Output]:
        if change.error is not None:
            return self._malformed(change, now)
        moves: list[Output] = list(event_handlers.apply(change, self._world, now))
        pod = change.new
        if isinstance(pod, Pod) and pod.node_name and pod.uid in self._remembered:
            self._remembered.pop(pod.uid)
            self._settle(Lane.BOUND, PodRef.of(pod), now, pod=pod, node_name=pod.node_name)
            moves.append(
                Move(now, PodRef.of(pod), Lane.BINDING, Lane.BOUND, "AssignedPodAdd", pod.node_name)
            )
        return moves

    def _malformed(self, change: Change, now: float) -> list[Output]:
        """A pod that can't be read is shown with the reason and not scheduled; a bound one keeps its last good form."""
        error = change.error
        if error is None or error.kind != "Pod":
            return []
        moves: list[Output] = []
        if isinstance(change.old, Pod) and not self._cache.holds(change.old.uid):
            moves += self._queue.delete(change.old.uid, now, "Malformed")
        pod = PodRef(error.namespace, error.name, error.uid)
        if change.is_gone:
            return [*moves, Move(now, pod, Lane.MALFORMED, Lane.GONE, "PodDelete")]
        self._settle(Lane.MALFORMED, pod, now, message=f"{error.field}: {error.message}")
        moves.append(
            Move(now, pod, None, Lane.MALFORMED, "PodAdd", f"{error.field}: {error.message}")
        )
        return moves

    def _recall(self, pod: Pod) -> QueuedPodInfo | None:
        kept = self._remembered.pop(pod.uid, None)
        if kept is None:
            return None
        rank = kept.rank if kept.rank is not None else pod.creation_timestamp
        return QueuedPodInfo(
            pod, pod.creation_timestamp, rank, attempts=kept.attempts, moved_by=kept.moved_by
        )

    # ---- the cycle -------------------------------------------------------------------------------------------------

    def _cycle(
        self, queued: QueuedPodInfo, popped: Move, now: float
    ) -> Generator[Step, None, list[Output]]:
        framework = self._profiles[queued.pod.scheduler_name]
        nodes = self._cache.update_snapshot()
        record = CycleRecord(
            number=self._next_cycle,
            pod=PodRef.of(queued.pod),
            attempt=queued.attempts,
            priority=queued.pod.priority,
            scheduler_name=framework.scheduler_name,
            started_at=now,
            node_names=nodes.names,
        )
        self._next_cycle += 1
        queued.cycle = record.number
        outputs: list[Output] = [popped]
        attempt = yield from schedule_one.scheduling_cycle(
            framework, queued.pod, nodes, record=record, rng=self._rng
        )
        if not attempt.chosen:
            return self._noted(outputs + self._not_chosen(queued, attempt, now))
        return (yield from self._place(framework, queued, attempt, outputs, now))

    def _place(
        self,
        framework: Framework,
        queued: QueuedPodInfo,
        attempt: Attempt,
        outputs: list[Output],
        now: float,
    ) -> Generator[Step, None, list[Output]]:
        """Assume the pod on its node and begin to bind it."""
        record = attempt.record
        pod = schedule_one.placed(queued.pod, attempt.chosen)
        self._queue.assume(pod.uid)
        self._queue.done(pod.uid)
        self._cache.assume_pod(pod, attempt.chosen)
        held = Binding(framework, queued, pod, attempt)
        outputs.append(
            Move(now, record.pod, Lane.SCHEDULING, Lane.BINDING, "Assumed", attempt.chosen)
        )
        self._settle(
            Lane.BINDING,
            record.pod,
            now,
            pod=pod,
            node_name=pod.node_name,
            attempts=record.attempt,
            cycle=record.number,
        )
        refusal = yield from binding.begin(held, now)
        if refusal is not None:
            return self._noted(
                outputs + self._give_up(held, now, refusal.message, outcome=Outcome.ERROR)
            )
        outputs.append(record)
        if held.waits_for:
            self._waiting[pod.uid] = held
        elif held.action is not None:
            outputs.append(self._await(held, held.action))
        else:
            outputs += self._bound(held, now)
        return self._noted(outputs)

    def _not_chosen(self, queued: QueuedPodInfo, attempt: Attempt, now: float) -> list[Output]:
        record = attempt.record
        queued.unschedulable_plugins = set(attempt.unschedulable_plugins)
        queued.message = record.message
        moves = self._queue.add_unschedulable(queued, now)
        return [record, *moves, *self._tell_failure(record, queued.pod)]

    def _tell_failure(self, record: CycleRecord, pod: Pod) -> list[Output]:
        """The PodScheduled condition and the FailedScheduling event, as kube-scheduler writes them."""
        reason = "SchedulerError" if record.outcome is Outcome.ERROR else "Unschedulable"
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": record.message,
        }
        note = record.message if len(record.message) <= 1024 else record.message[:1020] + " ..."
        event = CreateEvent(
            record.pod, "Warning", "FailedScheduling", "Scheduling", note, record.scheduler_name
        )
        return [
            self._effect(record, event),
            self._effect(record, PatchPodStatus(record.pod, condition)),
        ]

    def _await(self, held: Binding, action: Bind) -> Effect:
        effect = self._effect(held.record, action)
        self._bindings[effect.id] = held
        return effect

    def _replied(self, reply: Reply, now: float) -> list[Output]:
        held = self._bindings.pop(reply.effect_id, None)
        if held is None:
            return []
        binding.conclude(held, reply)
        if reply.ok:
            return self._noted(self._bound(held, now))
        return self._noted(
            self._give_up(
                held, now, reply.message, outcome=Outcome.BIND_FAILED, gone=reply.status_code == 404
            )
        )

    def _bound(self, held: Binding, now: float) -> list[Output]:
        record, pod = held.record, held.pod
        self._cache.finish_binding(pod.uid, now)
        held.finish()
        record.outcome = Outcome.BOUND
        note = f"Successfully assigned {pod.key} to {pod.node_name}"
        event = CreateEvent(
            record.pod, "Normal", "Scheduled", "Binding", note, record.scheduler_name
        )
        self._settle(
            Lane.BOUND,
            record.pod,
            now,
            pod=pod,
            node_name=pod.node_name,
            attempts=record.attempt,
            cycle=record.number,
        )
        return [
            record,
            Move(now, record.pod, Lane.BINDING, Lane.BOUND, "Bound", pod.node_name),
            self._effect(record, event),
        ]

    def _give_up(
        self, held: Binding, now: float, why: str, *, outcome: Outcome, gone: bool = False
    ) -> list[Output]:
        """Forget the assumption and let the pod try again, unless it is bound or gone by now."""
        record, queued = held.record, held.queued
        held.release()
        was_assumed = self._cache.is_assumed(held.pod.uid)
        self._cache.forget_pod(held.pod.uid)
        record.outcome, record.message = outcome, why
        if not was_assumed:  # the watch has seen it bound, by whomever
            self._settle(
                Lane.BOUND,
                record.pod,
                now,
                pod=held.pod,
                node_name=held.pod.node_name,
                cycle=record.number,
            )
            return [
                record,
                Move(
                    now, record.pod, Lane.BINDING, Lane.BOUND, "AssignedPodAdd", "bound by another"
                ),
            ]
        moves: list[Output] = list(self._queue.move_all(binding.FREED, now, held.pod.key))
        if gone:
            self._settle(Lane.GONE, record.pod, now, pod=held.pod)
            return [record, Move(now, record.pod, Lane.BINDING, Lane.GONE, "PodDelete"), *moves]
        queued.message = why
        queued.unschedulable_plugins = set(held.rejected_by)
        return [
            record,
            *self._queue.add_unschedulable(queued, now, source=Lane.BINDING),
            *moves,
            *self._tell_failure(record, queued.pod),
        ]

    def _effect(
        self, record: CycleRecord, action: Bind | PatchPodStatus | CreateEvent | DeletePod
    ) -> Effect:
        effect = Effect(self._next_effect, record.number, action)
        self._next_effect += 1
        return effect

    def _settle(
        self, lane: Lane, pod_ref: PodRef, now: float, *, pod: Pod | None = None, **fields: Any
    ) -> None:
        view = PodView(pod_ref.uid, pod_ref.namespace, pod_ref.name, lane, since=now, **fields)
        if pod is not None:
            view.priority, view.created_at = pod.priority, pod.creation_timestamp
        self._settled[pod_ref.uid] = view
        self._touched.add(pod_ref.uid)

    def _noted(self, outputs: list[Output]) -> list[Output]:
        """Remember which pods the board must be told of."""
        for output in outputs:
            if not isinstance(output, Move):
                continue
            uid = output.pod.uid
            self._touched.add(uid)
            if output.target is Lane.GONE:
                self._settle(Lane.GONE, output.pod, output.at)
        return outputs
