"""What happens in a cluster that may make a pod schedulable: a resource and the kind of action on it.

Made by `event_handlers`, asked of plugins (`events_to_register`), matched by the queue. Mirrors
pkg/scheduler/framework/types.go ClusterEvent and ActionType (v1.36).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
