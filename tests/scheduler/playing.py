"""A small cluster for tests of the whole scheduler: an API server's state, a watch that lags, effects that fail.

`Play.do(word, n)` does one thing; what it does when nothing fits the number is nothing. Everything the scheduler puts
out is kept in order, in a form that can be compared byte for byte.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import orjson

from schedviz.kube import objects
from schedviz.kube.objects import KubeObject
from schedviz.scheduler import journal
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    Command,
    CommandResult,
    CycleRecord,
    DeletePod,
    Effect,
    Lane,
    Move,
    PatchPodStatus,
    Reply,
)
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Output, Scheduler
from tests import make

ANSWERS = {
    "answer": (True, 201, True),
    "conflict": (False, 409, False),
    "lose the answer": (False, 0, True),
    "lose the request": (False, 0, False),
}
"""How an effect ends: is it ok, with which status, and was it done."""
WORDS = (
    *("add node", "cordon", "delete node", "add pod", "delete pod", "label pod"),
    *("replace pod", "deliver", "cycle", "wait", "retry", "move", "hold", "release"),
    *("flush", "undo", *ANSWERS),
)


class Play:
    def __init__(self, seed: int = 0) -> None:
        self.scheduler = Scheduler({"default-scheduler": default_profile()}, seed=seed)
        self.now = 100.0
        self.raw: dict[tuple[str, str], dict[str, Any]] = {}  # the API server's state by kind, name
        self.watch: deque[tuple[str, dict[str, Any] | None, dict[str, Any] | None]] = deque()
        self.effects: list[Effect] = []
        self.outputs: list[bytes] = []
        self.moves: list[Move] = []
        self.records: dict[int, CycleRecord] = {}
        self.bound: dict[str, list[str]] = {}  # by uid: every node it was ever bound to
        self.results: list[tuple[dict[str, Any], CommandResult]] = []  # of moves
        self._n = 0

    # ---- one thing -------------------------------------------------------------------------------------------------

    def do(self, word: str, n: int) -> None:
        if word in ANSWERS:
            self._answer(word, n)
        else:
            getattr(self, "_" + word.replace(" ", "_"))(n)
        self.scheduler.check_invariants()

    def _add_node(self, n: int) -> None:
        rooms = {"cpu": str(1 + n % 4), "pods": str(1 + n % 3)}
        labels = {"zone": "ab"[n % 2]}
        self._put("Node", make.raw_node(f"n{n % 5}", allocatable=rooms, labels=labels))

    def _cordon(self, n: int) -> None:
        if raw := self.raw.get(("Node", f"n{n % 5}")):
            flag = not raw["spec"].get("unschedulable", False)
            self._put("Node", {**raw, "spec": {**raw["spec"], "unschedulable": flag}})

    def _delete_node(self, n: int) -> None:
        self._delete("Node", f"n{n % 5}")

    def _add_pod(self, n: int) -> None:
        self._n += 1
        name = f"p{self._n}"
        selector = [{}, {}, {"zone": "a"}][n % 3]
        gates = [{"name": "g"}] if n % 11 == 0 else []
        requests = {"cpu": str(1 + n % 2)}
        words = {"nodeSelector": selector, "schedulingGates": gates, "priority": n % 3}
        self._put("Pod", make.raw_pod(name, requests=requests, **words))

    def _delete_pod(self, n: int) -> None:
        if pods := self.pods():
            self._delete("Pod", pods[n % len(pods)])

    def _replace_pod(self, n: int) -> None:
        """Deleted and made anew with the same name, and the watch was away meanwhile."""
        if pods := self.pods():
            name = pods[n % len(pods)]
            self._n += 1
            self._put("Pod", make.raw_pod(name, requests={"cpu": "1"}, meta={"uid": f"u{self._n}"}))

    def _label_pod(self, n: int) -> None:
        if pods := self.pods():
            raw = self.raw[("Pod", pods[n % len(pods)])]
            spec = {**raw["spec"], "schedulingGates": []}
            meta = {**raw["metadata"], "labels": {"a": str(n)}}
            self._put("Pod", {**raw, "spec": spec, "metadata": meta})

    def _deliver(self, n: int) -> None:
        """The next event of the watch."""
        if self.watch:
            kind, old, new = self.watch.popleft()
            self._take(
                self.scheduler.apply(Change(kind, _parse(kind, old), _parse(kind, new)), self.now)
            )

    def _cycle(self, n: int) -> None:
        cycle = self.scheduler.start_cycle(self.now)
        if cycle is None:
            return
        try:
            while True:
                next(cycle)
        except StopIteration as end:
            self._take(end.value)

    def _wait(self, n: int) -> None:
        self.now += 0.4 + n % 7
        self._take(self.scheduler.tick(self.now))

    def _retry(self, n: int) -> None:
        self._command("retry", n)

    def _move(self, n: int) -> None:
        self._command("move", n, to=["top", "bottom", 1 + n % 4][n % 3])

    def _hold(self, n: int) -> None:
        self._command("hold", n, reason="wait")

    def _release(self, n: int) -> None:
        self._command("release", n)

    def _flush(self, n: int) -> None:
        which = [{"lane": "backoff"}, {"lane": "unschedulable"}, {"plugin": "NodeResourcesFit"}]
        self._order("flush", {**which[n % 3], "limit": 1 + n % 3})

    def _undo(self, n: int) -> None:
        """One of the moves so far."""
        if self.results:
            args, result = self.results[n % len(self.results)]
            self._order("undo", {**args, "before": result.before, "after": result.after})

    def _command(self, verb: str, n: int, **args: Any) -> None:
        if pods := self.pods():
            uid = self.raw[("Pod", pods[n % len(pods)])]["metadata"]["uid"]
            self._order(verb, {"uid": uid, **args})

    def _order(self, verb: str, args: dict[str, Any]) -> None:
        command = Command(len(self.outputs), verb, args, "olga")
        outputs = self.scheduler.apply(command, self.now)
        (result,) = [output for output in outputs if isinstance(output, CommandResult)]
        if verb == "move":
            self.results.append((args, result))
        self._take(outputs)

    # ---- the API server --------------------------------------------------------------------------------------------

    def pods(self) -> list[str]:
        return [name for kind, name in self.raw if kind == "Pod"]

    def _put(self, kind: str, raw: dict[str, Any]) -> None:
        self._n += 1
        name = raw["metadata"]["name"]
        old = self.raw.get((kind, name))
        meta = {**raw["metadata"], "resourceVersion": str(self._n)}
        self.raw[(kind, name)] = new = {**raw, "metadata": meta}
        self.watch.append((kind, old, new))

    def _delete(self, kind: str, name: str) -> None:
        if old := self.raw.pop((kind, name), None):
            self.watch.append((kind, old, None))

    def _answer(self, how: str, n: int) -> None:
        if not self.effects:
            return
        effect = self.effects.pop(n % len(self.effects))
        is_ok, status, is_done = ANSWERS[how]
        if is_done:
            is_ok, status = self._perform(effect, is_ok, status)
        self._take(self.scheduler.apply(Reply(effect.id, is_ok, status, how), self.now))

    def _perform(self, effect: Effect, is_ok: bool, status: int) -> tuple[bool, int]:
        action = effect.action
        name = action.pod.name  # type: ignore[union-attr]
        raw = self.raw.get(("Pod", name))
        if isinstance(action, Bind):
            if raw is None:
                return False, 404
            if raw["spec"].get("nodeName") or raw["metadata"]["uid"] != action.pod.uid:
                return False, 409
            self.bound.setdefault(action.pod.uid, []).append(action.node_name)
            self._put("Pod", {**raw, "spec": {**raw["spec"], "nodeName": action.node_name}})
        elif isinstance(action, DeletePod):
            self._delete("Pod", name)
        elif isinstance(action, PatchPodStatus):
            self._nominate(raw, action.nominated_node_name)
        return is_ok, status

    def _nominate(self, raw: dict[str, Any] | None, name: str | None) -> None:
        if raw is not None and name is not None:
            self._put("Pod", {**raw, "status": {**raw["status"], "nominatedNodeName": name}})

    # ---- what comes out --------------------------------------------------------------------------------------------

    def _take(self, outputs: list[Output]) -> None:
        for output in outputs:
            self.outputs.append(_bytes(output))
            if isinstance(output, Effect):
                self._keep(output)
            elif isinstance(output, Move):
                self.moves.append(output)
            elif isinstance(output, CycleRecord):
                self.records[output.number] = output

    def _keep(self, effect: Effect) -> None:
        """Binds and deletions wait for a word; conditions and events are written at once."""
        if isinstance(effect.action, Bind):
            assert effect.cycle in self.records, "an effect before its record"
            self.effects.append(effect)
        elif isinstance(effect.action, DeletePod):
            self.effects.append(effect)
        elif isinstance(effect.action, PatchPodStatus):
            self._perform(effect, True, 200)

    def settle(self) -> None:
        """From here on all goes well: every event arrives, every effect is done, and there is room for everybody."""
        self._put("Node", make.raw_node("spare", allocatable={"cpu": "999"}, labels={"zone": "a"}))
        for name in self.pods():
            raw = self.raw[("Pod", name)]
            self._put("Pod", {**raw, "spec": {**raw["spec"], "schedulingGates": []}})
        while self.watch:
            self.do("deliver", 0)
        for n in range(len(self.pods())):
            self.do("release", n)
        for _ in range(400):
            while self.watch:
                self.do("deliver", 0)
            while self.effects:
                self.do("answer", 0)
            if not self.watch and not self.waiting():
                return
            self.do("cycle", 0)
            self.do("wait", 5)
            self.meanwhile()

    def meanwhile(self) -> None:
        """What others do while all goes well."""

    def waiting(self) -> list[str]:
        return [name for name in self.pods() if not self.raw[("Pod", name)]["spec"].get("nodeName")]

    def lanes(self) -> dict[str, Lane]:
        """By pod's uid, as its Moves say."""
        lanes: dict[str, Lane] = {}
        for move in self.moves:
            assert lanes.get(move.pod.uid) is move.source, f"{move} does not join the one before"
            lanes[move.pod.uid] = move.target
            if move.target is Lane.GONE:
                del lanes[move.pod.uid]
        return lanes


def _parse(kind: str, raw: dict[str, Any] | None) -> KubeObject | None:
    return None if raw is None else objects.parse(kind, raw)


def _bytes(output: Output | CommandResult) -> bytes:
    if isinstance(output, CycleRecord):
        summary, blob = journal.encode(output)
        return orjson.dumps(summary) + blob
    return repr(output).encode()
