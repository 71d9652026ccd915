"""What tests of the queue share: a queue as the default profile has it, and a pod brought to a lane."""

from __future__ import annotations

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent, event_of
from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.steps import Lane, Move
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.queue import SchedulingQueue

FIT = "NodeResourcesFit"
TAINTS = "TaintToleration"
NODE_ADD = ClusterEvent("Node", ActionType.ADD)
NODE_TAINT = ClusterEvent("Node", ActionType.UPDATE_NODE_TAINT)
POD_DELETE = ClusterEvent("AssignedPod", ActionType.DELETE)
POD_ADD = ClusterEvent("AssignedPod", ActionType.ADD)


def queue(config: QueueConfig | None = None) -> SchedulingQueue:
    """The default plugins' registrations without their hints: an event that one registered for always helps."""
    profile = default_profile()
    return SchedulingQueue(
        queue_key=profile.queue_key,
        pre_enqueue=profile.pre_enqueue,
        registrations={
            profile.scheduler_name: {
                name: tuple(map(event_of, one.events_to_register()))
                for name, one in profile.plugins.items()
            }
        },
        config=config or QueueConfig(),
    )


def popped(of: SchedulingQueue, now: float) -> QueuedPodInfo:
    found = of.pop(now)
    assert found is not None, "nothing to pop"
    return found[0]


def reject(of: SchedulingQueue, queued: QueuedPodInfo, now: float, plugin: str = FIT) -> list[Move]:
    """The attempt ends with this plugin's refusal; "": with an error."""
    queued.unschedulable_plugins = {plugin} - {""}
    return of.add_unschedulable(queued, now)


def bring(of: SchedulingQueue, pod: Pod, lane: Lane, now: float = 0.0) -> QueuedPodInfo:
    """A new pod, walked to a lane."""
    of.add(pod, now)
    if lane in (Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.SCHEDULING):
        queued = popped(of, now)
        assert queued.uid == pod.uid
        if lane is not Lane.SCHEDULING:
            reject(of, queued, now, FIT if lane is Lane.UNSCHEDULABLE else "")
    assert of.lane(pod.uid) is lane
    of.check_invariants()
    found = of.get(pod.uid)
    assert found is not None
    return found
