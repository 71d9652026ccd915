"""The whole core with an extender that filters, scores and binds, under anything that may happen meanwhile."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.scheduler.framework.steps import (
    CallExtenders,
    Effect,
    ExtenderAnswer,
    Lane,
    Reply,
)
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.scheduler import Scheduler
from tests.scheduler.playing import ANSWERS, WORDS, Play

EXTENDER = {
    "urlPrefix": "http://one.example",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 3,
    "nodeCacheCapable": True,
}
WEIGHTED = (*WORDS, *["deliver", "cycle", "answer", "add pod"] * 3, "lose the answer", "pretend")
SCRIPTS = st.lists(st.tuples(st.sampled_from(WEIGHTED), st.integers(0, 30)), max_size=60)


class ExtendedPlay(Play):
    """The extender refuses, fails or agrees as the script's number says; it binds, or only says so."""

    def __init__(self) -> None:
        super().__init__()
        profiles = configured_profiles({"extenders": [EXTENDER]})
        self.scheduler = Scheduler(profiles, seed=0)
        self.pretended: set[str] = set()

    def _cycle(self, n: int) -> None:
        cycle, reply = self.scheduler.start_cycle(self.now), None
        while cycle is not None:
            try:
                one = cycle.send(reply)
            except StopIteration as end:
                self._take(end.value)
                return
            reply = self._said(one, n) if isinstance(one, Effect) else None

    def _said(self, effect: Effect, n: int) -> Reply:
        assert isinstance(effect.action, CallExtenders)
        (call,) = effect.action.calls
        asked = json.loads(call.body)
        answer: Any = {"NodeNameToMetaVictims": asked.get("NodeNameToMetaVictims")}
        if call.verb == "filter":
            names, most = asked["NodeNames"], 6 - n % 7
            answer = {"NodeNames": names[:most], "FailedNodes": dict.fromkeys(names[most:], "x")}
        elif call.verb == "prioritize":
            answer = [{"Host": asked["NodeNames"][0], "Score": n}]
        if n == 29:
            answer = {"Error": "not today"}
        body = json.dumps(answer).encode()
        return Reply(effect.id, True, 200, answers=(ExtenderAnswer(body),))

    def _keep(self, effect: Effect) -> None:
        if isinstance(effect.action, CallExtenders):
            assert effect.cycle in self.records, "an effect before its record"
            self.effects.append(effect)
        else:
            super()._keep(effect)

    def _answer(self, how: str, n: int) -> None:
        """Binds: done and said so, refused, done without a word, neither."""
        effect = self.effects[n % len(self.effects)] if self.effects else None
        if effect is None or not isinstance(effect.action, CallExtenders):
            return super()._answer(how, n)
        self.effects.remove(effect)
        is_ok, status, is_done = ANSWERS[how]
        if is_done:
            is_ok = self._bind(effect)
        error = "" if status else "EOF"
        body = json.dumps({"Error": "" if is_ok else "refused"}).encode()
        answer = ExtenderAnswer(b"" if error else body, error)
        self._take(self.scheduler.apply(Reply(effect.id, True, 200, answers=(answer,)), self.now))

    def _bind(self, effect: Effect) -> bool:
        assert isinstance(effect.action, CallExtenders)
        asked = json.loads(effect.action.calls[0].body)
        raw = self.raw.get(("Pod", asked["PodName"]))
        if raw is None or raw["metadata"]["uid"] != asked["PodUID"] or raw["spec"].get("nodeName"):
            return False
        self.bound.setdefault(asked["PodUID"], []).append(asked["Node"])
        self._put("Pod", {**raw, "spec": {**raw["spec"], "nodeName": asked["Node"]}})
        return True

    def _pretend(self, n: int) -> None:
        """It says that it bound the pod, and did not."""
        there = [one for one in self.effects if isinstance(one.action, CallExtenders)]
        if there:
            effect = there[n % len(there)]
            self.effects.remove(effect)
            self.pretended.add(effect.action.pod.uid)  # type: ignore[union-attr]
            answer = ExtenderAnswer(b'{"Error":""}')
            reply = Reply(effect.id, True, 200, answers=(answer,))
            self._take(self.scheduler.apply(reply, self.now))


def played(script: list[tuple[str, int]]) -> ExtendedPlay:
    play = ExtendedPlay()
    for word, n in script:
        play.do(word, n)
    return play


@given(SCRIPTS)
@settings(max_examples=200, deadline=None)
def test_every_pod_ends_bound_once_or_is_shown_as_not_confirmed(
    script: list[tuple[str, int]],
) -> None:
    play = played(script)
    play.settle()
    assert all(len(nodes) == 1 for nodes in play.bound.values())
    lanes = play.lanes()
    left = {uid for uid, lane in lanes.items() if lane is not Lane.BOUND}
    assert left <= play.pretended
    assert all(lanes[uid] is Lane.BINDING for uid in left)


@given(SCRIPTS)
@settings(max_examples=50, deadline=None)
def test_the_same_happenings_give_the_same_journal_byte_for_byte(
    script: list[tuple[str, int]],
) -> None:
    assert played(script).outputs == played(script).outputs
