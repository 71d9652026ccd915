"""One extender: whom it is asked about, how, and what its answers mean.

Made of a configuration by `extenders_of`. A method that asks is a generator: it yields CallExtenders and is sent the
Reply, then yields the Step that goes into the record. Mirrors HTTPExtender of pkg/scheduler/extender.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.config import ExtenderConfig
from schedviz.scheduler.extender import urls, wire
from schedviz.scheduler.extender.go_json import Form, WrongAnswer, decode
from schedviz.scheduler.framework.extending import Filtered, Rows, Victims, VictimsByNode
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import SUCCESS, Code, Error, NodeStatuses, Skip, Status
from schedviz.scheduler.framework.steps import (
    Call,
    CallExtenders,
    Cycle,
    ExtenderAnswer,
    ExtenderCall,
    PodRef,
    Reply,
    Scores,
    Step,
)

MAX_NODE_SCORE = 100
MAX_EXTENDER_PRIORITY = 10
REASON_CHARACTERS = 1024
MOST_STRANGERS = 100
"""An extender may say what it likes; the record has room for so much of it."""
NOTHING_SAID = "returned neither Nodes nor NodeNames: every node counts as refused"
NAMES_IGNORED = (
    "returned NodeNames without Nodes: with nodeCacheCapable false only Nodes counts, "
    "so every node counts as refused"
)


class Refused(Exception):
    """An answer that counts as an error, in upstream's words."""


