"""Operators' commands on a whole scheduler: what each answers and what it changes."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.steps import Change, Command, CommandResult, Lane, Move
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from tests.make import node, pod


def scheduler(*pods, nodes=1) -> Scheduler:
    made = Scheduler({"default-scheduler": default_profile()})
    for number in range(nodes):
        made.apply(Change("Node", None, node(f"n{number}")), 0.0)
    for one in pods:
        made.apply(Change("Pod", None, one), 1.0)
    return made


def say(made: Scheduler, verb: str, /, now: float = 10.0, **args) -> CommandResult:
    (answer,) = [
        output
        for output in made.apply(Command(1, verb, args, "olga"), now)
        if isinstance(output, CommandResult)
    ]
    made.check_invariants()
    return answer


def run(of: Scheduler, now: float) -> str:
    """The name of the pod that the next cycle is for; "": there is none."""
    cycle = of.start_cycle(now)
    if cycle is None:
        return ""
    try:
        while True:
            next(cycle)
    except StopIteration as end:
        return next(one.pod.name for one in end.value if isinstance(one, Move))


def uid(name: str) -> str:
    return f"default/{name}"


# ---- pause and resume ----------------------------------------------------------------------------------------------


def test_a_paused_scheduler_takes_no_pod_and_a_resumed_one_goes_on():
    made = scheduler(pod("a"))
    assert say(made, "pause", reason="upgrade").ok
    assert run(made, 11.0) == ""
    made.apply(Change("Pod", None, pod("b")), 12.0)
    assert made.counts()[Lane.ACTIVE] == 2
    assert say(made, "resume").ok
    assert [run(made, 13.0), run(made, 13.0)] == ["a", "b"]


def test_who_paused_it_when_and_why_is_there_to_be_shown():
    made = scheduler()
    answer = say(made, "pause", now=10.0, reason="upgrade", seconds=60)
    assert (answer.before, answer.after["paused"]) == ({"paused": False}, True)
    assert made.pause is not None
    assert made.pause.as_json() == {
        "by": "olga",
        "since": 10.0,
        "reason": "upgrade",
        "until": 70.0,
    }


def test_a_pause_with_an_end_ends_by_itself():
    made = scheduler(pod("a"))
    say(made, "pause", now=10.0, seconds=5)
    assert made.next_due() == 15.0
    made.tick(14.9)
    assert run(made, 14.9) == ""
    made.tick(15.0)
    assert made.pause is None
    assert run(made, 15.0) == "a"


def test_pausing_again_changes_reason_and_end():
    made = scheduler()
    say(made, "pause", seconds=5)
    say(made, "pause", reason="longer")
    assert made.pause is not None
    assert (made.pause.reason, made.pause.until) == ("longer", None)


def test_resuming_what_goes_on_changes_nothing():
    answer = say(scheduler(), "resume")
    assert (answer.ok, answer.before, answer.after) == (True, {"paused": False}, {"paused": False})


@pytest.mark.parametrize("seconds", [0, -1, "5", []])
def test_no_time_to_pause_for_is_refused(seconds):
    made = scheduler()
    answer = say(made, "pause", seconds=seconds)
    assert not answer.ok
    assert "more than 0" in answer.message
    assert made.pause is None


# ---- move ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "to", "order"),
    [
        pytest.param("c", "top", "vip c a b", id="to the top of its priority"),
        pytest.param("a", "bottom", "vip b c a", id="to the bottom of its priority"),
        pytest.param("a", 2, "vip b a c", id="to a place"),
        pytest.param("a", 99, "vip b c a", id="beyond the end is the end"),
        pytest.param("vip", "bottom", "vip a b c", id="never across priorities"),
    ],
)
def test_a_moved_pod_is_tried_in_its_new_place(name, to, order):
    made = scheduler(pod("a"), pod("b"), pod("c"), pod("vip", priority=100))
    assert say(made, "move", uid=uid(name), to=to).ok
    assert " ".join(run(made, 20.0) for _ in range(4)) == order


@pytest.mark.parametrize("to", [0, -1, "up", None, True, 1.5])
def test_no_place_is_refused(to):
    answer = say(scheduler(pod("a")), "move", uid=uid("a"), to=to)
    assert (answer.ok, answer.before) == (False, answer.after)


# ---- what can't be done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "args", "words"),
    [
        pytest.param("retry", {"uid": "nobody"}, "not in the scheduling queue", id="unknown pod"),
        pytest.param("retry", {}, "not in the scheduling queue", id="no pod"),
        pytest.param("dance", {"uid": uid("a")}, "not a command", id="unknown verb"),
    ],
)
def test_what_cannot_be_done_is_said(verb, args, words):
    answer = say(scheduler(pod("a")), verb, **args)
    assert not answer.ok
    assert words in answer.message


def test_retry_brings_an_unschedulable_pod_back_and_says_from_where():
    made = scheduler(pod("a", nodeSelector={"disk": "ssd"}))
    assert run(made, 10.0) == "a"
    answer = say(made, "retry", now=11.0, uid=uid("a"))
    assert (answer.ok, answer.before["lane"], answer.after["lane"]) == (
        True,
        "unschedulable",
        "active",
    )
    assert run(made, 11.0) == "a"


def test_retrying_an_active_pod_changes_nothing():
    answer = say(scheduler(pod("a")), "retry", uid=uid("a"))
    assert answer.ok
    assert answer.before == answer.after
