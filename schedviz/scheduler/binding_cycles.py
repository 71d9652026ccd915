"""Every pod that has a node and is not bound yet: what it waits for, and what comes of it.

Owned by `scheduler`, which places pods here and passes on Changes, Replies and time; answers with Moves, Effects and
closed records. Mirrors bindingCycle and handleBindingCycleError of pkg/scheduler/schedule_one.go (v1.36).
"""

from __future__ import annotations

import math
from collections.abc import Generator

from schedviz.kube.objects import Pod
from schedviz.scheduler import binding
from schedviz.scheduler.binding import Binding, Bindings, Refusal, Waiting
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.framework.extending import Extender
from schedviz.scheduler.framework.status import Error, Status, Unschedulable
from schedviz.scheduler.framework.steps import (
    Action,
    Change,
    CycleRecord,
    Effect,
    Lane,
    Move,
    Outcome,
    Output,
    PatchPodStatus,
    Reply,
    Step,
)
from schedviz.scheduler.queue import SchedulingQueue
from schedviz.scheduler.views import Settled

NOT_FOUND = 404


class BindingCycles:
    """Numbers the session's effects, for it has most of them."""

    def __init__(self, queue: SchedulingQueue, cache: Cache, settled: Settled) -> None:
        self._queue = queue
        self._cache = cache
        self._settled = settled
        self._bindings = Bindings()
        self._next_effect = 1
        self._unheard: dict[str, CycleRecord] = {}  # by uid: Binds whose answer was lost

    def __len__(self) -> int:
        return len(self._bindings)

    def effect(self, record: CycleRecord, action: Action) -> Effect:
        effect = Effect(self._next_effect, record.number, action)
        self._next_effect += 1
        return effect

    def tell_failure(
        self, record: CycleRecord, pod: Pod, nominated: str | None = None
    ) -> list[Output]:
        """To whoever reads the pod's events and conditions. nominated: its new nominatedNodeName, None: as it is."""
        return [
            self.effect(record, binding.failed_scheduling(record)),
            self.effect(record, binding.not_scheduled(record, pod, nominated)),
        ]

    def check_invariants(self) -> None:
        for held in self._bindings:
            uid = held.pod.uid
            assert self._queue.lane(uid) is None, f"{held.pod.key} is queued and being bound"
            assert self._cache.holds(uid) or held.is_gone, f"{held.pod.key} is on no node"

    # ---- in --------------------------------------------------------------------------------------------------------

    def place(self, held: Binding, now: float) -> Generator[Step, None, list[Output]]:
        """Assume the pod on its node and begin to bind it."""
        record, uid = held.record, held.pod.uid
        self._queue.assume(uid)
        self._cache.assume_pod(held.pod, record.chosen)
        move = Move(now, record.pod, Lane.SCHEDULING, Lane.BINDING, "Assumed", record.chosen)
        held.placed_at = now
        self._settle(Lane.BINDING, held, now)
        refused = yield from binding.begin(held, now)
        told = [] if refused is not None else self._announce(held)
        if refused is None:
            told += self._activate(held, now)
        if refused is None and held.waits:
            self._hold(held)
            return [move, record, *told]
        outputs = self._went_on(held, refused, now)
        if told or not any(output is record for output in outputs):
            outputs = [record, *told, *outputs]  # it is kept before any effect is sent
        return [move, *outputs]

    def heed(self, change: Change, now: float) -> list[Output]:
        """A pod that is being bound may have changed."""
        outputs: list[Output] = []
        for one in (change.old, change.new):
            held = self._bindings.get(one.uid) if isinstance(one, Pod) else None
            if held is not None and isinstance(one, Pod):
                is_there = change.new is not None and change.new.uid == one.uid
                outputs += self._heed(held, one if is_there else None, now)
        return outputs

    def look_again(self, kind: str, now: float) -> list[Output]:
        """An object of this kind has changed: something that PreBind waits for may be true."""
        outputs: list[Output] = []
        for held in self._bindings.concerned(kind):
            outputs += self._look_at(self._bindings.take(held.pod.uid), now)
        return outputs

    def replied(self, reply: Reply, now: float) -> list[Output]:
        held = self._bindings.answered(reply.effect_id)
        if held is None:
            return []
        if held.waiting is not None:
            return self._acted(held, held.waiting, reply, now)
        if held.binder is not None:
            return self._answered(held, held.binder, reply, now)
        refused = binding.conclude(held, reply)
        if refused is None:
            return self._bound(held, now)
        held.is_gone = held.is_gone or reply.status_code == NOT_FOUND
        is_unheard = not reply.status_code and not held.is_gone
        if is_unheard and held.seen_on == held.record.chosen:
            return self._bound(held, now)
        if is_unheard:
            self._unheard[held.pod.uid] = held.record
        return self._give_up(held, now, refused)

    def preempt(self, uid: str, plugin: str, now: float) -> list[Output] | None:
        """Give up a pod that waits at Permit, for a more important one; None when it does not wait there."""
        held = self._bindings.get(uid)
        if held is None or not held.waits or not self._bindings.is_held(uid):
            return None
        return self.reject(uid, plugin, "preempted", now)

    def is_binding(self, uid: str) -> bool:
        return self._bindings.get(uid) is not None

    def waits_at_permit(self, uid: str) -> tuple[str, ...]:
        """The plugins that have not let it go yet."""
        held = self._bindings.get(uid)
        return () if held is None else tuple(held.waits)

    def allow(self, uid: str, plugin: str, by: str, now: float) -> list[Output]:
        """A pod that waits at Permit need not wait for this plugin any more; "": for none."""
        held = self._bindings.take(uid)
        plugins = (plugin,) if plugin else tuple(held.waits)
        move = _move(held, Lane.BINDING, now, "Command/allow", f"{', '.join(plugins)} by {by}")
        refused = _returned(binding.allowed(held, plugins, now))
        if held.waits:
            self._hold(held)
            return [move]
        return [move, *self._went_on(held, refused, now)]

    def reject(self, uid: str, plugin: str, words: str, now: float) -> list[Output]:
        """A pod that waits at Permit gives its node back."""
        why = binding.refusal("Permit", Unschedulable(words).by(plugin))
        return self._give_up(self._bindings.take(uid), now, why)

    def tick(self, now: float) -> list[Output]:
        """Who waited too long."""
        outputs: list[Output] = []
        for uid in self._bindings.overdue(now):
            held = self._bindings.take(uid)
            if held.waiting is not None:
                late = held.waiting.awaited.timed_out
                outputs += self._pre_bound(held, held.waiting, late, now)
            else:
                outputs += self._give_up(held, now, binding.timed_out(held))
        return outputs

    def next_due(self) -> float | None:
        return self._bindings.next_due()

    def seen_bound(self, pod: Pod) -> list[Output]:
        """The watch shows the pod on a node: perhaps it answers a Bind whose answer was lost. While another Bind to the
        same node is under way, that one's answer says which of them did it."""
        held = self._bindings.get(pod.uid)
        if held is not None and held.record.chosen == pod.node_name:
            return []
        return self._answered_by_watch(pod.uid, pod.node_name)

    def _answered_by_watch(self, uid: str, node_name: str) -> list[Output]:
        record = self._unheard.pop(uid, None)
        if record is None or record.chosen != node_name:
            return []
        record.outcome = Outcome.BOUND
        record.message = f"No answer to Bind; the watch showed the pod on {node_name}."
        return [record]

    def forget(self, uid: str) -> None:
        """The pod is gone: nothing more will be heard of its Bind."""
        self._unheard.pop(uid, None)

    # ---- on --------------------------------------------------------------------------------------------------------

    def _went_on(self, held: Binding, refused: Refusal | None, now: float) -> list[Output]:
        """It stands where something is needed, or at an end."""
        waiting = held.waiting
        if refused is not None:
            return self._give_up(held, now, refused)
        if waiting is None:
            self._queue.done(held.pod.uid)
        if waiting is None and held.action is None:
            return self._bound(held, now)
        action = held.action if waiting is None else waiting.next_action()
        if action is not None:
            if waiting is not None or held.pre_bound:
                self._settle(Lane.BINDING, held, held.placed_at, message=held.says)
            effect = self.effect(held.record, action)
            self._bindings.ask(held, effect.id)
            return [effect]
        if waiting is not None:
            held.deadline = now + waiting.awaited.timeout_seconds
        return self._look_at(held, now)

    def _announce(self, held: Binding) -> list[Output]:
        """A pod that will be bound later than at once is nominated to its node, so that others know
        (NominatedNodeNameForExpectation)."""
        is_later = bool(held.waits) or held.waiting is not None
        if not is_later or held.pod.nominated_node_name == held.record.chosen:
            return []
        held.is_nominated = True
        nominated = PatchPodStatus(held.record.pod, None, held.record.chosen)
        return [self.effect(held.record, nominated)]

    def _look_at(self, held: Binding, now: float) -> list[Output]:
        """Has come true what its PreBind plugin waits for?"""
        info = self._cache.node_info(held.pod.node_name)
        node = None if info is None else info.node
        if held.waiting is not None:
            said = binding.look(held, held.waiting, self._cache.listers, node)
            if said is not None:
                return self._pre_bound(held, held.waiting, said, now)
        self._hold(held)
        return []

    def _hold(self, held: Binding) -> None:
        self._bindings.hold(held)
        self._settle(Lane.BINDING, held, held.placed_at, message=held.says)

    def _pre_bound(
        self, held: Binding, waiting: Waiting, status: Status, now: float
    ) -> list[Output]:
        return self._went_on(held, _returned(binding.pre_bound(held, waiting, status, now)), now)

    def _acted(self, held: Binding, waiting: Waiting, reply: Reply, now: float) -> list[Output]:
        """One of a PreBind plugin's actions is answered."""
        if not reply.ok:
            return self._pre_bound(held, waiting, Error(reply.message), now)
        if held.is_gone or held.seen_on:
            return self._give_up(held, now, binding.in_vain(held))
        waiting.n_done += 1
        return self._went_on(held, None, now)

    def _answered(self, held: Binding, binder: Extender, reply: Reply, now: float) -> list[Output]:
        """By an extender that was asked to bind. What it says it did counts for the node; bound is the pod when the
        watch shows it, however long that takes."""
        refused = _returned(binding.answered(held, binder, reply))
        if not held.is_unconfirmed:
            if reply.answers[0].error and not held.is_gone:
                self._unheard[held.pod.uid] = held.record
            return self._went_on(held, refused, now)
        record = held.record
        if held.seen_on == record.chosen:
            return self._bound(held, now)
        if held.seen_on or held.is_gone:
            return self._give_up(held, now, binding.in_vain(held))
        held.finish()
        record.outcome, record.message = Outcome.BOUND, held.says
        held.deadline = math.inf
        self._hold(held)
        return [record, self.effect(record, binding.scheduled(record))]

    def _confirmed(self, held: Binding, now: float) -> list[Output]:
        """The watch has something to say of a pod that an extender says it bound."""
        record = held.record
        if held.is_gone or held.seen_on != record.chosen:
            return self._give_up(held, now, binding.in_vain(held))
        record.message = ""
        self._settle(Lane.BOUND, held, now)
        return [record, _move(held, Lane.BOUND, now, "Bound", record.chosen)]

    def _heed(self, held: Binding, pod: Pod | None, now: float) -> list[Output]:
        """None or on its way out: its binding is for nothing."""
        is_held = self._bindings.is_held(held.pod.uid)
        if pod is not None and pod.node_name and not pod.is_terminal:
            held.seen_on = pod.node_name
        elif held.seen_on:
            held.is_gone = True
            return [_move(held, Lane.BOUND, now, "AssignedPodAdd", held.seen_on)]
        elif pod is not None and not pod.is_terminal and pod.deletion_timestamp is None:
            held.queued.pod = pod
            return []
        elif held.is_gone:
            return []
        else:
            held.is_gone = True
            if not is_held:
                self._cache.forget_pod(held.pod.uid)
                return list(self._queue.move_all(binding.FREED, now, held.pod.key, old=held.pod))
        if not is_held:
            return []
        held = self._bindings.take(held.pod.uid)
        if held.is_unconfirmed:
            return self._confirmed(held, now)
        return self._give_up(held, now, binding.in_vain(held))

    # ---- ends ------------------------------------------------------------------------------------------------------

    def _bound(self, held: Binding, now: float) -> list[Output]:
        record = held.record
        self._unheard.pop(held.pod.uid, None)  # an earlier Bind did not do it
        self._cache.finish_binding(held.pod.uid, now)
        held.finish()
        record.outcome = Outcome.BOUND
        event = self.effect(record, binding.scheduled(record))
        if held.seen_on and held.is_gone:  # bound and deleted before the answer came
            return [record, event]
        self._settle(Lane.BOUND, held, now)
        move = _move(held, Lane.BOUND, now, "Bound", record.chosen)
        return [record, move, event, *self._activate(held, now)]

    def _activate(self, held: Binding, now: float) -> list[Output]:
        """The pods that a plugin named in this cycle are tried."""
        state = held.attempt.state
        named, state.pods_to_activate = state.pods_to_activate, set()
        return [*self._queue.activate(named, now, held.pod.key)] if named else []

    def _give_up(self, held: Binding, now: float, refused: Refusal) -> list[Output]:
        """Forget the assumption and let the pod try again, unless it is bound or gone by now."""
        record, queued, uid = held.record, held.queued, held.pod.uid
        held.release()
        is_assumed = self._cache.is_assumed(uid)
        if is_assumed:
            self._cache.forget_pod(uid)
        record.outcome, record.message = refused.outcome, refused.message
        moves: list[Output] = []
        told: list[Output] = []
        if not held.seen_on and not held.is_gone:
            queued.message, queued.unschedulable_plugins = refused.message, set(refused.plugins)
            moves += self._queue.add_unschedulable(queued, now, source=Lane.BINDING)
            is_known = held.is_nominated or self._queue.nominator.node_of(uid)
            self._queue.nominator.delete(uid)
            told += self.tell_failure(record, queued.pod, "" if is_known else None)
        else:
            self._queue.done(uid)
            moves += self._elsewhere(held, now)
        if is_assumed:  # what it frees is for the others
            moves += self._queue.move_all(
                binding.FREED, now, held.pod.key, old=held.pod, apart_from=uid
            )
        return [record, *moves, *told]

    def _elsewhere(self, held: Binding, now: float) -> list[Output]:
        """It is not this binding any more that says where the pod is."""
        if held.seen_on and held.is_gone:  # told already
            return []
        if held.is_gone:
            return [_move(held, Lane.GONE, now, "PodDelete")]
        self._settle(Lane.BOUND, held, now)
        told = self._answered_by_watch(held.pod.uid, held.seen_on)
        return [*told, _move(held, Lane.BOUND, now, "AssignedPodAdd", held.seen_on)]

    def _settle(self, lane: Lane, held: Binding, since: float, message: str = "") -> None:
        record = held.record
        more = {"attempts": record.attempt, "cycle": record.number, "message": message}
        if lane is Lane.BINDING and message:
            more["plugins"] = [*held.waits]
        self._settled.put(lane, record.pod, since, pod=held.pod, **more)


def _move(held: Binding, target: Lane, now: float, cause: str, detail: str = "") -> Move:
    return Move(now, held.record.pod, Lane.BINDING, target, cause, detail)


def _returned(steps: Generator[Step, None, Refusal | None]) -> Refusal | None:
    """What comes of these steps, which are in the record by themselves."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            refused: Refusal | None = end.value
            return refused
