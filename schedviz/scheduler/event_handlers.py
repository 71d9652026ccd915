"""What a Change means for the cache and the queue.

Called by `scheduler` for every Change; gives the Moves that follow. Mirrors pkg/scheduler/eventhandlers.go (v1.36).
Left out on purpose: kinds that no present plugin reads (they wake pods by their kind alone).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.node_info import QueuedPodInfo
from schedviz.scheduler.framework.steps import Change, Lane, Move, PodRef
from schedviz.scheduler.queue import SchedulingQueue

ASSIGNED_POD_ADD = ClusterEvent("AssignedPod", ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent("AssignedPod", ActionType.DELETE)


@dataclass(frozen=True, slots=True)
class World:
    """What Changes are applied to. is_ours: whether we schedule pods of this scheduler name; known: what a takeover
    remembers of a pod, or None."""

    cache: Cache
    queue: SchedulingQueue
    is_ours: Callable[[str], bool]
    known: Callable[[Pod], QueuedPodInfo | None]


def apply(change: Change, world: World, now: float) -> list[Move]:
    """Bring cache and queue up to date."""
    if change.kind == "Pod":
        return _pod(_as_pod(change.old), _as_pod(change.new), world, now)
    if change.kind == "Node":
        return _node(_as_node(change.old), _as_node(change.new), world, now)
    world.cache.listers.replace(change.old, change.new)
    one = change.new or change.old
    name = "" if one is None else one.key
    return world.queue.move_all(other_event(change), now, name, old=change.old, new=change.new)


def other_event(change: Change) -> ClusterEvent:
    if change.old is None:
        return ClusterEvent(change.kind, ActionType.ADD)
    return ClusterEvent(
        change.kind, ActionType.DELETE if change.new is None else ActionType.UPDATE_OTHER
    )


def node_events(old: Node, new: Node) -> list[ClusterEvent]:
    """What about the node changed; nothing that matters: empty."""
    changed = (
        (old.allocatable != new.allocatable, ActionType.UPDATE_NODE_ALLOCATABLE),
        (old.labels != new.labels, ActionType.UPDATE_NODE_LABEL),
        (
            old.taints != new.taints or (old.unschedulable and not new.unschedulable),
            ActionType.UPDATE_NODE_TAINT,
        ),
        (old.is_ready != new.is_ready, ActionType.UPDATE_NODE_CONDITION),
        (old.declared_features != new.declared_features, ActionType.UPDATE_NODE_DECLARED_FEATURE),
    )
    return [ClusterEvent("Node", action) for did, action in changed if did]


def pod_events(old: Pod, new: Pod) -> list[ClusterEvent]:
    """What about the pod changed that could help it or others; nothing special: an update like any other."""
    resource = "AssignedPod" if new.node_name else "UnscheduledPod"
    less = any(new.requests.get(name, 0) < n for name, n in old.requests.items())
    changed = (
        (old.labels != new.labels, ActionType.UPDATE_POD_LABEL),
        (less, ActionType.UPDATE_POD_SCALE_DOWN),
        (old.tolerations != new.tolerations, ActionType.UPDATE_POD_TOLERATIONS),
        (
            bool(old.scheduling_gates) and not new.scheduling_gates,
            ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        ),
    )
    actions = [action for did, action in changed if did]
    return [ClusterEvent(resource, action) for action in actions or [ActionType.UPDATE_OTHER]]


def _as_pod(one: KubeObject | None) -> Pod | None:
    return one if isinstance(one, Pod) else None


def _as_node(one: KubeObject | None) -> Node | None:
    return one if isinstance(one, Node) else None


def _node(old: Node | None, new: Node | None, world: World, now: float) -> list[Move]:
    if new is None:
        if old is None:
            return []
        world.cache.remove_node(old.name)
        event = ClusterEvent("Node", ActionType.DELETE)
        return world.queue.move_all(event, now, old.name, old=old)
    world.cache.set_node(new)
    events = [ClusterEvent("Node", ActionType.ADD)] if old is None else node_events(old, new)
    return [
        move
        for event in events
        for move in world.queue.move_all(event, now, new.name, old=old, new=new)
    ]


def _pod(old: Pod | None, new: Pod | None, world: World, now: float) -> list[Move]:
    if old is not None and new is not None and old.uid != new.uid:
        return [*_pod(old, None, world, now), *_pod(None, new, world, now)]
    if new is None or new.is_terminal:
        return _gone(new or old, world, now)
    if new.node_name:
        return _assigned(old, new, world, now)
    return _unassigned(old, new, world, now)


def _gone(pod: Pod | None, world: World, now: float) -> list[Move]:
    if pod is None:
        return []
    moves = world.queue.delete(pod.uid, now)
    if world.cache.holds(pod.uid) and not world.cache.is_assumed(pod.uid):
        world.cache.remove_pod(pod.uid)
        moves += world.queue.move_all(ASSIGNED_POD_DELETE, now, pod.key, old=pod)
        if world.is_ours(pod.scheduler_name):
            moves.append(Move(now, PodRef.of(pod), Lane.BOUND, Lane.GONE, "AssignedPodDelete"))
    return moves


def _assigned(old: Pod | None, new: Pod, world: World, now: float) -> list[Move]:
    """On a node: ours, another scheduler's, or put there by hand."""
    world.cache.add_pod(new)
    moves = world.queue.delete(
        new.uid, now, "AssignedPodAdd", target=Lane.BOUND, detail=new.node_name
    )
    if old is None or not old.node_name:
        return moves + world.queue.move_all(ASSIGNED_POD_ADD, now, new.key, new=new)
    for event in pod_events(old, new):
        moves += world.queue.move_all(event, now, new.key, old=old, new=new)
    return moves


def _unassigned(old: Pod | None, new: Pod, world: World, now: float) -> list[Move]:
    if not world.is_ours(new.scheduler_name) or world.cache.is_assumed(new.uid):
        return []
    if new.deletion_timestamp is not None:
        return world.queue.delete(new.uid, now)
    if world.queue.get(new.uid) is None:
        return world.queue.add(new, now, known=world.known(new))
    if old is not None and old.resource_version == new.resource_version != "":
        return []
    return world.queue.update(new, now, pod_events(old, new) if old is not None else ())
