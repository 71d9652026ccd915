"""Preemption over time: who is nominated, who is asked to go and how often, and when the preemptor is tried again."""

from __future__ import annotations

import copy

import pytest

from schedviz.kube import objects
from schedviz.scheduler.framework import PermitResult, Plugin, Wait
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    CreateEvent,
    CycleRecord,
    DeletePod,
    Effect,
    Lane,
    PatchPodStatus,
    Reply,
)
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from tests import make


class World:
    """A cluster whose API server does what it is told, when it is told: `answer` carries an effect out."""

    def __init__(self, profile: Framework | None = None) -> None:
        self.scheduler = Scheduler({"default-scheduler": profile or default_profile()})
        self.now = 100.0
        self.raw: dict[str, dict] = {}
        self.effects: list[Effect] = []
        self.records: list[CycleRecord] = []

    def take(self, outputs) -> None:
        for output in outputs:
            if isinstance(output, CycleRecord):
                self.records.append(output)
            if isinstance(output, Effect):
                self.effects.append(output)
        self.scheduler.check_invariants()

    def put(self, kind: str, raw: dict | None, name: str = "") -> None:
        name = name or raw["metadata"]["name"]
        old = self.raw.pop(f"{kind} {name}", None)
        if raw is not None:
            self.raw[f"{kind} {name}"] = raw
        parsed = [None if one is None else objects.parse(kind, one) for one in (old, raw)]
        self.take(self.scheduler.apply(Change(kind, *parsed), self.now))

    def pod(self, name: str, cpu: str, priority: int = 0, node: str = "", **words) -> None:
        self.put(
            "Pod", make.raw_pod(name, requests={"cpu": cpu}, priority=priority, node=node, **words)
        )

    def change(self, name: str, **status) -> None:
        raw = copy.deepcopy(self.raw[f"Pod {name}"])
        raw["status"].update(status)
        self.put("Pod", raw)

    def cycles(self) -> None:
        """As many as are due now."""
        while (cycle := self.scheduler.start_cycle(self.now)) is not None:
            try:
                while True:
                    next(cycle)
            except StopIteration as end:
                self.take(end.value)

    def asked(self) -> list[str]:
        """The victims whose deletion waits for its answer, or had one."""
        return [e.action.pod.name for e in self.effects if isinstance(e.action, DeletePod)]

    def answer(self, kind: type, *, ok: bool = True, status: int = 200, n: int = 0) -> None:
        """The API server answers the n-th effect of this kind."""
        effect = [one for one in self.effects if isinstance(one.action, kind)][n]
        self.take(self.scheduler.apply(Reply(effect.id, ok, status, "as asked"), self.now))

    def linger(self, name: str) -> None:
        """The watch shows the victim on its way out."""
        raw = copy.deepcopy(self.raw[f"Pod {name}"])
        raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        raw["status"]["conditions"] = [
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        ]
        self.put("Pod", raw)

    def lane(self, name: str) -> Lane | None:
        view = self.scheduler.pod_view(f"default/{name}")
        return view and view.lane

    def nominated(self) -> dict[str, str]:
        """By pod, as told to the API server last."""
        said = [e.action for e in self.effects if isinstance(e.action, PatchPodStatus)]
        return {
            one.pod.name: one.nominated_node_name
            for one in said
            if one.nominated_node_name is not None
        }

    def bound(self) -> list[tuple[str, str]]:
        binds = [e.action for e in self.effects if isinstance(e.action, Bind)]
        return [(bind.pod.name, bind.node_name) for bind in binds]


@pytest.fixture
def world():
    """One node, full of four small pods; the boss has been tried."""
    made = World()
    made.put("Node", make.raw_node("n1"))
    for number in range(1, 5):
        made.pod(f"v{number}", "1", node="n1")
    made.pod("boss", "4", priority=1000)
    made.cycles()
    return made


def test_the_pod_is_nominated_and_each_victim_asked_once(world):
    assert world.nominated() == {"boss": "n1"}
    assert sorted(world.asked()) == ["v1", "v2", "v3", "v4"]
    [delete, *_] = [e.action for e in world.effects if isinstance(e.action, DeletePod)]
    assert delete.condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    [record] = world.records
    assert record.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert record.nominated_node_name == "n1"


def test_the_pod_is_held_back_while_its_victims_are_being_asked(world):
    """Its room may come free meanwhile: it is tried when the last answer is there, not before and not never."""
    world.put("Pod", None, "v1")
    assert world.lane("boss") is Lane.GATED
    for number in range(4):
        world.answer(DeletePod, n=number)
        assert world.lane("boss") is (Lane.GATED if number < 3 else Lane.BACKOFF)
    assert sorted(world.asked()) == ["v1", "v2", "v3", "v4"]


def test_when_the_last_victim_is_gone_the_pod_is_bound_at_once(world):
    for number in range(4):
        world.answer(DeletePod, n=number)
    for name in ("v1", "v2", "v3", "v4"):
        world.linger(name)
        world.cycles()
    for name in ("v1", "v2", "v3", "v4"):
        assert world.bound() == []
        world.put("Pod", None, name)
        world.cycles()
    assert world.bound() == [("boss", "n1")]
    assert len(world.asked()) == 4


