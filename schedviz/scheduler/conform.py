"""A conformance case, answered: one pod, the objects around it and a configuration in, what the framework says out.

Called by the tests and by `manage.py conform`, with the cases that the real kube-scheduler v1.36 answered. The answer
has the same keys and the same form as a case's "expect"; `differences` compares the two.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from schedviz.kube import objects
from schedviz.kube.kinds import KINDS
from schedviz.kube.objects import Node, Other, Pod
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.config import DEFAULT_SCHEDULER_NAME, features
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.interface import Plugin
from schedviz.scheduler.framework.runtime import (
    FilterVerdict,
    Framework,
    PreFilterVerdict,
    spoken,
)
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import Status
from schedviz.scheduler.framework.steps import Step
from schedviz.scheduler.profile import configured_profiles

T = TypeVar("T")
Answer = dict[str, Any]
SHOWN_POINTS = ("preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score")


class Trial:
    """The world of one case: the snapshot, the framework that the pod asks for, and the pod."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        raws = [copy.deepcopy(raw) for raw in case["objects"]]
        target = copy.deepcopy(case["pod"])
        for raw in (*raws, target):
            _apply_api_defaults(raw, raws)
        self.pod = _parsed(target, Pod)
        self.pending: list[Pod] = []
        cache = Cache()
        for raw in sorted(raws, key=_name):
            if raw["kind"] == "Node":
                cache.set_node(_parsed(raw, Node))
            elif raw["kind"] != "Pod":
                cache.listers.replace(None, _parsed(raw, Other))
        for raw in sorted(raws, key=_name):
            if raw["kind"] == "Pod":
                self._take(_parsed(raw, Pod), cache)
        self.nodes: Snapshot = cache.update_snapshot()
        profiles = configured_profiles(
            case.get("config"), features=features(case.get("featureGates"))
        )
        self.framework: Framework = profiles[self.pod.scheduler_name or DEFAULT_SCHEDULER_NAME]

    def _take(self, pod: Pod, cache: Cache) -> None:
        if pod.is_terminal or pod.uid == self.pod.uid:
            return
        if pod.node_name:
            cache.add_pod(pod)
        else:
            self.pending.append(pod)


def _name(raw: Mapping[str, Any]) -> tuple[str, str]:
    return (raw["metadata"].get("namespace") or "", raw["metadata"]["name"])


def _parsed(raw: dict[str, Any], kind: type[T]) -> T:
    parsed = objects.parse(raw["kind"], raw)
    if not isinstance(parsed, kind):
        raise TypeError(f"{raw['kind']} is not the kind that belongs here")
    return parsed


def _apply_api_defaults(raw: dict[str, Any], among: list[dict[str, Any]]) -> None:
    """What the API server does on creation and `objects.parse` can't know of."""
    meta = raw["metadata"]
    kind = KINDS.get(raw["kind"])
    if kind is not None and kind.namespaced:
        meta.setdefault("namespace", "default")
    meta.setdefault("uid", f"{meta.get('namespace', '')}/{meta['name']}")
    if raw["kind"] == "Namespace":
        labels = meta["labels"] = meta.get("labels") or {}
        labels["kubernetes.io/metadata.name"] = meta["name"]
    if raw["kind"] != "Pod" or "priority" in (raw.get("spec") or {}):
        return
    spec = raw.setdefault("spec", {})
    wanted = spec.get("priorityClassName")
    for one in among:
        if one["kind"] == "PriorityClass" and (
            one["metadata"]["name"] == wanted if wanted else one.get("globalDefault")
        ):
            spec["priority"] = one.get("value", 0)
            if one.get("preemptionPolicy"):
                spec.setdefault("preemptionPolicy", one["preemptionPolicy"])


