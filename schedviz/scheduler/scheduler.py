"""The scheduler: in go Change, Command, Reply and time, out come Move, Effect, CommandResult and CycleRecord.

Driven by `session`: it applies what arrives, ticks, starts a cycle and drains it, and acts on the Effects. Mirrors
pkg/scheduler/scheduler.go (v1.36); pods that have their node are handed to `binding_cycles`. Same inputs, same outputs,
byte for byte. Nothing that arrives makes it raise: bad objects and unknown commands come back as Moves and
CommandResults.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from schedviz.kube.objects import MalformedObject, Pod
from schedviz.scheduler import commands, event_handlers, schedule_one, views
from schedviz.scheduler.binding import Binding
from schedviz.scheduler.binding_cycles import BindingCycles
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.commands import Gate, Hands, Pause
from schedviz.scheduler.event_handlers import World
from schedviz.scheduler.extender import EXTENDER_NAME
from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.rng import Rng
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import (
    CallExtenders,
    Change,
    Command,
    Cycle,
    CycleRecord,
    Lane,
    Move,
    Outcome,
    Output,
    PodRef,
    Reply,
)
from schedviz.scheduler.preemptions import Preemptions
from schedviz.scheduler.queue import SchedulingQueue
from schedviz.scheduler.schedule_one import Attempt
from schedviz.scheduler.views import NodeView, PodView, Remembered, Settled

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
            registrations={
                name: {one.name: one.events_to_register() for one in profile.plugins.values()}
                | ({EXTENDER_NAME: ()} if profile.extenders else {})
                for name, profile in self._profiles.items()
            },
            config=config or QueueConfig(),
        )
        self._cache = Cache(ttl_seconds=assumed_ttl_seconds)
        self._rng = Rng(seed)
        self._next_cycle = first_cycle
        self._remembered: dict[str, Remembered] = {}
        self._gate = Gate(pause)
        self.is_synced = False
        """Set by whoever drives it when the first lists are in: what comes with a node from then on is news."""
        self._settled = Settled()
        self._unreadable: set[str] = set()
        self._bindings = BindingCycles(self._queue, self._cache, self._settled)
        self._hands = Hands(self._queue, self._gate, self._bindings)
        self._preemptions = Preemptions(self._queue, self._bindings)
        for profile in self._profiles.values():
            profile.nominated = self._queue.nominator.by_node
            profile.preempting, profile.leaving = self._preemptions, self._preemptions.leaving
            profile.rng = self._rng
        self._world = World(
            self._cache, self._queue, self._profiles.__contains__, lambda pod: self._recall(pod)
        )

    # ---- in --------------------------------------------------------------------------------------------------------

    def restore(self, uid: str, kept: Remembered) -> None:
        """Before the first Change: what is remembered of a waiting pod."""
        self._remembered[uid] = kept

    def apply(self, entry: Change | Command | Reply, now: float) -> list[Output]:
        """Take in one entry of the inbox."""
        if isinstance(entry, Change):
            return self._noted(self._changed(entry, now))
        if isinstance(entry, Command):
            return self._noted(commands.obey(entry, self._hands, now))
        answered = [*self._bindings.replied(entry, now), *self._preemptions.replied(entry, now)]
        return self._noted(answered)

    def tick(self, now: float) -> list[Output]:
        """Time passed: backoffs that end, pods that waited too long, in the queue or for their binding."""
        outputs = [*self._queue.flush(now), *self._bindings.tick(now)]
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

    def start_cycle(self, now: float) -> Cycle[list[Output]] | None:
        """Pop the next pod and schedule it; None when none is due or all is paused. Its steps are yielded, its outputs
        returned. An Effect that is yielded is carried out at once, and its Reply sent in: extenders are asked so."""
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

    @property
    def has_extenders(self) -> bool:
        """Then pods and nodes must keep the JSON that they came as."""
        return any(profile.extenders for profile in self._profiles.values())

    def drain_touched(self) -> tuple[set[str], set[str]]:
        """(uids of pods, names of nodes) changed since the last call. Views of settled pods end at the next one."""
        pods, self._queue.touched = self._queue.touched, set()
        nodes, self._cache.touched = self._cache.touched, set()
        nominator = self._queue.nominator
        nodes, nominator.touched = nodes | nominator.touched, set()
        return pods | self._settled.drain(), nodes

    def knows(self, uid: str) -> bool:
        """Whether the pod is there, readable or not; after the first sync, what is not known is gone."""
        is_placed = self._queue.get(uid) is not None or self._cache.holds(uid)
        return is_placed or uid in self._unreadable

    def pod_view(self, uid: str) -> PodView | None:
        """The pod as the board shows it; a settled pod (bound, gone, malformed) until it was drained."""
        lane = self._queue.lane(uid)
        queued = self._queue.get(uid)
        if lane is not None and queued is not None:
            return views.of_queued(queued, lane)
        return self._settled.get(uid)

    def node_view(self, name: str) -> NodeView | None:
        info = self._cache.node_info(name)
        nominated = self._queue.nominator.by_node.get(name, {})
        return None if info is None else views.of_node(info, nominated.values())

    def counts(self) -> dict[Lane, int]:
        """Pods by lane: the queue's and those being bound."""
        counts = self._queue.counts()
        counts[Lane.BINDING] = len(self._bindings)
        return counts

    def check_invariants(self) -> None:
        """Raises AssertionError when queue, cache and bindings contradict each other."""
        self._queue.check_invariants()
        self._cache.check_invariants()
        self._bindings.check_invariants()
        self._preemptions.check_invariants()

    # ---- changes ---------------------------------------------------------------------------------------------------

    def _changed(self, change: Change, now: float) -> list[Output]:
        if change.error is not None:
            return self._malformed(change, change.error, now)
        old, pod = change.old, change.new
        source = None
        if pod is not None and pod.uid in self._unreadable:
            self._unreadable.discard(pod.uid)
            source = Lane.MALFORMED
        outputs = self._bindings.heed(change, now)
        queued = self._queue.get(pod.uid) if isinstance(pod, Pod) else None
        is_known = pod is not None and self._cache.holds(pod.uid)
        outputs += event_handlers.apply(change, self._world, now)
        outputs += self._bindings.look_again(change.kind, now)
        if isinstance(pod, Pod) and pod.node_name and not pod.is_terminal:
            outputs += self._seen_assigned(pod, source, queued, now)
            if self.is_synced and queued is None and not is_known:
                outputs += self._came_placed(pod, source, now)
        elif pod is None and old is not None:
            self._bindings.forget(old.uid)
            self._preemptions.forget(old.uid)
        return outputs

    def _seen_assigned(
        self, pod: Pod, source: Lane | None, queued: QueuedPodInfo | None, now: float
    ) -> list[Output]:
        """A pod of ours on its node, put there by another, by hand, or by a Bind whose answer we never got. source:
        where it is said to be, when that is known."""
        outputs = self._bindings.seen_bound(pod)
        ref = PodRef.of(pod)
        if pod.uid in self._remembered:
            kept = self._remembered.pop(pod.uid)
            source = source or Lane.BINDING
            outputs.append(Move(now, ref, source, Lane.BOUND, "AssignedPodAdd", pod.node_name))
            self._settled.put(Lane.BOUND, ref, now, pod=pod, attempts=kept.attempts)
        elif queued is not None:
            fields = {"attempts": queued.attempts, "cycle": queued.cycle}
            self._settled.put(Lane.BOUND, ref, now, pod=pod, **fields)
        return outputs

    def _came_placed(self, pod: Pod, source: Lane | None, now: float) -> list[Output]:
        """A pod that has had its node from the beginning: nobody asked us, and nothing was checked."""
        is_ours = pod.scheduler_name in self._profiles
        told = self._settled.get(pod.uid)
        if not is_ours or (told is not None and told.lane is Lane.BOUND):
            return []
        ref = PodRef.of(pod)
        self._settled.put(Lane.BOUND, ref, now, pod=pod)
        return [Move(now, ref, source, Lane.BOUND, "CamePlaced", pod.node_name)]

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
        self._unreadable.add(error.uid)
        if change.is_gone:
            self._unreadable.discard(error.uid)
            self._remembered.pop(error.uid, None)
            is_told = any(isinstance(one, Move) and one.target is Lane.GONE for one in outputs)
            gone = Move(now, pod, Lane.MALFORMED, Lane.GONE, "PodDelete")
            return outputs if is_told else [*outputs, gone]
        queued = self._queue.get(error.uid)
        if queued is not None:  # a hold, for one, is not over when the pod can be read again
            self._remembered[error.uid] = Remembered.of(queued)
        kept = self._remembered.get(error.uid, Remembered())
        moves = self._queue.delete(
            error.uid, now, "Malformed", target=Lane.MALFORMED, detail=why
        ) or [Move(now, pod, None, Lane.MALFORMED, "Malformed", why)]
        if not self._cache.holds(error.uid):
            outputs += moves
            self._settled.put(Lane.MALFORMED, pod, now, message=why, **kept.as_view())
        return outputs

    def _recall(self, pod: Pod) -> QueuedPodInfo | None:
        kept = self._remembered.pop(pod.uid, None)
        if kept is None:
            return None
        return kept.queued(pod)

    # ---- the cycle -------------------------------------------------------------------------------------------------

    def _cycle(self, queued: QueuedPodInfo, popped: Move, now: float) -> Cycle[list[Output]]:
        framework = self._profiles[queued.pod.scheduler_name]
        pod = nominated(queued.pod, self._queue.nominator.node_of(queued.uid))
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
        cycle = schedule_one.scheduling_cycle(framework, pod, nodes, record=record, rng=self._rng)
        attempt = yield from self._numbered(record, cycle) if framework.extenders else cycle
        if self._queue.get(pod.uid) is not queued:
            record.outcome, record.message = Outcome.ERROR, OVERTAKEN
            return self._noted([popped, record])
        if not attempt.chosen:
            return self._noted([popped, record, *self._not_chosen(queued, attempt, now)])
        held = Binding(framework, queued, schedule_one.placed(pod, attempt.chosen), attempt)
        return self._noted([popped, *(yield from self._bindings.place(held, now))])

    def _numbered(self, record: CycleRecord, cycle: Cycle[Attempt]) -> Cycle[Attempt]:
        """What it asks of extenders becomes an Effect."""
        sent = None
        while True:
            try:
                one = cycle.send(sent)
            except StopIteration as end:
                attempt: Attempt = end.value
                return attempt
            if isinstance(one, CallExtenders):
                one = self._bindings.effect(record, one)
            sent = yield one

    def _not_chosen(self, queued: QueuedPodInfo, attempt: Attempt, now: float) -> list[Output]:
        """The nomination first, and the victims: an event that comes meanwhile must find the pod held back."""
        record, after = attempt.record, attempt.after
        name, asked = None if after is None else after.nominated_node_name, []
        if after is not None and name is not None:
            known = {queued.pod.nominated_node_name, self._queue.nominator.node_of(queued.uid)}
            self._queue.nominator.add(queued.pod, name)
            asked = self._preemptions.start(queued.pod, after, record, now)
            name = None if known == {name} else name
        queued.unschedulable_plugins = set(attempt.unschedulable_plugins)
        queued.message = record.message
        moves = self._queue.add_unschedulable(queued, now)
        return [*moves, *self._bindings.tell_failure(record, queued.pod, name), *asked]

    def _noted(self, outputs: list[Output]) -> list[Output]:
        self._settled.note(outputs)
        return outputs


def nominated(pod: Pod, node_name: str) -> Pod:
    """The pod with the nomination that we know of, though the watch may not have shown it yet."""
    if pod.nominated_node_name == node_name:
        return pod
    other = copy.copy(pod)
    other.nominated_node_name = node_name
    return other
