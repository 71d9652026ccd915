"""The binding cycle: Reserve, Permit, PreBind and Bind of a pod that has its node, until the world answers.

Begun and concluded by `scheduler`. Mirrors the binding cycle of pkg/scheduler/schedule_one.go (v1.36); instead of a
goroutine, a Binding waits for its Reply.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.status import SUCCESS, Error, Status
from schedviz.scheduler.framework.steps import Bind, CycleRecord, Reply, Step
from schedviz.scheduler.schedule_one import Attempt, kept

FREED = ClusterEvent("AssignedPod", ActionType.DELETE)
"""A forgotten assumption frees room like a deleted pod, as upstream has it."""


@dataclass(slots=True, eq=False)
class Binding:
    """A pod with a chosen node. waits_for: the Permit plugins that hold it; action: what the world is asked to do."""

    framework: Framework
    queued: QueuedPodInfo
    pod: Pod
    attempt: Attempt
    action: Bind | None = None
    bind_plugin: str = ""
    waits_for: str = ""
    waited_seconds: float = 0.0
    deadline: float = 0.0
    rejected_by: set[str] = field(default_factory=set)

    @property
    def record(self) -> CycleRecord:
        return self.attempt.record

    def release(self) -> None:
        """Undo Reserve."""
        self.framework.run_unreserve(self.attempt.state, self.pod, self.pod.node_name)

    def finish(self) -> None:
        """PostBind: told, not asked."""
        steps = self.framework.run_post_bind(self.attempt.state, self.pod, self.pod.node_name)
        self.record.binding_steps.extend(steps)


def begin(held: Binding, now: float) -> Generator[Step, None, Status | None]:
    """Reserve and Permit, then PreBind and Bind as far as they need no answer. A refusal is returned."""
    framework, state, pod = held.framework, held.attempt.state, held.pod
    steps = held.record.steps
    status = yield from kept(framework.run_reserve(state, pod, pod.node_name), steps)
    if not status.is_success:
        return _refusal(held, status)
    status, waits = yield from kept(framework.run_permit(state, pod, pod.node_name), steps)
    if waits:
        held.waits_for = ", ".join(waits)
        held.waited_seconds = min(waits.values())
        held.deadline = now + held.waited_seconds
        held.rejected_by = set(waits)
        return None
    if not status.is_success:
        return _refusal(held, status)
    steps = held.record.binding_steps
    status = yield from kept(framework.run_pre_bind(state, pod, pod.node_name), steps)
    if not status.is_success:
        return _refusal(held, status)
    verdict = yield from kept(framework.run_bind(state, pod, pod.node_name), steps)
    held.action, held.bind_plugin = verdict.action, verdict.plugin
    return None if verdict.status.is_success else _refusal(held, verdict.status)


def conclude(held: Binding, reply: Reply) -> None:
    """The answer to Bind is that plugin's step."""
    status = SUCCESS if reply.ok else Error(reply.message)
    held.record.binding_steps.append(Step("Bind", held.bind_plugin, status.by(held.bind_plugin)))


def _refusal(held: Binding, status: Status) -> Status:
    if status.is_rejected:
        held.rejected_by = {status.plugin}
    return status
