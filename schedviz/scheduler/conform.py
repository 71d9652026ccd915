"""A conformance case, answered: one pod, the objects around it and a configuration in, what the framework says out.

Called by the tests and by `manage.py conform`, with the cases that the real kube-scheduler v1.36 answered. The answer
has the same keys and the same form as a case's "expect"; `differences` compares the two.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube import objects
from schedviz.kube.kinds import KINDS
from schedviz.kube.objects import Node, Other, Pod
from schedviz.scheduler import schedule_one
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.config import DEFAULT_SCHEDULER_NAME, features
from schedviz.scheduler.framework.filtering import FilterVerdict
from schedviz.scheduler.framework.interface import Plugin, spoken
from schedviz.scheduler.framework.runtime import Framework, PreFilterVerdict
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import SUCCESS, Status
from schedviz.scheduler.framework.steps import CycleRecord, Outcome, PodRef, Preemption, Step
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.queue.nominator import Nominator
from schedviz.scheduler.schedule_one import Attempt

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
        nominator = Nominator()
        cache = Cache()
        for raw in sorted(raws, key=_name):
            if raw["kind"] == "Node":
                cache.set_node(_parsed(raw, Node))
            elif raw["kind"] != "Pod":
                cache.listers.replace(None, _parsed(raw, Other))
        for raw in sorted(raws, key=_name):
            if raw["kind"] == "Pod":
                self._take(_parsed(raw, Pod), cache, nominator)
        self.nodes: Snapshot = cache.update_snapshot()
        profiles = configured_profiles(
            case.get("config"), features=features(case.get("featureGates"))
        )
        self.framework: Framework = profiles[self.pod.scheduler_name or DEFAULT_SCHEDULER_NAME]
        self.framework.nominated = nominator.by_node
        self.framework.extenders = ()  # a case is answered without anybody else

    def _take(self, pod: Pod, cache: Cache, nominator: Nominator) -> None:
        if pod.is_terminal or pod.uid == self.pod.uid:
            return
        if pod.node_name:
            cache.add_pod(pod)
        else:
            nominator.add(pod)


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
    record = CycleRecord(1, PodRef.of(pod), 1, pod.priority, pod.scheduler_name, 0.0, nodes.names)
    cycle = schedule_one.scheduling_cycle(framework, pod, nodes, record=record, rng=framework.rng)
    _, attempt = _drained(cycle)
    if not len(nodes):  # no pod is tried then; a case says nevertheless what PreFilter would say
        steps, attempt.before = _drained(framework.run_pre_filter(attempt.state, pod, nodes))
        record.steps += steps
    is_error = record.outcome is Outcome.ERROR
    said: Answer = {
        "order": {p: [one.name for one in _plugins(framework, p)] for p in SHOWN_POINTS},
        "preEnqueue": {
            one.name: _told(spoken(one, one.pre_enqueue(pod)))  # type: ignore[attr-defined]
            for one in _plugins(framework, "preEnqueue")
        },
        "weights": {
            one.name: framework.weights.get(one.name, 1) for one in _plugins(framework, "score")
        },
        "preFilter": _pre_filter(attempt),
        "filter": {},
        "firstFailure": {},
        "feasible": [],
        **_scores(trial, attempt),
        "message": None if is_error else record.message or None,
        "postFilter": _post_filter(attempt, nodes),
        "error": record.message if is_error else None,
    }
    if attempt.before is not None and attempt.verdict is not None:
        names = attempt.before.node_names
        rows = [row for row, name in enumerate(nodes.names) if names is None or name in names]
        said["filter"] = {nodes.names[row]: _alone(attempt.verdict, row) for row in rows}
        said["firstFailure"] = {nodes.names[row]: _first(attempt.verdict, row) for row in rows}
        said["feasible"] = [nodes.names[int(row)] for row in attempt.verdict.feasible]
    return said


def _plugins(framework: Framework, point: str) -> tuple[Plugin, ...]:
    return framework.points[point[0].upper() + point[1:]]


def _drained(run: Generator[Any, None, T]) -> tuple[list[Step], T]:
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


def _pre_filter(attempt: Attempt) -> Answer:
    before = attempt.before or PreFilterVerdict(SUCCESS)
    steps = [step for step in attempt.record.steps if step.point == "PreFilter"]
    return {
        "statuses": {step.plugin: _told(step.status) for step in steps},
        "nodeNames": None if before.node_names is None else sorted(before.node_names),
        "rejected": None if before.status.is_success else _blamed(before.status),
    }


def _alone(verdict: FilterVerdict, row: int) -> Answer:
    """What each filter says of the node, nominated pods left out."""
    said = {}
    for number, step in enumerate(verdict.steps):
        statuses = verdict.alone.get(number, step.nodes)
        if statuses is not None:
            said[step.plugin] = _told(statuses.status(row))
    return said


def _first(verdict: FilterVerdict, row: int) -> Answer | None:
    number = int(verdict.first_failure[row])
    step = verdict.steps[number] if number >= 0 else None
    if step is None or step.nodes is None:
        return None
    return _blamed(step.nodes.status(row).by(step.plugin))


def _scores(trial: Trial, attempt: Attempt) -> Answer:
    """All about scoring; done here for a single feasible node, for which a cycle has no need of it."""
    said: Answer = {"preScore": {}, "score": {}, "normalized": {}, "total": {}, "best": []}
    verdict, record = attempt.verdict, attempt.record
    if verdict is None or verdict.error is not None or not len(verdict.feasible):
        return said
    names = [trial.nodes.names[int(row)] for row in verdict.feasible]
    steps, totals = record.steps, record.totals
    if len(names) == 1:
        steps, totals = _scored_alone(trial, attempt, verdict)
    for step in steps:
        if step.point == "PreScore":
            said["preScore"][step.plugin] = _told(step.status)
        elif step.scores is not None:
            pairs = (step.scores.raw.tolist(), step.scores.normalized.tolist())
            said["score"][step.plugin] = dict(zip(names, pairs[0], strict=True))
            said["normalized"][step.plugin] = dict(zip(names, pairs[1], strict=True))
    if totals is not None:
        said["total"] = dict(zip(names, totals.tolist(), strict=True))
        best = totals.max()
        said["best"] = [name for name, total in said["total"].items() if total == best]
    return said


def _scored_alone(
    trial: Trial, attempt: Attempt, verdict: FilterVerdict
) -> tuple[list[Step], NDArray[np.int64] | None]:
    framework, nodes, rows = trial.framework, trial.nodes, verdict.feasible
    steps, status = _drained(framework.run_pre_score(attempt.state, trial.pod, nodes, rows))
    if not status.is_success:
        return steps, None
    more, (status, totals) = _drained(framework.run_score(attempt.state, trial.pod, nodes, rows))
    if not status.is_success:
        return steps + more, None
    is_scored = bool(framework.points["Score"])
    return steps + more, totals if is_scored else np.ones(1, dtype=np.int64)


def _post_filter(attempt: Attempt, nodes: Snapshot) -> Answer | None:
    after = attempt.after
    if after is None:
        return None
    told = after.preemption or Preemption(0)
    name = after.nominated_node_name
    return {
        **_told(after.status),
        "nominating": "none" if name is None else "set" if name else "clear",
        "nominatedNode": name or None,
        "victims": sorted(victim.key for victim in after.victims),
        "candidates": {
            one.node_name: {
                "victims": sorted(one.victims),
                "pdbViolations": one.n_pdb_violations,
            }
            for one in told.candidates
        },
        "ties": sorted(told.ties),
    }


def judge(case: Mapping[str, Any]) -> list[str]:
    """Every place where our answer is not the expected one. Between candidates that tie, chance may choose either."""
    expected, actual = case["expect"], answer(case)
    meant, ours = expected.get("postFilter"), actual["postFilter"]
    if meant and ours and meant.get("nominatedNode") in ours["ties"]:
        ours["nominatedNode"] = meant["nominatedNode"]
        ours["victims"] = ours["candidates"][meant["nominatedNode"]]["victims"]
    return list(differences(expected, actual))


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