def test_victims_are_not_asked_again_before_the_watch_shows_them_leaving(world):
    """Other pods come and go meanwhile and wake the pod."""
    world.put("Node", make.raw_node("n2", allocatable={"cpu": "1"}))
    for number in range(4):
        world.answer(DeletePod, n=number)
    for number in range(5):
        world.pod(f"other{number}", "1", node="n2")
        world.put("Pod", None, f"other{number}")
        world.cycles()
        world.now += 20
        world.take(world.scheduler.tick(world.now))
        world.cycles()
    assert len(world.records) > 2
    assert len(world.asked()) == 4
    assert world.records[-1].message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


def test_a_victim_that_is_gone_already_holds_nothing_up(world):
    for number in range(4):
        world.put("Pod", None, f"v{number + 1}")
        world.answer(DeletePod, status=404, n=number)
    world.cycles()
    assert world.bound() == [("boss", "n1")]
    assert not [e for e in world.effects if getattr(e.action, "reason", "") == "Preempted"]


def test_a_deletion_that_fails_sends_the_pod_into_backoff_with_the_words(world):
    for number in range(3):
        world.answer(DeletePod, n=number)
    world.answer(DeletePod, ok=False, status=403, n=3)
    assert world.lane("boss") is Lane.BACKOFF
    assert "preempting pod default/v" in world.scheduler.pod_view("default/boss").message
    world.cycles()
    assert len(world.records) == 1, "an error is not tried before its backoff is over"


def test_after_a_failed_deletion_only_the_spared_victim_is_asked_again(world):
    refused = world.asked()[3]
    for number in range(4):
        world.answer(DeletePod, ok=number < 3, status=200 if number < 3 else 403, n=number)
    for name in set(world.asked()) - {refused}:
        world.put("Pod", None, name)
    world.now += 60
    world.take(world.scheduler.tick(world.now))
    world.cycles()
    assert world.asked()[4:] == [refused]


def test_who_went_is_told_why(world):
    world.answer(DeletePod)
    [event] = [e.action for e in world.effects if getattr(e.action, "reason", "") == "Preempted"]
    assert isinstance(event, CreateEvent)
    assert event.pod.name == world.asked()[0]
    assert (event.action, event.note) == ("Preempting", "Preempted by pod default/boss on node n1")


@pytest.fixture
def two():
    """One node; v lingers there for mid, when top comes."""
    made = World()
    made.put("Node", make.raw_node("n1"))
    made.pod("v", "4", node="n1")
    made.pod("mid", "3", priority=100)
    made.cycles()
    made.answer(DeletePod)
    made.linger("v")
    return made


def test_two_preemptors_on_one_node_wait_for_the_same_victim(two):
    two.pod("top", "3", priority=1000)
    two.cycles()
    assert two.nominated() == {"mid": "n1", "top": "n1"}
    assert two.asked() == ["v"]
    two.put("Pod", None, "v")
    two.cycles()
    assert two.bound() == [("top", "n1")]
    assert two.nominated()["mid"] == ""
    assert "No preemption victims found for incoming pod" in two.records[-1].message


def test_whoever_takes_the_room_clears_the_nominations_of_less_important_pods(two):
    """There is somebody new to ask, so that the node is top's now."""
    two.pod("w", "0", node="n1", containers=[make.container(ports=[{"hostPort": 80}])])
    two.pod(
        "top",
        "3",
        priority=1000,
        containers=[make.container(requests={"cpu": "3"}, ports=[{"hostPort": 80}])],
    )
    two.cycles()
    assert two.nominated() == {"mid": "", "top": "n1"}
    assert two.asked() == ["v", "w"]


def test_a_nomination_that_others_wrote_is_heeded():
    made = World()
    made.put("Node", make.raw_node("n1"))
    made.pod(
        "waits",
        "3",
        priority=5,
        status={"nominatedNodeName": "n1"},
        schedulingGates=[{"name": "g"}],
    )
    made.pod("small", "3", priority=1)
    made.cycles()
    assert made.bound() == []
    assert made.records[-1].nominated_there == {"n1": ("default/waits",)}
    made.change("waits", nominatedNodeName="")
    made.now += 400
    made.take(made.scheduler.tick(made.now))
    made.cycles()
    assert made.bound() == [("small", "n1")]


def test_a_pod_that_is_gone_leaves_no_nomination_behind(world):
    world.put("Pod", None, "boss")
    for number in range(4):
        world.answer(DeletePod, n=number)
        world.put("Pod", None, f"v{number + 1}")
    world.pod("late", "4")
    world.cycles()
    assert world.bound() == [("late", "n1")]


class Hold(Plugin):
    """Pods wait for somebody who allows them."""

    def permit(self, state, pod, node_name):
        return PermitResult(Wait(), 900.0)


def test_a_victim_that_waits_at_permit_is_rejected_not_deleted():
    base = default_profile()
    points = {point: [one.name for one in there] for point, there in base.points.items()}
    profile = Framework(
        "default-scheduler",
        [*base.plugins.values(), Hold()],
        weights=base.weights,
        points={**points, "Permit": ["Hold"]},
    )
    world = World(profile)
    world.put("Node", make.raw_node("n1"))
    world.pod("v", "4")
    world.cycles()
    assert world.lane("v") is Lane.BINDING
    world.pod("boss", "4", priority=9)
    world.cycles()
    assert world.asked() == []
    assert world.lane("v") is Lane.UNSCHEDULABLE
    assert "0/1 nodes are available: 1 preempted." in [record.message for record in world.records]
    assert world.lane("boss") is Lane.BINDING
