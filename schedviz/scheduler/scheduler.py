"""The scheduler: in go Change, Command, Reply and time, out come Move, Effect, CommandResult and CycleRecord.

Driven by `session`: it applies what arrives, ticks, starts a cycle and drains it, and acts on the Effects. Mirrors
pkg/scheduler/scheduler.go and the binding half of schedule_one.go (v1.36). Same inputs, same outputs, byte for byte.
Nothing that arrives makes it raise: bad objects and unknown commands come back as Moves and CommandResults.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from schedviz.kube.objects import MalformedObject, Pod
from schedviz.scheduler import binding, commands, event_handlers, schedule_one, views
from schedviz.scheduler.binding import Binding, Bindings, Refusal
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.commands import Gate, Pause
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
from schedviz.scheduler.views import NodeView, PodView, Remembered, Settled

Output = Move | Effect | CommandResult | CycleRecord
NOT_FOUND = 404
OVERTAKEN = "The pod was deleted or bound by another while it was being scheduled."


class Scheduler:
    """profiles: by scheduler name, all with the same queue sort. first_cycle: number of the next cycle.
    assumed_ttl_seconds: how long a bound pod may stay unconfirmed by the watch; 0: for ever, as upstream."""

    def __init__(
        self,
        profiles: Mapping[str, Framework],
        *,
        seed: int = 0,
        first_cycle: int = 1,
        config: QueueConfig | None = None,
        assumed_ttl_seconds: float = 0.0,
        pause: Pause | None = None,
    ) -> None:
        if not profiles:
            raise ValueError("a scheduler needs at least one scheduler name")
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
        self._cache = Cache(ttl_seconds=assumed_ttl_seconds)
        self._rng = Rng(seed)
        self._next_cycle = first_cycle
        self._next_effect = 1
        self._remembered: dict[str, Remembered] = {}
        self._bindings = Bindings()
        self._gate = Gate(pause)
        self._unheard: dict[str, CycleRecord] = {}  # by uid: Binds whose answer was lost
        self._settled = Settled()
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
            return self._noted([*commands.obey(entry, self._queue, self._gate, now)])
        return self._replied(entry, now)

    def tick(self, now: float) -> list[Output]:
        """Time passed: backoffs that end, pods that waited too long, Permits that ran out."""
        outputs: list[Output] = list(self._queue.flush(now))
        for uid in self._bindings.overdue(now):
            held = self._bindings.take(uid)
            outputs += self._give_up(held, now, binding.timed_out(held))
        self._cache.expire(now)
        self._gate.expire(now)
        return self._noted(outputs)

    def next_due(self) -> float | None:
        """When `tick` next has something to do."""
        due = (
            self._queue.next_due(),
            self._bindings.next_due(),
            self._cache.next_due(),
            self._gate.next_due(),
        )
        return min((moment for moment in due if moment is not None), default=None)

    def start_cycle(self, now: float) -> Generator[Step, None, list[Output]] | None:
        """Pop the next pod and schedule it; None when none is due or all is paused. Its steps are yielded, its outputs
        returned."""
        popped = None if self._gate.pause else self._queue.pop(now)
        if popped is None:
            return None
        queued, move = popped
        return self._cycle(queued, move, now)

    # ---- out -------------------------------------------------------------------------------------------------------

    @property
    def pause(self) -> Pause | None:
        """Who paused it, when and why; None while it takes pods from the queue."""
        return self._gate.pause

    def drain_touched(self) -> tuple[set[str], set[str]]:
        """(uids of pods, names of nodes) changed since the last call. Views of settled pods end at the next one."""
        pods, self._queue.touched = self._queue.touched, set()
        nodes, self._cache.touched = self._cache.touched, set()
        return pods | self._settled.drain(), nodes

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
        counts[Lane.BINDING] = len(self._bindings)
        return counts

    def check_invariants(self) -> None:
        """Raises AssertionError when queue, cache and bindings contradict each other."""
        self._queue.check_invariants()
        self._cache.check_invariants()
        for held in self._bindings:
            uid = held.pod.uid
            assert self._queue.lane(uid) is None, f"{held.pod.key} is queued and being bound"
            assert self._cache.holds(uid) or held.is_gone, f"{held.pod.key} is on no node"

    # ---- changes ---------------------------------------------------------------------------------------------------

    def _changed(self, change: Change, now: float) -> list[Output]:
        if change.error is not None:
            return self._malformed(change, change.error, now)
        old, pod = change.old, change.new
        outputs: list[Output] = []
        for one in (old, pod):
            held = self._bindings.get(one.uid) if isinstance(one, Pod) else None
            if held is not None and isinstance(one, Pod):
                is_there = pod is not None and pod.uid == one.uid
                outputs += self._heed(held, one if is_there else None, now)
        queued = self._queue.get(pod.uid) if isinstance(pod, Pod) else None
        outputs += event_handlers.apply(change, self._world, now)
        if isinstance(pod, Pod) and pod.node_name and not pod.is_terminal:
            outputs += self._seen_assigned(pod, queued, now)
        elif pod is None and old is not None:
            self._unheard.pop(old.uid, None)
        return outputs

    def _heed(self, held: Binding, pod: Pod | None, now: float) -> list[Output]:
        """A pod that is being bound changed; None or on its way out: its binding is for nothing."""
        if pod is not None and pod.node_name and not pod.is_terminal:
            held.seen_on = pod.node_name
        elif held.seen_on:
            held.is_gone = True
            return [_move(held, Lane.BOUND, now, "AssignedPodAdd", held.seen_on)]
        elif pod is not None and not pod.is_terminal and pod.deletion_timestamp is None:
            held.queued.pod = pod
        elif not held.is_gone:
            held.is_gone = True
            if self._bindings.is_at_permit(held.pod.uid):
                why = Refusal(Outcome.ERROR, "pod was deleted while it waited at Permit")
                return self._give_up(self._bindings.take(held.pod.uid), now, why)
            self._cache.forget_pod(held.pod.uid)
            return list(self._queue.move_all(binding.FREED, now, held.pod.key))
        return []

    def _seen_assigned(self, pod: Pod, queued: QueuedPodInfo | None, now: float) -> list[Output]:
        """A pod of ours on its node, put there by another, by hand, or by a Bind whose answer we never got."""
        outputs: list[Output] = []
        ref = PodRef.of(pod)
        record = self._unheard.pop(pod.uid, None)
        if record is not None and record.chosen == pod.node_name:
            record.outcome = Outcome.BOUND
            record.message = f"No answer to Bind; the watch showed the pod on {pod.node_name}."
            outputs.append(record)
        if pod.uid in self._remembered:
            kept = self._remembered.pop(pod.uid)
            move = Move(now, ref, Lane.BINDING, Lane.BOUND, "AssignedPodAdd", pod.node_name)
            outputs.append(move)
            self._settled.put(Lane.BOUND, ref, now, pod=pod, attempts=kept.attempts)
        elif queued is not None:
            fields = {"attempts": queued.attempts, "cycle": queued.cycle}
            self._settled.put(Lane.BOUND, ref, now, pod=pod, **fields)
        return outputs

    def _malformed(self, change: Change, error: MalformedObject, now: float) -> list[Output]:
        """A pod that can't be read is shown with the reason and not scheduled; a bound one keeps its last good form."""
        if error.kind != "Pod":
            return []
        old = change.old
        pod = PodRef(error.namespace, error.name, error.uid)
        why = f"{error.field}: {error.message}"
        outputs: list[Output] = []
        if old is not None and (change.is_gone or old.uid != error.uid):
            outputs += self._changed(Change("Pod", old, None), now)
        if change.is_gone:
            is_told = any(isinstance(one, Move) and one.target is Lane.GONE for one in outputs)
            gone = Move(now, pod, Lane.MALFORMED, Lane.GONE, "PodDelete")
            return outputs if is_told else [*outputs, gone]
        moves = self._queue.delete(
            error.uid, now, "Malformed", target=Lane.MALFORMED, detail=why
        ) or [Move(now, pod, None, Lane.MALFORMED, "Malformed", why)]
        if not self._cache.holds(error.uid):
            outputs += moves
            self._settled.put(Lane.MALFORMED, pod, now, message=why)
        return outputs

    def _recall(self, pod: Pod) -> QueuedPodInfo | None:
        kept = self._remembered.pop(pod.uid, None)
        if kept is None:
            return None
        rank = kept.rank if kept.rank is not None else pod.creation_timestamp
        queued = QueuedPodInfo(pod, pod.creation_timestamp, rank, attempts=kept.attempts)
        queued.unschedulable_count, queued.moved_by = kept.attempts, kept.moved_by
        return queued

    # ---- the cycle -------------------------------------------------------------------------------------------------

    def _cycle(
        self, queued: QueuedPodInfo, popped: Move, now: float
    ) -> Generator[Step, None, list[Output]]:
        framework, pod = self._profiles[queued.pod.scheduler_name], queued.pod
        nodes = self._cache.update_snapshot()
        record = CycleRecord(
            number=self._next_cycle,
            pod=PodRef.of(pod),
            attempt=queued.attempts,
            priority=pod.priority,
            scheduler_name=framework.scheduler_name,
            started_at=now,
            node_names=nodes.names,
        )
        self._next_cycle += 1
        queued.cycle = record.number
        attempt = yield from schedule_one.scheduling_cycle(
            framework, pod, nodes, record=record, rng=self._rng
        )
        if self._queue.get(pod.uid) is not queued:
            record.outcome, record.message = Outcome.ERROR, OVERTAKEN
            return self._noted([popped, record])
        if not attempt.chosen:
            return self._noted([popped, record, *self._not_chosen(queued, attempt, now)])
        held = Binding(framework, queued, schedule_one.placed(pod, attempt.chosen), attempt)
        return self._noted([popped, *(yield from self._place(held, now))])

    def _not_chosen(self, queued: QueuedPodInfo, attempt: Attempt, now: float) -> list[Output]:
        queued.unschedulable_plugins = set(attempt.unschedulable_plugins)
        queued.message = attempt.record.message
        moves = self._queue.add_unschedulable(queued, now)
        return [*moves, *self._tell_failure(attempt.record)]

    def _tell_failure(self, record: CycleRecord) -> list[Output]:
        return [
            self._effect(record, binding.failed_scheduling(record)),
            self._effect(record, binding.not_scheduled(record)),
        ]

    # ---- the binding cycle -----------------------------------------------------------------------------------------

    def _place(self, held: Binding, now: float) -> Generator[Step, None, list[Output]]:
        """Assume the pod on its node and begin to bind it."""
        record, uid = held.record, held.pod.uid
        self._queue.assume(uid)
        self._cache.assume_pod(held.pod, record.chosen)
        move = Move(now, record.pod, Lane.SCHEDULING, Lane.BINDING, "Assumed", record.chosen)
        self._settle(Lane.BINDING, held, now)
        refused = yield from binding.begin(held, now)
        if refused is not None:
            return [move, *self._give_up(held, now, refused)]
        if held.waits_for:
            self._bindings.hold(held)
            return [move, record]
        self._queue.done(uid)
        if held.action is None:
            return [move, *self._bound(held, now)]
        effect = self._effect(record, held.action)
        self._bindings.ask(held, effect.id)
        return [move, record, effect]

    def _replied(self, reply: Reply, now: float) -> list[Output]:
        held = self._bindings.answered(reply.effect_id)
        if held is None:
            return []
        refused = binding.conclude(held, reply)
        if refused is None:
            return self._noted(self._bound(held, now))
        held.is_gone = held.is_gone or reply.status_code == NOT_FOUND
        is_unheard = not reply.status_code and not held.is_gone
        if is_unheard and held.seen_on == held.record.chosen:
            return self._noted(self._bound(held, now))
        if is_unheard:
            self._unheard[held.pod.uid] = held.record
        return self._noted(self._give_up(held, now, refused))

    def _bound(self, held: Binding, now: float) -> list[Output]:
        record = held.record
        self._cache.finish_binding(held.pod.uid, now)
        held.finish()
        record.outcome = Outcome.BOUND
        event = self._effect(record, binding.scheduled(record))
        if held.seen_on and held.is_gone:  # bound and deleted before the answer came
            return [record, event]
        self._settle(Lane.BOUND, held, now)
        return [record, _move(held, Lane.BOUND, now, "Bound", record.chosen), event]

    def _give_up(self, held: Binding, now: float, refused: Refusal) -> list[Output]:
        """Forget the assumption and let the pod try again, unless it is bound or gone by now."""
        record, queued, uid = held.record, held.queued, held.pod.uid
        held.release()
        freed: list[Output] = []
        if self._cache.is_assumed(uid):
            self._cache.forget_pod(uid)
            freed += self._queue.move_all(binding.FREED, now, held.pod.key)
        record.outcome, record.message = refused.outcome, refused.message
        if not held.seen_on and not held.is_gone:
            queued.message, queued.unschedulable_plugins = refused.message, set(refused.plugins)
            moves = self._queue.add_unschedulable(queued, now, source=Lane.BINDING)
            return [record, *freed, *moves, *self._tell_failure(record)]
        self._queue.done(uid)
        if held.seen_on and held.is_gone:  # told already
            return [record, *freed]
        if held.is_gone:
            return [record, _move(held, Lane.GONE, now, "PodDelete"), *freed]
        self._settle(Lane.BOUND, held, now)
        return [record, _move(held, Lane.BOUND, now, "AssignedPodAdd", held.seen_on), *freed]

    def _effect(
        self, record: CycleRecord, action: Bind | PatchPodStatus | CreateEvent | DeletePod
    ) -> Effect:
        effect = Effect(self._next_effect, record.number, action)
        self._next_effect += 1
        return effect

    def _noted(self, outputs: list[Output]) -> list[Output]:
        self._settled.note(outputs)
        return outputs

    def _settle(self, lane: Lane, held: Binding, now: float) -> None:
        record = held.record
        self._settled.put(
            lane, record.pod, now, pod=held.pod, attempts=record.attempt, cycle=record.number
        )


def _move(held: Binding, target: Lane, now: float, cause: str, detail: str = "") -> Move:
    return Move(now, held.record.pod, Lane.BINDING, target, cause, detail)
