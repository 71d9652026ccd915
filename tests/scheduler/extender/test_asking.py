"""What cycles ask of extenders and make of their answers: the core alone, each call answered by a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.kube import objects
from schedviz.scheduler import journal
from schedviz.scheduler.framework.steps import (
    Bind,
    CallExtenders,
    Change,
    CycleRecord,
    Effect,
    ExtenderAnswer,
    Lane,
    Outcome,
    PatchPodStatus,
    Reply,
)
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.scheduler import Scheduler
from tests.make import raw_node, raw_pod

Say = Callable[[str, Any], Any]
ONE = {"urlPrefix": "http://me:secret@one.example/ext/", "nodeCacheCapable": True}


class World:
    """Three nodes, these extenders, and who answers: say(url, body) gives JSON data, or an ExtenderAnswer."""

    def __init__(self, *extenders: Mapping[str, Any], say: Say, **profile: Any) -> None:
        config = {"extenders": [{**ONE, **one} for one in extenders]}
        if profile:
            config["profiles"] = [{"schedulerName": "default-scheduler", **profile}]
        self.scheduler = Scheduler(configured_profiles(config), seed=1)
        self.say = say
        self.asked: list[list[tuple[str, Any]]] = []  # the calls, side by side ones together
        self.effects: list[Effect] = []
        self.moves: list[Any] = []
        for name in ("n1", "n2", "n3"):
            self.arrive("Node", raw_node(name))

    def arrive(self, kind: str, raw: dict[str, Any]) -> None:
        made = objects.parse(kind, raw)
        made.wire = json.dumps(raw).encode()
        self.took(self.scheduler.apply(Change(kind, None, made), 1.0))

    def took(self, outputs: list[Any]) -> None:
        self.effects += [one for one in outputs if isinstance(one, Effect)]
        self.moves += [one for one in outputs if not isinstance(one, Effect)]

    def answer(self, effect: Effect) -> Reply:
        action = effect.action
        assert isinstance(action, CallExtenders)
        self.asked.append([])
        answers = []
        for call in action.calls:
            asked = (f"{call.to.url_prefix.partition('@')[2]}{call.verb}", json.loads(call.body))
            self.asked[-1].append(asked)
            said = self.say(*asked)
            is_answer = isinstance(said, ExtenderAnswer)
            answers.append(said if is_answer else ExtenderAnswer(json.dumps(said).encode()))
        return Reply(effect.id, True, 200, answers=tuple(answers))

    def cycle(self, name: str = "p", now: float = 2.0, **fields: Any) -> CycleRecord:
        self.arrive("Pod", raw_pod(name, **fields))
        return self.again(now)

    def again(self, now: float) -> CycleRecord:
        running, reply = self.scheduler.start_cycle(now), None
        assert running is not None
        while True:
            try:
                one = running.send(reply)
            except StopIteration as end:
                self.took(end.value)
                return next(one for one in end.value if isinstance(one, CycleRecord))
            reply = self.answer(one) if isinstance(one, Effect) else None


FILTER = {"filterVerb": "filter"}
SCORE = {"prioritizeVerb": "prioritize", "weight": 2}


def passing(*names: str, **failed: str) -> dict[str, Any]:
    return {"NodeNames": list(names), "FailedNodes": failed}


def test_extenders_are_asked_one_after_the_other_about_what_is_left() -> None:
    def say(url: str, body: Any) -> Any:
        return passing(*body["NodeNames"][1:], **{body["NodeNames"][0]: url})

    world = World(FILTER, {**FILTER, "urlPrefix": "http://x@two.example/"}, say=say)
    record = world.cycle()
    assert [[(url, body["NodeNames"]) for url, body in one] for one in world.asked] == [
        [("one.example/ext/filter", ["n1", "n2", "n3"])],
        [("two.example/filter", ["n2", "n3"])],
    ]
    assert record.chosen == "n3"
    steps = [one for one in record.steps if one.call is not None]
    assert [one.plugin for one in steps] == ["one.example/ext", "two.example"]
    assert "secret" not in repr(record)


def test_when_none_is_left_the_next_one_is_not_asked() -> None:
    world = World(FILTER, FILTER, say=lambda url, body: passing(n1="a", n2="a", n3="b"))
    record = world.cycle()
    assert len(world.asked) == 1
    assert record.message.startswith("0/3 nodes are available: 1 b, 2 a. ")
    assert record.outcome is Outcome.UNSCHEDULABLE


def test_a_pod_that_an_extender_refused_may_be_helped_by_any_event() -> None:
    world = World(FILTER, say=lambda url, body: passing(n1="a", n2="a", n3="a"))
    world.cycle()
    assert world.scheduler.counts()[Lane.UNSCHEDULABLE] == 1
    world.arrive("ConfigMap", {"kind": "ConfigMap", "metadata": {"name": "c"}})
    world.arrive("Node", raw_node("n4"))
    assert world.scheduler.counts()[Lane.UNSCHEDULABLE] == 0


def test_unresolvable_wins_and_old_verdicts_are_overruled() -> None:
    def say(url: str, body: Any) -> Any:
        assert body["NodeNames"] == ["n2", "n3"]
        both = {"n1": "of n1", "n2": "not yet", "stranger": "of a stranger"}
        return {"FailedNodes": both, "FailedAndUnresolvableNodes": {"n2": "never", "n3": "never"}}

    world = World(FILTER, say=say)
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": _not("n1")}
    record = world.cycle(affinity={"nodeAffinity": affinity})
    assert record.message.startswith("0/3 nodes are available: 1 of a stranger, 1 of n1, 2 never. ")


def _not(name: str) -> dict[str, Any]:
    term = {"key": "metadata.name", "operator": "NotIn", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [term]}]}


def test_scores_are_scaled_weighted_and_asked_for_side_by_side() -> None:
    def say(url: str, body: Any) -> Any:
        best = "n2" if url.startswith("one") else "n3"
        return [{"Host": best, "Score": 10}, {"Host": "stranger", "Score": 9}]

    second = {**SCORE, "urlPrefix": "http://x@two.example/", "weight": 5}
    world = World(SCORE, second, say=say)
    record = world.cycle()
    assert [len(one) for one in world.asked] == [2]
    assert record.chosen == "n3"
    one, two = [step.scores for step in record.steps if step.call is not None]
    assert one is not None and two is not None
    assert (one.raw.tolist(), one.normalized.tolist(), one.weight) == ([0, 10, 0], [0, 100, 0], 2)
    assert (two.normalized * two.weight).tolist() == [0, 0, 500]


def test_without_score_plugins_extenders_alone_decide() -> None:
    none = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}]}}
    none["multiPoint"]["enabled"].append({"name": "DefaultBinder"})
    world = World(SCORE, say=lambda url, body: [{"Host": "n2", "Score": -1}], plugins=none)
    record = world.cycle()
    assert record.totals is not None
    assert record.totals.tolist() == [0, -20, 0]
    assert record.n_ties == 2


def test_one_node_is_not_scored() -> None:
    world = World({**FILTER, **SCORE}, say=lambda url, body: passing("n1", n2="a", n3="a"))
    assert world.cycle().chosen == "n1"
    assert len(world.asked) == 1


def test_the_nominated_node_is_asked_about_first_and_alone() -> None:
    world = World(FILTER, say=lambda url, body: passing(*body["NodeNames"]))
    record = world.cycle(status={"nominatedNodeName": "n2"})
    assert [body["NodeNames"] for ((_, body),) in world.asked] == [["n2"]]
    assert record.chosen == "n2"


@pytest.mark.parametrize("is_error", [True, False], ids=["an error", "a refusal"])
def test_where_the_nominated_node_is_refused_all_are_asked_about(is_error: bool) -> None:
    def say(url: str, body: Any) -> Any:
        if body["NodeNames"] == ["n2"]:
            return {"Error": "busy"} if is_error else passing(n2="full")
        return passing("n3", n1="a", n2="full")

    world = World(FILTER, say=say)
    record = world.cycle(status={"nominatedNodeName": "n2"})
    assert [body["NodeNames"] for ((_, body),) in world.asked] == [["n2"], ["n1", "n2", "n3"]]
    assert record.chosen == "n3"
    assert record.first_failure is not None
    assert (record.first_failure >= 0).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        pytest.param({"Error": "no quota"}, "no quota", id="its own error"),
        pytest.param(ExtenderAnswer(error="no answer"), "no answer", id="no answer"),
        pytest.param([], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult", id="no object"),
        pytest.param(
            {"NodeNames": ["n9"]},
            'extender "http://one.example/ext/" claims a filtered node "n9" which is not found in the input node list',
            id="a node that it was not asked about",
        ),
        pytest.param(
            {"Nodes": {"items": [{"metadata": {"name": "n9"}}]}},
            'extender "http://one.example/ext/" claims a filtered node "n9" which is not found in the input node list',
            id="a whole node that it was not asked about",
        ),
    ],
)  # fmt: skip
def test_a_filter_that_fails_fails_the_cycle_unless_it_may_be_ignored(
    said: Any, message: str
) -> None:
    world = World(FILTER, say=lambda url, body: said)
    record = world.cycle()
    assert (record.outcome, record.message) == (Outcome.ERROR, message)
    told = [one.action for one in world.effects if isinstance(one.action, PatchPodStatus)]
    assert told[0].condition is not None
    assert told[0].condition["reason"] == "SchedulerError"
    assert world.scheduler.counts()[Lane.BACKOFF] == 1
    ignored = World({**FILTER, "ignorable": True}, say=lambda url, body: said).cycle()
    assert ignored.chosen
    (step,) = [one for one in ignored.steps if one.call is not None]
    assert step.call is not None and step.call.error == message


def victims(*names: str) -> dict[str, Any]:
    return {"NodeNameToMetaVictims": {n: {"Pods": [{"UID": f"default/lo-{n}"}]} for n in names}}


PREEMPT = {"preemptVerb": "preempt"}


@pytest.mark.parametrize(
    ("said", "is_ignorable", "nominated", "end"),
    [
        pytest.param(victims("n2"), False, "n2", "", id="one candidate left"),
        pytest.param({}, False, "", "preemption: no candidate node for preemption", id="none left"),
        pytest.param(
            {"NodeNameToMetaVictims": {"n1": {"Pods": []}}},
            False,
            "",
            'preemption: expected at least one victim pod on node "n1"',
            id="a node without victims",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"n1": None, **victims("n3")["NodeNameToMetaVictims"]}},
            True,
            "n3",
            "",
            id="a node without victims, ignorable",
        ),
        pytest.param(
            victims("n9"),
            False,
            "",
            'preemption: nodeinfo not found for node name "n9"',
            id="a node that is not there",
        ),
        pytest.param(
            ExtenderAnswer(error="no answer"), False, "", "preemption: no answer", id="no answer"
        ),
        pytest.param(ExtenderAnswer(error="no answer"), True, "any", "", id="ignored"),
    ],
)
def test_candidates_are_what_the_extender_leaves(
    said: Any, is_ignorable: bool, nominated: str, end: str
) -> None:
    world = World({**PREEMPT, "ignorable": is_ignorable}, say=lambda url, body: said)
    for name in ("n1", "n2", "n3"):
        world.arrive("Pod", raw_pod(f"lo-{name}", node=name, requests={"cpu": "3"}))
    record = world.cycle("t", requests={"cpu": "3"}, priority=1000)
    ((_, body),) = world.asked[0]
    assert set(body["NodeNameToMetaVictims"]) == {"n1", "n2", "n3"}
    assert bool(record.nominated_node_name) == bool(nominated)
    assert nominated in ("any", record.nominated_node_name)
    assert record.message.endswith(end)


def test_a_binder_that_may_be_ignored_leaves_it_to_the_default_one() -> None:
    say: Say = lambda url, body: {"Error": "no"}  # noqa: E731
    world = World({"bindVerb": "bind", "ignorable": True}, say=say)
    record = world.cycle()
    (asked,) = [one for one in world.effects if isinstance(one.action, CallExtenders)]
    world.took(world.scheduler.apply(world.answer(asked), 3.0))
    names = {"PodName": "p", "PodNamespace": "default", "PodUID": "default/p"}
    assert world.asked[-1][0][1] == {**names, "Node": record.chosen}
    assert isinstance(world.effects[-1].action, Bind)
    world.scheduler.check_invariants()


def test_a_bound_pod_that_never_shows_up_may_be_deleted() -> None:
    world = World({"bindVerb": "bind"}, say=lambda url, body: {"Error": ""})
    world.cycle()
    world.took(world.scheduler.apply(world.answer(world.effects[-1]), 3.0))
    assert world.scheduler.counts()[Lane.BINDING] == 1
    assert world.scheduler.next_due() is None
    pod = objects.parse("Pod", raw_pod("p"))
    world.took(world.scheduler.apply(Change("Pod", pod, None), 4.0))
    world.scheduler.check_invariants()
    assert world.scheduler.counts()[Lane.BINDING] == 0
    info = [world.scheduler.node_view(name) for name in ("n1", "n2", "n3")]
    assert sum(one.n_pods for one in info if one is not None) == 0


def test_the_record_is_read_back_as_it_was() -> None:
    say: Say = lambda url, body: (  # noqa: E731
        passing("n1", "n2", n3="full") if url.endswith("filter") else [{"Host": "n1", "Score": 3}]
    )
    record = World({**FILTER, **SCORE}, say=say).cycle()
    again = journal.decode(*journal.encode(record), record.node_names)
    assert [one.call for one in again.steps] == [one.call for one in record.steps]
    assert again.totals is not None and record.totals is not None
    assert np.array_equal(again.totals, record.totals)
    for one, other in zip(again.steps, record.steps, strict=True):
        assert (one.plugin, one.nodes) == (other.plugin, other.nodes)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("n1"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
FIELDS = ("Nodes", "NodeNames", "FailedNodes", "Error", "NodeNameToMetaVictims", "items", "n1")
answers = st.dictionaries(
    st.sampled_from(FIELDS), json_data | st.dictionaries(st.just("n1"), json_data)
)
bodies = st.binary(max_size=20) | (json_data | answers | st.lists(answers, max_size=3)).map(
    lambda one: json.dumps(one).encode()
)


@given(st.lists(bodies, min_size=4, max_size=4), st.booleans())
def test_whatever_extenders_say_the_cycle_ends_and_its_record_can_be_kept(
    told: list[bytes], is_ignorable: bool
) -> None:
    said = iter(told)
    every = {**FILTER, **SCORE, **PREEMPT, "bindVerb": "bind", "ignorable": is_ignorable}
    world = World(every, say=lambda url, body: ExtenderAnswer(next(said)))
    world.arrive("Pod", raw_pod("lo", node="n1", requests={"cpu": "3"}))
    record = world.cycle("t", requests={"cpu": "3"}, priority=1000)
    for effect in [one for one in world.effects if isinstance(one.action, CallExtenders)]:
        world.took(world.scheduler.apply(world.answer(effect), 3.0))
    world.scheduler.check_invariants()
    journal.encode(record)
