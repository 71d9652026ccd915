"""Pods that had others make room: their victims are asked to go, and they are held back while that is under way.

Owned by `scheduler`, which hands on what PostFilter decided and passes on Replies; answers with Moves and Effects.
Mirrors pkg/scheduler/framework/preemption/executor.go (v1.36): async preemption. More careful than upstream: a victim
is asked once, by whomever, and counts as on its way out before the watch shows it so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schedviz.kube.objects import Pod
from schedviz.scheduler.binding_cycles import NOT_FOUND, BindingCycles
from schedviz.scheduler.framework.interface import PostFilterResult
from schedviz.scheduler.framework.steps import (
    CreateEvent,
    CycleRecord,
    DeletePod,
    Output,
    PatchPodStatus,
    PodRef,
    Reply,
)
from schedviz.scheduler.queue import SchedulingQueue

PLUGIN = "DefaultPreemption"
CONFLICT = 409
"""Another pod has the victim's name by now."""


@dataclass(slots=True)
class Errand:
    """One preemptor's. asked: the victims by the id of the effect not answered yet; failure: what went wrong."""

    record: CycleRecord
    node_name: str
    asked: dict[int, PodRef] = field(default_factory=dict)
    failure: str = ""


class Preemptions:
    """As a container: the uids of pods whose victims are being asked to go."""

    def __init__(self, queue: SchedulingQueue, bindings: BindingCycles) -> None:
        self._queue = queue
        self._bindings = bindings
        self._errands: dict[str, Errand] = {}
        self._preemptor_of: dict[int, str] = {}
        self.leaving: set[str] = set()
        """Uids of victims that were asked to go and are still there."""

    def __contains__(self, uid: object) -> bool:
        return uid in self._errands

    def start(
        self, pod: Pod, after: PostFilterResult, record: CycleRecord, now: float
    ) -> list[Output]:
        """Ask the victims to go. Those on their way out are not asked again; when all are, nothing else happens."""
        fresh = [
            victim
            for victim in after.victims
            if victim.deletion_timestamp is None and victim.uid not in self.leaving
        ]
        if not fresh:
            return []
        errand = Errand(record, record.nominated_node_name)
        outputs = self._clear_lower(pod, errand)
        for victim in fresh:
            rejected = self._bindings.preempt(victim.uid, PLUGIN, now)
            if rejected is not None:
                outputs += rejected
                continue
            ref = PodRef.of(victim)
            effect = self._bindings.effect(record, DeletePod(ref, _condition(pod)))
            errand.asked[effect.id] = ref
            self._preemptor_of[effect.id] = pod.uid
            self.leaving.add(victim.uid)
            outputs.append(effect)
        if errand.asked:
            self._errands[pod.uid] = errand
        return outputs

    def replied(self, reply: Reply, now: float) -> list[Output]:
        """A victim's deletion was accepted or not; after the last one the preemptor may be tried again."""
        uid = self._preemptor_of.pop(reply.effect_id, "")
        errand = self._errands.get(uid)
        if errand is None:
            return []
        victim = errand.asked.pop(reply.effect_id)
        outputs: list[Output] = []
        if reply.ok and reply.status_code not in (NOT_FOUND, CONFLICT):
            outputs.append(self._bindings.effect(errand.record, _preempted(victim, errand)))
        elif not reply.ok and reply.status_code != NOT_FOUND:
            self.leaving.discard(victim.uid)
            errand.failure = errand.failure or f"preempting pod {victim.key}: {reply.message}"
        if errand.asked:
            return outputs
        del self._errands[uid]
        return [*outputs, *self._queue.preempted(uid, now, errand.failure)]

    def forget(self, uid: str) -> None:
        """This pod is gone, victim or preemptor."""
        self.leaving.discard(uid)

    def check_invariants(self) -> None:
        """Raises AssertionError when an unanswered effect belongs to nobody."""
        asked = {effect_id for errand in self._errands.values() for effect_id in errand.asked}
        assert asked == set(self._preemptor_of), "preemptors and their unanswered effects differ"
        assert all(errand.asked for errand in self._errands.values())

    def _clear_lower(self, pod: Pod, errand: Errand) -> list[Output]:
        """Less important pods that wait for this node may look for another."""
        nominator = self._queue.nominator
        outputs: list[Output] = []
        for other in nominator.lower_than(pod, errand.node_name):
            nominator.add(other, "")
            patch = PatchPodStatus(PodRef.of(other), None, "")
            outputs.append(self._bindings.effect(errand.record, patch))
        return outputs


def _condition(preemptor: Pod) -> dict[str, str]:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{preemptor.scheduler_name}: preempting to accommodate a higher priority pod",
    }


def _preempted(victim: PodRef, errand: Errand) -> CreateEvent:
    note = f"Preempted by pod {errand.record.pod.uid} on node {errand.node_name}"
    name = errand.record.scheduler_name
    return CreateEvent(victim, "Normal", "Preempted", "Preempting", note, name)
