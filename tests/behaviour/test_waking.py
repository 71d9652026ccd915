"""When a waiting pod is tried again: by its own change, by time, by events, by its gates, and in which order."""

from __future__ import annotations

import itertools
import time

import pytest

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    CreateEvent,
    Lane,
    Move,
    Outcome,
    PatchPodStatus,
)
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from tests.behaviour.world import World, drain
from tests.make import node, pod
from tests.sandbox.speaking import PODS
from tests.scheduler.test_binding_cycles import Stage

OLD = {"lastTransitionTime": "2024-02-29T12:00:00Z"}


def test_a_pod_that_gets_a_toleration_is_tried_at_once(world: World) -> None:
    world.node("n1", unschedulable=True)
    tolerates = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    with world.scheduled():
        world.pod("t")
        world.until_tried("t")
        began = time.monotonic()
        tolerations = [tolerates | {"effect": "NoSchedule"}]
        world.patch(f"{PODS}/t", {"spec": {"tolerations": tolerations}})
        world.until_bound("t")
        assert time.monotonic() - began < 3
    assert [cycle.chosen for cycle in world.cycles("t")] == ["", "n1"]
    assert "UnschedulableTimeout" not in [move.cause for move in world.moves("t")]


def test_a_pod_that_no_event_wakes_is_tried_again_after_five_minutes() -> None:
    stage = Stage(
        node("n1", allocatable={"cpu": "4"}), pod("full", requests={"cpu": "4"}, node="n1")
    )
    stage.tell(pod("t", requests={"cpu": "1"}))
    stage.cycle()
    first = stage.record().message
    assert stage.lane() is Lane.UNSCHEDULABLE
    assert stage.scheduler.pod_view("default/t").since == 0.0
    while stage.lane() is Lane.UNSCHEDULABLE:
        due = stage.scheduler.next_due()
        assert due is not None
        stage.wait(due - stage.now)
    assert 300.0 < stage.now <= 330.0
    moved = [one for one in stage.outputs if isinstance(one, Move)][-1]
    assert moved.cause == "UnschedulableTimeout"
    stage.cycle()
    assert (stage.record().attempt, stage.record().message) == (2, first)
    assert drain(stage.scheduler, stage.now) is None


def other(n: int) -> Pod:
    """Less important, and there is no node for it."""
    return pod(f"other-{n}", nodeSelector={"no": "where"}, priority=-1)


def flapping(n_others: int) -> list[float]:
    """A pod that does not fit, while every 0.3 s a small pod comes and goes: the moments of its attempts in 60 s.

    n_others: so many pods are always active beside it, less important ones.
    """
    made = Scheduler({"default-scheduler": default_profile()})
    made.apply(Change("Node", None, node("n1", allocatable={"cpu": "1"})), 0.0)
    made.apply(Change("Pod", None, pod("there", requests={"cpu": "500m"}, node="n1")), 0.0)
    made.apply(Change("Pod", None, pod("t", requests={"cpu": "900m"})), 0.0)
    attempts: list[float] = []
    n = 0
    for tick in range(1200):
        now = tick * 0.05
        while made.counts()[Lane.ACTIVE] < n_others:
            n += 1
            made.apply(Change("Pod", None, other(n)), now)
        if tick % 6 == 0:
            small = pod(f"small-{tick}", requests={"cpu": "1m"}, node="n1")
            made.apply(Change("Pod", None, small), now)
            made.apply(Change("Pod", small, None), now)
        made.tick(now)
        while (outputs := drain(made, now)) is not None:
            popped = next(one for one in outputs if isinstance(one, Move))
            if popped.pod.name == "t":
                attempts.append(now)
            if n_others:
                break
        made.check_invariants()
    return attempts


def test_when_nothing_is_active_a_pod_is_tried_at_each_event_that_may_help() -> None:
    attempts = [moment for moment in flapping(0) if moment < 12.0]
    assert 38 <= len(attempts) <= 41
    gaps = [b - a for a, b in itertools.pairwise(attempts)]
    assert max(gaps) < 0.31


def test_while_others_are_active_its_attempts_are_spread_by_the_backoff() -> None:
    attempts = flapping(50)
    gaps = [b - a for a, b in itertools.pairwise(attempts)]
    for gap, backoff in zip(gaps, [1, 2, 4, 8, 10, 10], strict=False):
        assert backoff - 0.001 <= gap <= backoff + 1.5  # it ends with a whole second
    assert len(gaps) >= 6