class HTTPExtender:
    """`name`: its host and path, which name its columns."""

    def __init__(self, config: ExtenderConfig, name: str) -> None:
        self.config, self.name = config, name
        self._url = urls.safe_url(config.url_prefix)

    def is_interested(self, pod: Pod) -> bool:
        managed = self.config.managed_resources
        return not managed or not managed.isdisjoint(pod.requests)

    def filters(self, pod: Pod) -> bool:
        return bool(self.config.filter_verb) and self.is_interested(pod)

    def prioritizes(self, pod: Pod) -> bool:
        return bool(self.config.prioritize_verb) and self.is_interested(pod)

    def preempts(self, pod: Pod) -> bool:
        return bool(self.config.preempt_verb) and self.is_interested(pod)

    def binds(self, pod: Pod) -> bool:
        return bool(self.config.bind_verb) and self.is_interested(pod)

    # ---- filter ----------------------------------------------------------------------------------------------------

    def filter(self, pod: Pod, nodes: Snapshot, rows: Rows) -> Cycle[Filtered | Status]:
        call = self._call(self.config.filter_verb, self._args(pod, nodes, rows))
        answer = yield from _asked(pod, call)
        try:
            said = self._filtered(self._result(answer, wire.FILTER_RESULT), nodes, rows)
        except (Refused, WrongAnswer) as error:
            status = self._failed(str(error))
            yield self._step("Filter", status, call, answer, error=str(error))
            return status
        step = self._step("Filter", _overall(said.statuses), call, answer, hint=said.hint)
        step.nodes = said.statuses
        yield step
        return said

    def _filtered(self, result: dict[str, Any], nodes: Snapshot, rows: Rows) -> Filtered:
        sent = {nodes.names[row]: row for row in rows.tolist()}
        names, hint = self._passed(result)
        for name in names:
            if name not in sent:
                raise Refused(
                    f'extender "{self._url}" claims a filtered node "{name}" which is not found in the input node list'
                )
        statuses = NodeStatuses(len(nodes))
        statuses.reject(slice(None), Skip())
        statuses.reject(rows, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
        strangers: dict[str, str] = {}
        failed = result["FailedNodes"]
        for code, reasons in (
            (Code.UNSCHEDULABLE, failed),
            (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, result["FailedAndUnresolvableNodes"]),
        ):
            for name, words in reasons.items():
                row, reason = nodes.rows.get(name), words[:REASON_CHARACTERS]
                if row is None and len(strangers) < MOST_STRANGERS:
                    strangers[name] = reason
                elif row is None:
                    continue
                else:
                    statuses.reject(row, Status(code, (reason,)))
        passed = np.array(sorted({sent[name] for name in names}), dtype=np.intp)
        statuses.reject(passed, SUCCESS)
        return Filtered(passed, statuses, strangers, f"{self.name} {hint}" if hint else "")

    def _passed(self, result: dict[str, Any]) -> tuple[list[str], str]:
        """The names of the nodes that it lets pass, and what is odd about how it says so."""
        is_by_name = self.config.node_cache_capable
        if is_by_name and result["NodeNames"] is not None:
            return result["NodeNames"], ""
        if result["Nodes"] is not None:
            return result["Nodes"]["items"] or [], ""
        is_told = result["NodeNames"] is not None
        if not is_told and (result["FailedNodes"] or result["FailedAndUnresolvableNodes"]):
            return [], ""
        return [], NAMES_IGNORED if is_told else NOTHING_SAID

    # ---- prioritize ------------------------------------------------------------------------------------------------

    def prioritize_call(self, pod: Pod, nodes: Snapshot, rows: Rows) -> ExtenderCall:
        return self._call(self.config.prioritize_verb, self._args(pod, nodes, rows))

    def prioritized(
        self, call: ExtenderCall, answer: ExtenderAnswer, nodes: Snapshot, rows: Rows
    ) -> Step:
        try:
            result = self._result(answer, wire.HOST_PRIORITY_LIST) or ()
        except (Refused, WrongAnswer) as error:
            return self._step("Score", Skip(), call, answer, error=str(error))
        at = {nodes.names[row]: place for place, row in enumerate(rows.tolist())}
        known = [one for one in result if one["Host"] in at]
        raw = np.zeros(len(rows), dtype=np.int64)
        places = np.array([at[one["Host"]] for one in known], dtype=np.intp)
        np.add.at(raw, places, np.array([one["Score"] for one in known], dtype=np.int64))
        scaled: NDArray[np.int64] = raw * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
        step = self._step("Score", SUCCESS, call, answer)
        step.scores = Scores(rows, raw, scaled, self.config.weight)
        return step

    # ---- preempt ---------------------------------------------------------------------------------------------------

    def preempt(
        self, pod: Pod, nodes: Snapshot, victims: VictimsByNode
    ) -> Cycle[VictimsByNode | Status]:
        config = self.config
        body = wire.preemption_args(pod, victims, by_name=config.node_cache_capable)
        call = self._call(config.preempt_verb, body)
        answer = yield from _asked(pod, call)
        try:
            left = self._victims(self._result(answer, wire.PREEMPTION_RESULT), nodes)
        except (Refused, WrongAnswer) as error:
            status = self._failed(str(error))
            yield self._step("PostFilter", status, call, answer, error=str(error))
            return victims if config.ignorable else status
        yield self._step("PostFilter", SUCCESS, call, answer)
        return left

    def _victims(self, result: dict[str, Any], nodes: Snapshot) -> VictimsByNode:
        found: dict[str, Victims] = {}
        for name, there in result["NodeNameToMetaVictims"].items():
            row = nodes.rows.get(name)
            if row is None:
                raise Refused(f'nodeinfo not found for node name "{name}"')
            there = there or {"Pods": None, "NumPDBViolations": 0}
            pods = tuple(self._victim(one, nodes.infos[row]) for one in there["Pods"] or ())
            if pods:
                found[name] = Victims(pods, there["NumPDBViolations"])
            elif not self.config.ignorable:
                raise Refused(f'expected at least one victim pod on node "{name}"')
        return found

    def _victim(self, meta: Mapping[str, str] | None, there: NodeInfo) -> Pod:
        uid = (meta or {}).get("UID", "")
        if uid not in there.pods:
            raise Refused(
                f"extender: {self._url} claims to preempt pod (UID: &{{{uid}}}) on node: {there.name}, "
                "but the pod is not found on that node"
            )
        return there.pods[uid]

    # ---- bind ------------------------------------------------------------------------------------------------------

    def bind_call(self, pod: Pod, node_name: str) -> ExtenderCall:
        return self._call(self.config.bind_verb, wire.binding_args(pod, node_name))

    def bound(self, call: ExtenderCall, answer: ExtenderAnswer) -> Step:
        try:
            self._result(answer, wire.BINDING_RESULT)
        except (Refused, WrongAnswer) as error:
            return self._step("Bind", self._failed(str(error)), call, answer, error=str(error))
        return self._step("Bind", SUCCESS, call, answer)

    # ---- all of them -----------------------------------------------------------------------------------------------

    def _call(self, verb: str, body: bytes) -> ExtenderCall:
        return ExtenderCall(self.config, verb, body)

    def _args(self, pod: Pod, nodes: Snapshot, rows: Rows) -> bytes:
        infos = nodes.infos
        there = [infos[row].node for row in rows.tolist()]
        return wire.extender_args(pod, there, by_name=self.config.node_cache_capable)

    def _result(self, answer: ExtenderAnswer, form: Form) -> Any:
        """What the answer says; its own Error is one."""
        if answer.error:
            raise Refused(answer.error)
        result = decode(answer.body, form)
        if isinstance(result, dict) and result.get("Error"):
            raise Refused(result["Error"])
        return result

    def _failed(self, words: str) -> Status:
        return Status(Code.SKIP, (words,)) if self.config.ignorable else Error(words)

    def _step(
        self,
        point: str,
        status: Status,
        call: ExtenderCall,
        answer: ExtenderAnswer,
        **more: str,
    ) -> Step:
        url = urls.joined(self._url, call.verb)
        told = Call(url, len(call.body), len(answer.body), answer.seconds, **more)
        return Step(point, self.name, status.by(self.name), call=told)


def extenders_of(configs: Iterable[ExtenderConfig]) -> tuple[HTTPExtender, ...]:
    """In the order in which they are asked."""
    there = list(configs)
    names = urls.names(one.url_prefix for one in there)
    return tuple(map(HTTPExtender, there, names))


def ask(pod: Pod, calls: Iterable[ExtenderCall]) -> Cycle[tuple[ExtenderAnswer, ...]]:
    """All side by side."""
    reply: Reply | None = yield CallExtenders(PodRef.of(pod), tuple(calls))
    if reply is None:
        raise RuntimeError("an extender's call was not answered: whoever drives the cycle must")
    return reply.answers


def _asked(pod: Pod, call: ExtenderCall) -> Cycle[ExtenderAnswer]:
    return (yield from ask(pod, (call,)))[0]


def _overall(statuses: NodeStatuses) -> Status:
    """As a filter plugin's step says it: SUCCESS if any node passed."""
    codes = statuses.codes
    if (codes == int(Code.SUCCESS)).any():
        return SUCCESS
    worst = (codes == int(Code.UNSCHEDULABLE)).any()
    return Status(Code.UNSCHEDULABLE if worst else Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
