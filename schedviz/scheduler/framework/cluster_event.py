"""What happens in a cluster that may make a pod schedulable: a resource and the kind of action on it.

Made by `event_handlers`, asked of plugins (`events_to_register`), matched by the queue. Mirrors
pkg/scheduler/framework/types.go ClusterEvent, ActionType and ClusterEventWithHint (v1.36).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from schedviz.kube.objects import KubeObject, Pod


class ActionType(enum.IntFlag):
    """Bits, so that a registration can name several."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATIONS = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_OTHER = enum.auto()
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATIONS
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE

    @property
    def title(self) -> str:
        """ "Add", "UpdateNodeTaint"; an update of no special part is "Update"."""
        if self is ActionType.UPDATE_OTHER:
            return "Update"
        return "".join(word.capitalize() for word in (self.name or "").split("_"))


PODS = {"AssignedPod": "Pod", "UnscheduledPod": "Pod"}


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """resource: a kind, or "AssignedPod" / "UnscheduledPod" for the two sorts of pods."""

    resource: str
    action: ActionType

    @property
    def label(self) -> str:
        return f"{self.resource}{self.action.title}"

    def matches(self, registered: ClusterEvent) -> bool:
        """Whether a plugin that registered for `registered` wants to hear of this event."""
        if registered.resource == "*":
            return True
        same = registered.resource in (self.resource, PODS.get(self.resource))
        return same and bool(self.action & registered.action)


Hint: TypeAlias = Callable[[Pod, KubeObject | None, KubeObject | None], bool]
"""hint(pod, old, new): whether this change may make the pod, which the plugin refused, schedulable. `old` None: added,
`new` None: deleted."""


@dataclass(frozen=True, slots=True)
class Hinted:
    """An event of which a plugin wants to hear only when its hint says that it may help. Mirrors
    ClusterEventWithHint: True is Queue, False is QueueSkip."""

    event: ClusterEvent
    may_help: Hint


Registration: TypeAlias = ClusterEvent | Hinted
"""What a plugin registers for: an event that always may help, or one with a hint."""


def event_of(registered: Registration) -> ClusterEvent:
    return registered.event if isinstance(registered, Hinted) else registered


def itself(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """A hint: it is the refused pod itself that changed."""
    return new is not None and new.uid == pod.uid


@dataclass(frozen=True, slots=True)
class Happening:
    """An event with what it happened to. detail: its name."""

    event: ClusterEvent
    detail: str = ""
    old: KubeObject | None = None
    new: KubeObject | None = None
