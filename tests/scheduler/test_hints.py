"""QueueingHints: an event wakes a pod only when a plugin that refused it says that the event may help."""

from __future__ import annotations

import pytest

from schedviz.kube.objects import Node
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent, Hinted
from schedviz.scheduler.framework.node_info import QueueConfig
from schedviz.scheduler.framework.status import SUCCESS
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.queue import SchedulingQueue
from tests.make import node, pod
from tests.scheduler.waiting import NODE_ADD, popped, reject

LABEL = ClusterEvent("Node", ActionType.UPDATE_NODE_LABEL)


def is_ssd(pod, old, new):
    """May help when the node has become one with an SSD."""
    return isinstance(new, Node) and new.labels.get("disk") == "ssd"


def broken(pod, old, new):
    raise KeyError("oops")


NODE_CHANGE = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
SSD = node("n1", labels={"disk": "ssd"})
HDD = node("n1", labels={"disk": "hdd"})


def queue(**plugins) -> SchedulingQueue:
    """plugins: what each one registered for."""
    return SchedulingQueue(
        queue_key=lambda queued: queued.rank,
        pre_enqueue=lambda pod: SUCCESS,
        registrations={"default-scheduler": plugins, "other": {}},
        config=QueueConfig(),
    )


def refused(of: SchedulingQueue, *plugins: str, name: str = "p") -> None:
    of.add(pod(name), 0.0)
    queued = popped(of, 0.0)
    queued.unschedulable_plugins = set(plugins)
    of.add_unschedulable(queued, 0.0)


@pytest.mark.parametrize(
    ("registered", "by", "woken_by"),
    [
        pytest.param({"A": (Hinted(NODE_CHANGE, is_ssd),)}, "A", "A", id="its hint says yes"),
        pytest.param(
            {"A": (Hinted(NODE_CHANGE, lambda *_: False),)}, "A", "", id="its hint says no"
        ),
        pytest.param({"A": (NODE_CHANGE,)}, "A", "A", id="no hint is yes"),
        pytest.param({"A": ()}, "A", "A", id="who registers for nothing hears of all"),
        pytest.param({"A": (NODE_ADD,)}, "A", "", id="another action"),
        pytest.param(
            {"A": (Hinted(NODE_CHANGE, broken),)}, "A", "A", id="a hint that fails is yes"
        ),
        pytest.param(
            {"A": (Hinted(NODE_CHANGE, lambda *_: False),), "B": (NODE_CHANGE,)},
            "AB",
            "B",
            id="any of those that refused it",
        ),
        pytest.param(
            {"A": (Hinted(NODE_CHANGE, lambda *_: False),), "B": (NODE_CHANGE,)},
            "A",
            "",
            id="but not one that did not",
        ),
        pytest.param(
            {"A": (Hinted(LABEL, lambda *_: False), Hinted(NODE_CHANGE, is_ssd))},
            "A",
            "A",
            id="one of several hints is enough",
        ),
    ],
)
def test_who_is_woken(registered, by, woken_by):
    made = queue(**registered)
    refused(made, *by)
    moves = made.move_all(LABEL, 20.0, "n1", old=HDD, new=SSD)
    assert [move.detail for move in moves] == ([f"n1 ({woken_by})"] if woken_by else [])
    assert made.lane("default/p") is (Lane.ACTIVE if woken_by else Lane.UNSCHEDULABLE)


def test_the_hint_sees_the_pod_and_the_object_before_and_after():
    seen = []
    made = queue(A=(Hinted(NODE_CHANGE, lambda *args: bool(seen.append(args))),))
    refused(made, "A")
    made.move_all(LABEL, 20.0, "n1", old=HDD, new=SSD)
    ((asked, old, new),) = seen
    assert (asked.name, old, new) == ("p", HDD, SSD)


@pytest.mark.parametrize(
    ("new", "lane"),
    [
        pytest.param(SSD, Lane.BACKOFF, id="what helps"),
        pytest.param(HDD, Lane.UNSCHEDULABLE, id="what does not"),
    ],
)
def test_what_happens_while_a_pod_is_in_flight_is_judged_when_it_comes_back(new, lane):
    made = queue(A=(Hinted(NODE_CHANGE, is_ssd),))
    made.add(pod("p"), 0.0)
    queued = popped(made, 0.0)
    made.move_all(LABEL, 0.1, "n1", old=HDD, new=new)
    queued.unschedulable_plugins = {"A"}
    (move,) = made.add_unschedulable(queued, 0.2)
    assert made.lane("default/p") is lane
    assert ("while the pod was being scheduled" in move.detail) == (lane is Lane.BACKOFF)


def test_the_pods_own_change_is_shown_to_the_hint():
    tolerates = Hinted(
        ClusterEvent("Pod", ActionType.UPDATE_POD_TOLERATIONS),
        lambda pod, old, new: new.uid == pod.uid and not old.tolerations,
    )
    made = queue(A=(tolerates,))
    refused(made, "A")
    event = ClusterEvent("UnscheduledPod", ActionType.UPDATE_POD_TOLERATIONS)
    (move,) = made.update(pod("p", tolerations=["a:NoSchedule"]), 20.0, [event])
    assert (move.target, move.detail) == (Lane.ACTIVE, "the pod itself (A)")


def test_a_pod_that_a_plugin_holds_pending_does_not_back_off():
    made = queue(A=(Hinted(NODE_CHANGE, is_ssd),), B=(NODE_CHANGE,))
    made.add(pod("p"), 0.0)
    queued = popped(made, 0.0)
    queued.pending_plugins, queued.unschedulable_plugins = {"A"}, {"B"}
    made.add_unschedulable(queued, 0.0)
    (move,) = made.move_all(LABEL, 0.1, "n1", old=HDD, new=SSD)
    assert (move.target, move.detail) == (Lane.ACTIVE, "n1 (A)")


def test_profiles_have_their_own_hints():
    made = SchedulingQueue(
        queue_key=lambda queued: queued.rank,
        pre_enqueue=lambda pod: SUCCESS,
        registrations={
            "strict": {"A": (Hinted(NODE_CHANGE, lambda *_: False),)},
            "lax": {"A": (NODE_CHANGE,)},
        },
        config=QueueConfig(),
    )
    for name in ("strict", "lax"):
        made.add(pod(name, schedulerName=name), 0.0)
        reject(made, popped(made, 0.0), 0.0, "A")
    moves = made.move_all(LABEL, 20.0, "n1", old=HDD, new=SSD)
    assert [move.pod.name for move in moves] == ["lax"]
