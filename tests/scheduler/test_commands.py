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


def test_retry_to_the_top_is_one_command():
    made = scheduler(pod("last", nodeSelector={"disk": "ssd"}))
    run(made, 10.0)
    for name in ("a", "b"):
        made.apply(Change("Pod", None, pod(name)), 11.0)
    answer = say(made, "retry", now=12.0, uid=uid("last"), to="top")
    assert (answer.ok, answer.after["position"], answer.after["of"]) == (True, 1, 3)
    assert run(made, 12.0) == "last"
    assert not say(made, "retry", uid=uid("a"), to="bottom").ok


# ---- hold and release ----------------------------------------------------------------------------------------------


def in_lane(lane: Lane) -> Scheduler:
    """The pod `a` there."""
    if lane is Lane.ACTIVE:
        return scheduler(pod("a"))
    if lane is Lane.GATED:
        return scheduler(pod("a", schedulingGates=[{"name": "g"}]))
    made = scheduler(pod("a", nodeSelector={"disk": "ssd"}))
    run(made, 10.0)
    if lane is Lane.BACKOFF:
        made.apply(Change("Node", None, node("ssd", labels={"disk": "ssd"})), 10.1)
    return made


QUEUED = [Lane.ACTIVE, Lane.BACKOFF, Lane.UNSCHEDULABLE, Lane.GATED]


@pytest.mark.parametrize("lane", QUEUED)
def test_a_held_pod_is_taken_from_no_queue_whatever_happens(lane):
    made = in_lane(lane)
    assert made.pod_view(uid("a")).lane is lane
    answer = say(made, "hold", now=11.0, uid=uid("a"), reason="until Monday")
    assert (answer.ok, answer.before["lane"], answer.after["lane"]) == (True, lane, "gated")
    view = made.pod_view(uid("a"))
    assert view.hold == {"by": "olga", "since": 11.0, "reason": "until Monday"}
    assert (view.message, view.plugins) == ("held by olga: until Monday", [])
    made.apply(Change("Node", None, node("more", labels={"disk": "ssd"})), 12.0)
    made.tick(500.0)
    assert run(made, 501.0) == ""
    old = pod("a", schedulingGates=[{"name": "g"}] if lane is Lane.GATED else [])
    made.apply(Change("Pod", old, pod("a", labels={"new": "label"})), 502.0)
    assert run(made, 503.0) == ""


@pytest.mark.parametrize("lane", QUEUED)
def test_a_released_pod_is_asked_again_whether_it_may_be_tried(lane):
    made = in_lane(lane)
    say(made, "hold", now=11.0, uid=uid("a"))
    answer = say(made, "release", now=12.0, uid=uid("a"))
    expected = "gated" if lane is Lane.GATED else "active"
    assert (answer.ok, answer.after["lane"]) == (True, expected)
    assert made.pod_view(uid("a")).hold is None
    assert run(made, 12.0) == ("" if lane is Lane.GATED else "a")


def test_gates_that_go_while_a_pod_is_held_leave_it_active_when_released():
    made = in_lane(Lane.GATED)
    say(made, "hold", uid=uid("a"))
    made.apply(Change("Pod", pod("a", schedulingGates=[{"name": "g"}]), pod("a")), 11.0)
    assert made.counts()[Lane.GATED] == 1
    assert say(made, "release", uid=uid("a")).after["lane"] == "active"


def test_holding_and_releasing_twice_change_nothing_more():
    made = scheduler(pod("a"))
    say(made, "hold", uid=uid("a"), reason="first")
    again = say(made, "hold", uid=uid("a"), reason="second")
    assert (again.ok, again.before) == (True, again.after)
    assert "first" in again.message
    say(made, "release", uid=uid("a"))
    again = say(made, "release", uid=uid("a"))
    assert (again.ok, again.message) == (True, "Nobody holds this pod.")


@pytest.mark.parametrize(("verb", "to"), [("retry", None), ("retry", "top"), ("move", "top")])
def test_a_held_pod_is_not_retried_or_moved(verb, to):
    made = scheduler(pod("a"))
    say(made, "hold", uid=uid("a"))
    answer = say(made, verb, uid=uid("a"), to=to)
    assert not answer.ok
    assert made.pod_view(uid("a")).hold


def test_a_held_pod_that_is_deleted_is_gone():
    made = scheduler(pod("a"))
    say(made, "hold", uid=uid("a"))
    made.apply(Change("Pod", pod("a"), None), 11.0)
    made.check_invariants()
    assert not say(made, "release", uid=uid("a")).ok


# ---- undo a move ---------------------------------------------------------------------------------------------------


def test_a_move_is_undone_to_where_the_pod_was_among_its_neighbours():
    made = scheduler(pod("a"), pod("b"), pod("c"), pod("d"))
    moved = say(made, "move", uid=uid("d"), to="top")
    say(made, "hold", uid=uid("a"))
    undone = say(made, "undo", uid=uid("d"), before=moved.before, after=moved.after)
    assert (undone.ok, undone.after["position"], undone.after["moved_by"]) == (True, 3, "")
    again = say(made, "undo", uid=uid("d"), before=moved.before, after=moved.after)
    assert (again.ok, again.before) == (True, again.after)
    assert [run(made, 12.0) for _ in range(3)] == ["b", "c", "d"]


