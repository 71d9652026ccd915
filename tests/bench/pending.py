"""What the scheduling queue costs with 50,000 pending pods, in microseconds for one pod or one event."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.node_info import QueueConfig
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.queue import SchedulingQueue
from tests.make import pod

N, SOME = 50_000, 1000
PLUGIN = "NodeAffinity"


def _queue() -> SchedulingQueue:
    profile = default_profile()
    registrations = {name: one.events_to_register() for name, one in profile.plugins.items()}
    return SchedulingQueue(
        queue_key=profile.queue_key,
        pre_enqueue=profile.pre_enqueue,
        registrations={profile.scheduler_name: registrations},
        config=QueueConfig(),
    )


@functools.cache
def measure() -> dict[str, float]:
    queue = _queue()
    pods = [pod(f"p{n}", nodeSelector={"disk": "ssd"}, priority=n % 5) for n in range(N)]
    some, event = pods[:SOME], ClusterEvent("AssignedPod", ActionType.DELETE)
    return {
        "pending": N,
        "add_us": _each(lambda one: queue.add(one, 1.0), pods),
        "move_us": _each(lambda one: queue.move(one.uid, 5000, "bench", 2.0), some),
        "pop_us": _each(lambda _: _refuse(queue), pods),
        "wake_us": _each(lambda one: queue.retry(one.uid, 4.0, "bench"), some),
        "event_us": _each(lambda _: queue.move_all(event, 5.0, "a pod"), some),
    }


def _refuse(queue: SchedulingQueue) -> None:
    """Pop the next pod; NodeAffinity refuses it."""
    popped = queue.pop(3.0)
    assert popped is not None
    popped[0].unschedulable_plugins = {PLUGIN}
    queue.add_unschedulable(popped[0], 3.0)


def _each(do: Callable[[Pod], object], pods: Iterable[Pod]) -> float:
    began, n = time.perf_counter(), 0
    for one in pods:
        do(one)
        n += 1
    return round((time.perf_counter() - began) / n * 1e6, 1)
