"""An operator lets a pod go that waits at Permit, or not: in the plugin's stead, and with its consequences."""

from __future__ import annotations

from schedviz.scheduler.framework import PermitResult, Plugin, Wait
from schedviz.scheduler.framework.steps import (
    Bind,
    Command,
    CommandResult,
    CreateEvent,
    Effect,
    Lane,
    Move,
    Outcome,
)
from schedviz.scheduler.plugins.default_binder import DefaultBinder
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from tests import make
from tests.scheduler.test_binding_cycles import Stage

UID = "default/p"


class Guard(Plugin):
    """Lets nothing go by itself."""

    def permit(self, state, pod, node_name):
        return PermitResult(Wait(), 60.0)


class Slow(Plugin):
    """Waits longer than the other."""

    def permit(self, state, pod, node_name):
        return PermitResult(Wait(), 90.0)


def at_permit(*plugins: Plugin) -> Stage:
    stage = Stage(make.node(), make.pod(), plugins=(PrioritySort(), *plugins, DefaultBinder()))
    stage.cycle()
    return stage


def say(stage: Stage, verb: str, **args) -> CommandResult:
    outputs = stage.scheduler.apply(Command(1, verb, {"uid": UID, **args}, "olga"), stage.now)
    stage.take(outputs)
    return next(one for one in outputs if isinstance(one, CommandResult))


def binds(stage: Stage) -> list[Effect]:
    return [o for o in stage.outputs if isinstance(o, Effect) and isinstance(o.action, Bind)]


def test_a_pod_that_waits_says_for_whom():
    stage = at_permit(Guard())
    view = stage.scheduler.pod_view(UID)
    assert view is not None
    assert (view.lane, view.plugins) == (Lane.BINDING, ["Guard"])
    assert view.message == "it waits at Permit for Guard, 1m0s at most"
    assert binds(stage) == []


def test_an_allowed_pod_is_bound():
    stage = at_permit(Guard())
    stage.now = 7.0
    answer = say(stage, "allow")
    assert (answer.ok, answer.before["waits for"]) == (True, "Guard")
    stage.answer(binds(stage)[0], status=201)
    record = stage.record()
    assert (stage.lane(), record.outcome) == (Lane.BOUND, Outcome.BOUND)
    assert [(s.point, s.plugin) for s in record.binding_steps] == [
        ("Permit", "Guard"),
        ("Bind", "DefaultBinder"),
    ]
    assert record.binding_durations[0] == 7.0
    moves = [(o.cause, o.detail) for o in stage.outputs if isinstance(o, Move)]
    assert ("Command/allow", "Guard by olga") in moves


def test_each_plugin_is_asked_by_itself():
    stage = at_permit(Guard(), Slow())
    assert "still waits for Slow" in say(stage, "allow", plugin="Guard").message
    assert binds(stage) == []
    stage.wait(61)  # the time of Guard, which has let it go
    assert stage.scheduler.pod_view(UID) is None or stage.lane() is Lane.BINDING
    assert say(stage, "allow", plugin="Slow").ok
    assert len(binds(stage)) == 1


def test_for_the_one_that_is_left_time_runs_on():
    stage = at_permit(Guard(), Slow())
    say(stage, "allow", plugin="Guard")
    stage.wait(90)
    words = "rejected due to timeout after waiting 1m30s at plugin Slow"
    assert words in stage.record().message
    assert stage.lane() is Lane.UNSCHEDULABLE


def test_a_rejected_pod_gives_its_node_back_and_waits():
    stage = at_permit(Guard())
    answer = say(stage, "reject", reason="not today")
    assert answer.ok
    record = stage.record()
    assert record.outcome is Outcome.UNSCHEDULABLE
    assert record.message == "0/1 nodes are available: 1 rejected by olga: not today."
    assert stage.lane() is Lane.UNSCHEDULABLE
    assert stage.scheduler.pod_view(UID).plugins == ["Guard"]
    assert stage.requested("n1") == 0
    assert stage.effect(CreateEvent).action.reason == "FailedScheduling"


def test_what_does_not_wait_is_neither_allowed_nor_rejected():
    stage = at_permit(Guard())
    assert "waits for Guard" in say(stage, "allow", plugin="Nobody").message
    say(stage, "allow")
    for verb in ("allow", "reject"):
        answer = say(stage, verb)
        assert (answer.ok, "does not wait" in answer.message) == (False, True)
    assert len(binds(stage)) == 1


def test_a_pod_that_is_being_bound_is_not_in_the_queue():
    stage = at_permit(Guard())
    for verb in ("hold", "retry", "move"):
        answer = say(stage, verb)
        assert (answer.ok, "being bound" in answer.message) == (False, True)