def test_a_move_is_not_undone_once_the_pod_was_popped():
    made = scheduler(pod("a"), pod("b", nodeSelector={"disk": "ssd"}))
    moved = say(made, "move", uid=uid("b"), to="top")
    args = {"uid": uid("b"), "before": moved.before, "after": moved.after}
    assert run(made, 11.0) == "b"
    assert not say(made, "undo", **args).ok
    say(made, "retry", uid=uid("b"))
    answer = say(made, "undo", **args)
    assert (answer.ok, "tried or moved since" in answer.message) == (False, True)


def test_a_move_before_the_last_one_is_not_undone():
    made = scheduler(pod("a"), pod("b"), pod("c"))
    first = say(made, "move", uid=uid("c"), to="top")
    say(made, "move", uid=uid("c"), to=2)
    answer = say(made, "undo", uid=uid("c"), before=first.before, after=first.after)
    assert (answer.ok, answer.after["position"]) == (False, 2)


@pytest.mark.parametrize("args", [{}, {"before": 1, "after": 2}, {"before": {"rank": "x"}}])
def test_nothing_to_undo_is_refused(args):
    assert not say(scheduler(pod("a")), "undo", uid=uid("a"), **args).ok


# ---- flush ---------------------------------------------------------------------------------------------------------


def waiting(*priorities: int) -> Scheduler:
    """Unschedulable pods p0, p1, ..., refused by NodeAffinity alone."""
    ssd = {"disk": "ssd"}
    pods = [pod(f"p{n}", priority=of, nodeSelector=ssd) for n, of in enumerate(priorities)]
    made = scheduler(*pods)
    while run(made, 10.0):
        pass
    return made


@pytest.mark.parametrize("which", [{"lane": "unschedulable"}, {"plugin": "NodeAffinity"}])
def test_flush_wakes_all_and_says_whom(which):
    made = waiting(0, 5, 0)
    outputs = made.apply(Command(1, "flush", which, "olga"), 11.0)
    (answer,) = [one for one in outputs if isinstance(one, CommandResult)]
    assert (answer.ok, answer.before["waiting"]) == (True, 3)
    assert answer.after["pods"] == ["default/p1", "default/p0", "default/p2"]
    assert (answer.after["moved"], answer.after["left"]) == (3, 0)
    assert [move.cause for move in outputs if isinstance(move, Move)] == ["Command/flush"] * 3
    assert [run(made, 11.0) for _ in range(3)] == ["p1", "p0", "p2"]


def test_flush_stops_at_its_limit_and_says_how_many_are_left():
    made = waiting(0, 5, 0)
    answer = say(made, "flush", lane="unschedulable", limit=2)
    assert (answer.after["pods"], answer.after["left"]) == (["default/p1", "default/p0"], 1)
    assert "1 are left" in answer.message
    assert made.counts()[Lane.UNSCHEDULABLE] == 1


def test_flush_leaves_pods_that_another_plugin_refused_too():
    made = scheduler(pod("big", requests={"cpu": "900"}), pod("ssd", nodeSelector={"disk": "ssd"}))
    made.apply(
        Change("Node", None, node("n9", labels={"disk": "ssd"}, taints=["a=b:NoSchedule"])), 5
    )
    while run(made, 10.0):
        pass
    assert made.pod_view(uid("ssd")).plugins == ["NodeAffinity", "TaintToleration"]
    answer = say(made, "flush", plugin="NodeAffinity")
    assert (answer.ok, answer.after) == (True, {"waiting": 0})


@pytest.mark.parametrize(
    "args",
    [
        pytest.param({}, id="nothing said"),
        pytest.param({"lane": "active"}, id="a lane that waits for nothing"),
        pytest.param({"lane": "backoff", "plugin": "NodeAffinity"}, id="both"),
        pytest.param({"lane": "backoff", "limit": 501}, id="too many"),
        pytest.param({"lane": "backoff", "limit": 0}, id="none"),
        pytest.param({"lane": "backoff", "limit": "3"}, id="no number"),
    ],
)
def test_a_flush_that_makes_no_sense_is_refused(args):
    made = waiting(0)
    assert not say(made, "flush", **args).ok
    assert made.counts()[Lane.UNSCHEDULABLE] == 1


@pytest.mark.parametrize("verb", ["retry", "move", "hold", "release", "undo", "allow", "reject"])
def test_pods_of_another_scheduler_are_not_ours_to_command(verb):
    made = scheduler(pod("theirs", schedulerName="second"))
    answer = say(made, verb, uid=uid("theirs"), to="top")
    assert (answer.ok, answer.before, answer.after) == (False, {}, {})
    assert made.pod_view(uid("theirs")) is None
