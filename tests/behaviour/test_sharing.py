"""Several pods that want the same room: two preemptors, two schedulers, a rollout whose old pod still runs."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.steps import DeletePod, Lane, Outcome
from schedviz.scheduler.profile import default_profile
from tests import make
from tests.behaviour.world import World
from tests.make import node, pod
from tests.scheduler.test_binding_cycles import Stage
from tests.scheduler.test_preemptions import World as Preempting


def test_a_less_important_preemptor_loses_its_node_to_a_more_important_one(world: World) -> None:
    for name, value in (("mid", 100), ("top", 1000)):
        world.priority(name, value)
    world.node("n1")
    with world.scheduled():
        world.pod("v", cpu="4", terminationGracePeriodSeconds=600)
        world.until_bound("v")
        world.pod("mid", cpu="3", priorityClassName="mid")
        world.until(lambda: any(c.nominated_node_name for c in world.cycles("mid")))
        world.until(lambda: bool(world.get("v")["metadata"].get("deletionTimestamp")))
        world.pod("top", cpu="3", priorityClassName="top")
        world.until(lambda: any(c.nominated_node_name for c in world.cycles("top")))
        world.until(lambda: world.nominated("top") == "n1")
        assert world.nominated("mid") == "n1"  # both wait for the same room
        kept = [(one["pod"], one["requests"]["cpu"]) for one in world.view("n1").nominated]
        assert kept == [("default/top", 3000), ("default/mid", 3000)]
        tried = len(world.cycles("mid"))
        world.delete("v")
        world.until_bound("top")
        world.until(lambda: len(world.cycles("mid")) > tried and world.nominated("mid") == "")
    assert (world.node_of("top"), world.node_of("mid")) == ("n1", "")
    assert world.view("n1").nominated == []
    last = world.cycles("mid")[-1].message
    assert "No preemption victims found for incoming pod" in last
    assert [event["regarding"]["name"] for event in world.events("Preempted")] == ["v"]


def test_each_victim_is_asked_once_whatever_happens_meanwhile() -> None:
    """Deletions are answered after a second; every 0.2 s an unrelated pod leaves another node."""
    made = Preempting()
    made.put("Node", make.raw_node("n1", allocatable={"cpu": "4"}))
    made.put("Node", make.raw_node("n2", allocatable={"cpu": "3"}))
    for number in range(1, 5):
        made.pod(f"v{number}", "1", node="n1")
    made.pod("boss", "4", priority=1000)
    made.cycles()
    for number in range(5):
        made.now += 0.2
        made.pod(f"other-{number}", "1", node="n2")
        made.put("Pod", None, f"other-{number}")
        made.take(made.scheduler.tick(made.now))
        made.cycles()
        assert made.lane("boss") is Lane.GATED
    assert sorted(made.asked()) == ["v1", "v2", "v3", "v4"]
    made.answer(DeletePod, ok=False, status=404, n=0)  # it was gone already
    for number in range(1, 4):
        made.answer(DeletePod, n=number)
    for number in range(1, 5):
        made.put("Pod", None, f"v{number}")
        made.cycles()
    assert made.bound() == [("boss", "n1")]
    assert made.now < 110.0
    assert len(made.asked()) == 4


def test_two_profiles_of_one_scheduler_never_share_the_last_cpu(world: World) -> None:
    world.node("n1", cpu="1")
    profiles = {"default_scheduler": default_profile(), "second": default_profile("second")}
    with world.scheduled(**profiles):
        world.pod("a", cpu="800m")
        world.pod("b", cpu="800m", schedulerName="second")
        world.until(lambda: {cycle.pod.name for cycle in world.cycles()} == {"a", "b"})
        world.until_bound("a")
        world.until_tried("b")
    (told,) = [cycle.message for cycle in world.cycles("b")][:1]
    assert told.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert {cycle.scheduler_name for cycle in world.cycles()} == {"default-scheduler", "second"}


def test_what_two_schedulers_put_on_one_node_is_shown_and_lived_with() -> None:
    """Both decided before either heard of the other."""
    stage = Stage(node("n1", allocatable={"cpu": "1"}), pod("a", requests={"cpu": "800m"}))
    stage.cycle()
    stage.tell(pod("b", requests={"cpu": "800m"}, node="n1", schedulerName="second"))
    assert stage.requested("n1") == 1600  # of 1000
    stage.tell(node("n2", allocatable={"cpu": "4"}))
    stage.tell(pod("free"))  # asks for nothing, hence may go to either
    stage.cycle()
    record = stage.record()
    assert record.feasible is not None and len(record.feasible) == 2
    scores = [step.scores for step in record.steps if step.scores is not None]
    assert scores
    for one in scores:
        assert one.normalized.min() >= 0 and one.normalized.max() <= 100
    stage.tell(pod("more", requests={"cpu": "100m"}, nodeSelector={}))
    stage.cycle()
    failures = stage.record().first_failure
    assert failures is not None and failures[stage.record().node_names.index("n1")] >= 0
    assert stage.record().chosen == "n2"


def test_pods_of_another_scheduler_are_left_alone(world: World) -> None:
    world.node("n1")
    with world.scheduled(second=default_profile("second")):
        world.pod("theirs")
        world.pod("ours", schedulerName="second")
        world.until_bound("ours")
    assert world.node_of("theirs") == ""
    assert (world.cycles("theirs"), world.moves("theirs")) == ([], [])
    assert "theirs" not in {
        view.name for batch in world.sink.batches for view in batch.pods.values()
    }
    assert world.condition("theirs") == {}


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize("when", ["DoNotSchedule", "ScheduleAnyway"])
def test_a_rollout_is_spread_by_what_runs_when_each_pod_is_placed(world: World, when: str) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    more = {"labels": {"app": "web"}, "topologySpreadConstraints": [spread]}
    for letter in "abc":
        world.node(f"z{letter}", labels={ZONE: letter})
        world.pod(f"web-{letter}", nodeName=f"z{letter}", **more)
    with world.scheduled():
        world.pod("web-d", **more)
        world.until_bound("web-d")
        (cycle,) = world.cycles("web-d")
        assert (
            cycle.feasible is not None and len(cycle.feasible) == 3
        )  # 1/1/1: each may have one more
        gone_from = "web-c" if world.node_of("web-d") != "zc" else "web-b"
        world.delete(gone_from)
        world.pod("marker")
        world.until_bound("marker")
    where = [world.node_of(f"web-{letter}") for letter in "abcd" if f"web-{letter}" != gone_from]
    assert sorted(where.count(f"z{letter}") for letter in "abc") == [0, 1, 2]  # nobody is moved
    assert len(world.cycles()) == 2
    assert cycle.outcome in (Outcome.SCHEDULED, Outcome.BOUND)
