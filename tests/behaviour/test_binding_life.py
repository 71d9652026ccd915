"""What happens to a pod on its way to its node: a binding that fails, a pod that comes back under the same name, and
pods that never asked a scheduler."""

from __future__ import annotations

from schedviz.kube.volumes import SELECTED_NODE
from schedviz.scheduler.framework import PermitResult, Plugin, Wait
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import (
    Bind,
    CycleRecord,
    Lane,
    Outcome,
    PatchPodStatus,
)
from schedviz.scheduler.profile import default_profile
from tests.behaviour.world import World
from tests.make import node, pod
from tests.sandbox.test_volume_binder import CLAIMS, CLASSES, claim, storage_class
from tests.scheduler.test_binding_cycles import Stage

SMALL = {"requests": {"cpu": "800m"}}


def test_a_failed_binding_frees_the_room_and_the_pod_is_tried_again() -> None:
    stage = Stage(node("n1", allocatable={"cpu": "1"}), pod("t", **SMALL))
    stage.cycle()
    assert stage.requested("n1") == 800
    stage.answer(stage.effect(Bind), ok=False, status=409, message="the object has been modified")
    assert stage.requested("n1") == 0
    assert stage.lane() is Lane.BACKOFF
    told = stage.effect(PatchPodStatus).action.condition
    assert told is not None
    assert (told["status"], told["reason"]) == ("False", "SchedulerError")
    stage.wait(2.0)
    stage.cycle()
    stage.answer(stage.effect(Bind), status=201)
    assert (stage.lane(), stage.record().attempt) == (Lane.BOUND, 2)
    stage.tell(pod("u", **SMALL))
    stage.cycle()
    assert stage.lane() is Lane.UNSCHEDULABLE
    assert stage.record().message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert stage.requested("n1") == 800


def lost_once() -> Stage:
    """The answer to the first Bind was lost; the second is under way."""
    stage = Stage(node("n1"), pod("t"))
    stage.cycle()
    stage.answer(stage.effect(Bind), ok=False, status=0, message="no answer")
    stage.wait(2.0)
    stage.cycle()
    return stage


def outcomes(stage: Stage) -> dict[int, Outcome]:
    records = [one for one in stage.outputs if isinstance(one, CycleRecord)]
    return {record.number: record.outcome for record in records}


def test_of_two_binds_only_the_one_that_was_done_says_so() -> None:
    stage = lost_once()
    stage.answer(stage.effect(Bind), status=201)
    stage.tell(pod("t", node="n1"))
    assert outcomes(stage) == {1: Outcome.BIND_FAILED, 2: Outcome.BOUND}


def test_a_pod_is_bound_by_one_of_two_binds_whatever_the_order_of_the_news() -> None:
    stage = lost_once()
    stage.tell(pod("t", node="n1"))  # by whichever of them
    stage.answer(stage.effect(Bind), status=200)  # "it is bound there"
    assert outcomes(stage) == {1: Outcome.BIND_FAILED, 2: Outcome.BOUND}
    assert stage.lane() is Lane.BOUND


def test_a_bind_that_was_done_after_all_says_so_when_the_next_one_fails() -> None:
    stage = lost_once()
    stage.tell(pod("t", node="n1"))
    stage.answer(stage.effect(Bind), ok=False, status=500, message="no")
    assert outcomes(stage) == {1: Outcome.BOUND, 2: Outcome.BIND_FAILED}
    assert stage.lane() is Lane.BOUND


class SlowForTheFirst(Plugin):
    """The first pod that comes here waits; others go on."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ""

    def permit(self, state, pod, node_name):
        self.first = self.first or pod.uid
        return PermitResult(Wait(), 60.0) if pod.uid == self.first else None


def slow() -> Framework:
    base = default_profile()
    points = {point: [one.name for one in there] for point, there in base.points.items()}
    return Framework(
        "default-scheduler",
        [*base.plugins.values(), SlowForTheFirst()],
        weights=base.weights,
        points={**points, "Permit": ["SlowForTheFirst"]},
    )


def test_a_pod_that_comes_back_under_the_same_name_is_another_one(world: World) -> None:
    world.node("n1")
    with world.scheduled(default_scheduler=slow()):
        old = world.pod("t-0", cpu="3")["metadata"]["uid"]
        world.until(lambda: world.message("t-0").startswith("it waits at Permit"))
        world.delete("t-0")
        new = world.pod("t-0", cpu="2")["metadata"]["uid"]
        world.until(lambda: (new, Lane.BOUND) in lanes(world, "t-0"))
        world.until(lambda: (old, Lane.GONE) in lanes(world, "t-0"))
    assert world.node_of("t-0") == "n1"
    assert world.get("t-0")["metadata"]["uid"] == new
    assert world.condition("t-0")["status"] == "True"
    assert [event for event in world.events("FailedScheduling") if of(event) == new] == []
    assert [of(event) for event in world.events("Scheduled")] == [new]
    assert world.view("n1").requested["cpu"] == 2000
    assert [uid for uid, lane in lanes(world, "t-0") if lane is Lane.ACTIVE] == [old, new]
    by_uid = {cycle.pod.uid: cycle for cycle in world.cycles("t-0")}
    assert by_uid.keys() == {old, new}
    closed = [update for batch in world.sink.batches for update in batch.updates]
    ends = {one.pod.uid: one.outcome for one in closed}
    assert ends == {old: Outcome.ERROR, new: Outcome.BOUND}


def lanes(world: World, name: str) -> list[tuple[str, Lane]]:
    return [(move.pod.uid, move.target) for move in world.moves(name)]


def of(event) -> str:
    return event["regarding"]["uid"]


def test_a_pod_that_names_its_node_is_counted_there_and_never_scheduled(world: World) -> None:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    world.node("n1", taints=[taint])
    world.sandbox.ok(
        "POST", CLASSES, storage_class("late", volumeBindingMode="WaitForFirstConsumer")
    )
    world.sandbox.ok("POST", CLAIMS, claim("data", storageClassName="late"))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    with world.scheduled():
        world.pod("marker", tolerations=[{"operator": "Exists"}])
        world.until_bound("marker")  # the session has read what there was
        world.pod("t", cpu="10", nodeName="n1", volumes=[volume])
        world.until(lambda: world.view("n1").requested.get("cpu") == 10_000)
        assert world.view("n1").allocatable["cpu"] == 4000
        world.pod("u", cpu="1", tolerations=[{"operator": "Exists"}])
        world.until_tried("u")
    assert world.cycles("t") == []
    assert [(move.target, move.cause) for move in world.moves("t")] == [(Lane.BOUND, "CamePlaced")]
    assert world.lane("t") == Lane.BOUND
    kept = world.sandbox.ok("GET", f"{CLAIMS}/data")
    assert SELECTED_NODE not in (kept["metadata"].get("annotations") or {})
