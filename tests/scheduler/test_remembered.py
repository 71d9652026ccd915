"""What a new holder of a session remembers of waiting pods: attempts, places, holds and backoffs go on."""

from __future__ import annotations

import pytest

from schedviz.kube import objects
from schedviz.kube.objects import MalformedObject
from schedviz.scheduler.framework.node_info import Hold
from schedviz.scheduler.framework.steps import Change, Lane, Move
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from schedviz.scheduler.views import Remembered
from tests.make import node, pod, raw_pod
from tests.scheduler.test_commands import run, say, uid

FIT = ("NodeResourcesFit",)


def remembering(**kept: Remembered) -> Scheduler:
    """The pods are there again at 100, one after the other, on a cluster where they have room."""
    made = Scheduler({"default-scheduler": default_profile()})
    for name, one in kept.items():
        made.restore(uid(name), one)
    made.apply(Change("Node", None, node("n1")), 100.0)
    for name in kept:
        made.apply(Change("Pod", None, pod(name)), 100.0)
    made.check_invariants()
    return made


def test_places_go_on():
    made = remembering(a=Remembered(rank=2.0), b=Remembered(rank=1.0, moved_by="olga"))
    assert made.pod_view(uid("b")).moved_by == "olga"
    assert [run(made, 101.0), run(made, 101.0)] == ["b", "a"]


def test_a_move_can_still_be_undone():
    made = remembering(a=Remembered(rank=2.0), b=Remembered(rank=1.0, moved_by="olga"))
    before, after = {"rank": 3.0, "moved_by": ""}, {"rank": 1.0}
    assert say(made, "undo", uid=uid("b"), before=before, after=after).ok
    assert [run(made, 101.0), run(made, 101.0)] == ["a", "b"]


def test_holds_go_on():
    made = remembering(a=Remembered(hold=Hold("olga", 5.0, "why")), b=Remembered())
    view = made.pod_view(uid("a"))
    assert (view.lane, view.message) == (Lane.GATED, "held by olga: why")
    assert [run(made, 101.0), run(made, 101.0)] == ["b", ""]
    say(made, "release", now=102.0, uid=uid("a"))
    assert run(made, 102.0) == "a"


def test_a_backoff_goes_on_to_its_end():
    made = remembering(a=Remembered(attempts=4, retry_at=105.0, plugins=(), message="an error"))
    view = made.pod_view(uid("a"))
    assert (view.lane, view.retry_at, view.message) == (Lane.BACKOFF, 105.0, "an error")
    assert run(made, 104.0) == ""  # an error's backoff is not cut short
    made.tick(105.0)
    assert run(made, 105.0) == "a"


def test_a_backoff_that_is_over_is_over():
    made = remembering(a=Remembered(attempts=1, retry_at=99.0, plugins=FIT))
    assert made.pod_view(uid("a")).lane is Lane.ACTIVE


def test_a_rejected_pod_in_backoff_is_tried_early_when_nothing_is_active():
    made = remembering(a=Remembered(attempts=1, retry_at=105.0, plugins=FIT))
    assert made.pod_view(uid("a")).plugins == list(FIT)
    assert run(made, 101.0) == "a"


def test_attempts_go_on_and_so_do_the_waits_between_them():
    made = Scheduler({"default-scheduler": default_profile()})
    made.restore(uid("a"), Remembered(attempts=3))
    made.apply(Change("Node", None, node("n1", unschedulable=True)), 99.0)
    made.apply(Change("Pod", None, pod("a")), 100.0)
    assert run(made, 100.0) == "a"
    assert made.pod_view(uid("a")).attempts == 4
    made.apply(Change("Node", None, node("n2")), 100.5)
    assert made.pod_view(uid("a")).retry_at == 109.0  # eight seconds after the fourth attempt


def test_a_hold_outlives_that_its_pod_cannot_be_read_for_a_while():
    made = remembering(a=Remembered(attempts=2, rank=5.0))
    say(made, "hold", uid=uid("a"), reason="why")
    raw = raw_pod("a", schedulingGates=5)
    with pytest.raises(MalformedObject) as error:
        objects.parse("Pod", raw)
    made.apply(Change("Pod", pod("a"), None, error.value), 101.0)
    view = made.pod_view(uid("a"))
    assert (view.lane, view.attempts, view.hold["reason"]) == (Lane.MALFORMED, 2, "why")
    assert not say(made, "release", uid=uid("a")).ok
    made.apply(Change("Pod", None, pod("a")), 102.0)
    view = made.pod_view(uid("a"))
    assert (view.lane, view.rank, view.hold["by"]) == (Lane.GATED, 5.0, "olga")
    assert run(made, 103.0) == ""


def test_a_pod_that_could_not_be_read_may_turn_up_on_a_node():
    made = remembering(a=Remembered(attempts=2))
    with pytest.raises(MalformedObject) as error:
        objects.parse("Pod", raw_pod("a", schedulingGates=5))
    made.apply(Change("Pod", pod("a"), None, error.value), 101.0)
    outputs = made.apply(Change("Pod", None, pod("a", node="n1")), 102.0)
    (move,) = [one for one in outputs if isinstance(one, Move)]
    assert (move.source, move.target) == (Lane.MALFORMED, Lane.BOUND)