def test_a_pod_with_an_error_is_not_tried_before_its_backoff_is_over() -> None:
    stage = Stage(node("n1"), pod("t"))
    stage.cycle()
    stage.answer(stage.effect(Bind), ok=False, status=500, message="no")
    assert stage.lane() is Lane.BACKOFF
    assert drain(stage.scheduler, 0.9) is None
    stage.wait(2.0)
    stage.cycle()
    assert stage.record().attempt == 2


def test_a_pod_with_two_gates_waits_for_both_and_costs_nothing(world: World) -> None:
    world.node("n1")
    gates = [{"name": "demo.example/a"}, {"name": "demo.example/b"}]
    with world.scheduled():
        world.pod("t", cpu="5", schedulingGates=gates)
        world.until(lambda: world.lane("t") == Lane.GATED)
        told = world.condition("t")
        assert (told["status"], told["reason"]) == ("False", "SchedulingGated")
        words = "waiting for scheduling gates: [demo.example/a demo.example/b]"
        assert world.message("t") == words
        world.patch(f"{PODS}/t/status", {"status": {"conditions": [told | OLD]}})  # long ago
        world.patch(f"{PODS}/t", {"spec": {"schedulingGates": gates[1:]}})
        world.until(lambda: world.message("t").endswith("[demo.example/b]"))
        n_moves = len(world.moves("t"))
        world.node("n2")
        world.until(lambda: world.sink.batches[-1].nodes.get("n2") is not None)
        world.pod("marker")
        world.until_bound("marker")  # all that came before it has been heard
        assert (len(world.moves("t")), world.cycles("t")) == (n_moves, [])
        assert world.condition("t")["reason"] == "SchedulingGated"
        world.patch(f"{PODS}/t", {"spec": {"schedulingGates": None}})
        world.until_tried("t")
    told = world.condition("t")
    assert (told["status"], told["reason"]) == ("False", "Unschedulable")
    assert told["lastTransitionTime"] == OLD["lastTransitionTime"]  # it was False all the time
    assert len(world.cycles("t")) == 1


def test_more_important_pods_come_first_and_those_that_fit_pass_those_that_do_not(
    world: World,
) -> None:
    world.priority("high", 1_000_000)
    world.priority("low", 10)
    for number in (1, 2, 3):
        world.pod(f"low-{number}", cpu="1", priorityClassName="low")
    for number in (1, 2, 3):
        world.pod(f"high-{number}", cpu="8", priorityClassName="high")
    world.node("n1", cpu="10")
    with world.scheduled():
        names = [*(f"high-{n}" for n in (1, 2, 3)), *(f"low-{n}" for n in (1, 2, 3))]
        world.until(lambda: {cycle.pod.name for cycle in world.cycles()} == set(names))
        world.until_bound("high-1", "low-1", "low-2")
        world.until_tried("low-3")
    first = list(dict.fromkeys(cycle.pod.name for cycle in world.cycles()))
    assert first == names
    assert [name for name in names if world.node_of(name)] == ["high-1", "low-1", "low-2"]
    high, low = world.cycles("high-2")[0], world.cycles("low-1")[0]
    assert high.number < low.number  # it was tried before, and failed for cpu
    assert high.outcome is Outcome.UNSCHEDULABLE
    assert high.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


@pytest.mark.parametrize("name", ["r", "ä"])
def test_of_many_reasons_the_event_has_the_first_and_the_condition_all(name: str) -> None:
    asked = {f"example.com/{name}{n}": "1" for n in range(60)}
    nodes = [node(f"n{number}") for number in range(11)]
    stage = Stage(*nodes, pod("greedy", requests=asked))
    stage.cycle()
    note = stage.effect(CreateEvent).action.note
    assert len(note.encode()) <= 1024
    assert note.endswith(" ...")
    condition = stage.effect(PatchPodStatus).action.condition
    assert condition is not None
    told = condition["message"]
    assert told.startswith(note.removesuffix(" ..."))
    reasons = sorted(f"11 Insufficient example.com/{name}{n}" for n in range(60))  # as strings
    assert told.startswith("0/11 nodes are available: " + ", ".join(reasons) + ". ")