def answer(case: Mapping[str, Any]) -> Answer:
    """What our framework says of the case, in the form of its "expect"."""
    trial = Trial(case)
    framework, nodes, pod = trial.framework, trial.nodes, trial.pod
    state = CycleState()
    said: Answer = {
        "order": {p: [one.name for one in _plugins(framework, p)] for p in SHOWN_POINTS},
        "preEnqueue": {
            one.name: _told(spoken(one, one.pre_enqueue(pod)))  # type: ignore[attr-defined]
            for one in _plugins(framework, "preEnqueue")
        },
        "weights": {
            one.name: framework.weights.get(one.name, 1) for one in _plugins(framework, "score")
        },
    }
    steps, before = _drained(framework.run_pre_filter(state, pod, nodes))
    said["preFilter"] = _pre_filter(steps, before)
    said.update({key: {} for key in ("filter", "firstFailure", "preScore", "score", "normalized")})
    said.update(feasible=[], total={}, best=[])
    if before.status.is_success:
        _, verdict = _drained(framework.run_filter(state, pod, nodes, only=before.node_names))
        said["filter"] = dict(_by_node(nodes, verdict))
        said["firstFailure"] = dict(_first_failures(nodes, verdict))
        said["feasible"] = [nodes.names[int(row)] for row in verdict.feasible]
        if len(verdict.feasible):
            said.update(_scores(framework, state, pod, nodes, verdict))
    return said


def _plugins(framework: Framework, point: str) -> tuple[Plugin, ...]:
    return framework.points[point[0].upper() + point[1:]]


def _drained(run: Generator[Step, None, T]) -> tuple[list[Step], T]:
    steps = []
    while True:
        try:
            steps.append(next(run))
        except StopIteration as end:
            return steps, end.value


def _told(status: Status) -> Answer:
    return {"code": status.code.title, "reasons": sorted(status.reasons)}


def _blamed(status: Status) -> Answer:
    return {"plugin": status.plugin, **_told(status)}


def _pre_filter(steps: list[Step], before: PreFilterVerdict) -> Answer:
    return {
        "statuses": {step.plugin: _told(step.status) for step in steps},
        "nodeNames": None if before.node_names is None else sorted(before.node_names),
        "rejected": None if before.status.is_success else _blamed(before.status),
    }


def _by_node(nodes: Snapshot, verdict: FilterVerdict) -> Iterator[tuple[str, Answer]]:
    for row, name in enumerate(nodes.names):
        if verdict.first_failure[row] != -2:
            yield (
                name,
                {
                    step.plugin: _told(step.nodes.status(row))
                    for step in verdict.steps
                    if step.nodes is not None
                },
            )


def _first_failures(nodes: Snapshot, verdict: FilterVerdict) -> Iterator[tuple[str, Answer | None]]:
    for row, name in enumerate(nodes.names):
        number = int(verdict.first_failure[row])
        step = verdict.steps[number] if number >= 0 else None
        if number != -2:
            yield (
                name,
                None
                if step is None or step.nodes is None
                else _blamed(step.nodes.status(row).by(step.plugin)),
            )


def _scores(
    framework: Framework, state: CycleState, pod: Pod, nodes: Snapshot, verdict: FilterVerdict
) -> Answer:
    names = [nodes.names[int(row)] for row in verdict.feasible]
    pre_steps, status = _drained(framework.run_pre_score(state, pod, nodes, verdict.feasible))
    said: Answer = {"preScore": {step.plugin: _told(step.status) for step in pre_steps}}
    if not status.is_success:
        return said
    steps, (status, totals) = _drained(framework.run_score(state, pod, nodes, verdict.feasible))
    if not framework.points["Score"]:
        totals = np.ones(len(names), dtype=np.int64)
    raw: dict[str, Any] = {}
    normalized: dict[str, Any] = {}
    for step in steps:
        if step.scores is not None:
            raw[step.plugin] = dict(zip(names, step.scores.raw.tolist(), strict=True))
            normalized[step.plugin] = dict(zip(names, step.scores.normalized.tolist(), strict=True))
    total = dict(zip(names, totals.tolist(), strict=True))
    best = [name for name, n in total.items() if n == max(total.values())]
    return {**said, "score": raw, "normalized": normalized, "total": total, "best": best}


def differences(expected: Any, actual: Any, at: str = "") -> Iterator[str]:
    """Every place where the two differ, as a line with its path."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted(expected.keys() | actual.keys()):
            where = f"{at}.{key}" if at else str(key)
            if key not in actual:
                yield f"{where}: expected {expected[key]!r}, absent"
            elif key not in expected:
                yield f"{where}: not expected: {actual[key]!r}"
            else:
                yield from differences(expected[key], actual[key], where)
    elif expected != actual:
        yield f"{at}: expected {expected!r}, got {actual!r}"
