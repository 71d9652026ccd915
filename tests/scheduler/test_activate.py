"""A plugin names other pods that shall be tried when its own pod has its node: a gang's, for example."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import Plugin, Unschedulable
from schedviz.scheduler.framework.steps import Bind, Lane, Move
from schedviz.scheduler.plugins.default_binder import DefaultBinder
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from tests import make
from tests.behaviour.world import drain
from tests.make import pod
from tests.scheduler.test_binding_cycles import Stage
from tests.scheduler.waiting import FIT, bring, popped, queue, reject


class Gang(Plugin):
    """Members wait for their leader, and hear of it when it has a node."""

    def __init__(self) -> None:
        super().__init__()
        self.is_led = False

    def filter(self, state, pod, node):
        return None if self.is_led or pod.name == "leader" else Unschedulable("no leader yet")

    def events_to_register(self):
        return ()

    def reserve(self, state, pod, node_name):
        if pod.name == "leader":
            self.is_led = True
            state.pods_to_activate |= {"default/member", "default/unknown"}


def test_members_are_tried_as_soon_as_their_leader_has_its_node():
    stage = Stage(make.node(), pod("member"), plugins=(PrioritySort(), Gang(), DefaultBinder()))
    stage.cycle()
    assert stage.lane() is Lane.UNSCHEDULABLE
    stage.tell(pod("leader"))
    assert stage.scheduler.pod_view("default/member").lane in (Lane.UNSCHEDULABLE, Lane.BACKOFF)
    stage.cycle()
    moved = [one for one in stage.outputs if isinstance(one, Move) and one.cause == "ForceActivate"]
    assert [(one.pod.name, one.target, one.detail) for one in moved] == [
        ("member", Lane.ACTIVE, "default/leader")
    ]
    stage.answer(stage.effect(Bind), status=201)
    stage.cycle()
    assert stage.record().chosen == "n"
    assert drain(stage.scheduler, stage.now) is None


@pytest.mark.parametrize(
    ("lane", "target"),
    [
        pytest.param(Lane.UNSCHEDULABLE, Lane.ACTIVE, id="unschedulable"),
        pytest.param(Lane.BACKOFF, Lane.ACTIVE, id="before its backoff is over"),
        pytest.param(Lane.ACTIVE, Lane.ACTIVE, id="active already"),
    ],
)
def test_whatever_a_named_pod_waits_for_it_is_active(lane, target):
    made = queue()
    bring(made, pod("a"), lane)
    moves = made.activate({"default/a"}, 0.1, "why")
    assert [move.cause for move in moves] == ["ForceActivate"] * (lane is not target)
    assert made.lane("default/a") is target


def test_a_gated_pod_stays_gated():
    made = queue()
    made.add(pod("a", schedulingGates=[{"name": "g"}]), 0.0)
    assert made.activate({"default/a"}, 1.0) == []
    assert made.lane("default/a") is Lane.GATED


def test_a_pod_that_is_being_tried_does_not_wait_when_it_comes_back():
    made = queue()
    made.add(pod("a"), 0.0)
    queued = popped(made, 0.0)
    assert made.activate({"default/a"}, 0.1, "leader") == []
    (move,) = reject(made, queued, 0.2, FIT)
    assert (move.target, move.cause, move.detail) == (Lane.BACKOFF, "ForceActivate", "leader")
