"""A sandbox's beginning and what then happens in it, read from the YAML files beside this module.

Used by `server` (which `player` plays them for). Everything in a scenario follows from its file, its seed and the
seconds played: the same file gives the same pods at the same moments.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from schedviz.kube import quantity
from schedviz.sandbox.annotations import DENY_BINDING_SECONDS, END_EVERY_SECONDS, RUN_SECONDS
from schedviz.sandbox.storage import Object

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
FOLDER = Path(__file__).parent
WAVE_DEPTH = 0.5
"""How far a wave takes the rate of a stream: down to 1 / (1 + depth), up to 1 / (1 - depth) of its mean."""


class ScenarioError(ValueError):
    """A scenario that can't be played; the message names the file, the place and what would be right."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """`count` nodes of one shape: name-1, name-2, ... (a single one keeps the name as it is)."""

    name: str
    count: int = 1
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 60
    zone: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[dict[str, str]] = field(default_factory=list)
    extended: dict[str, str] = field(default_factory=dict)
    images: list[dict[str, Any]] = field(default_factory=list)
    unschedulable: bool = False

    def __post_init__(self) -> None:
        _positive(self, "count", "pods")
        _quantities({"cpu": self.cpu, "memory": self.memory} | self.extended)

    def objects(self) -> Iterator[Object]:
        for number in range(1, self.count + 1):
            yield self._object(self.name if self.count == 1 else f"{self.name}-{number}")

    def _object(self, name: str) -> Object:
        amounts = {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods)}
        amounts |= {"ephemeral-storage": "100Gi"} | self.extended
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        labels["kubernetes.io/arch"] = "amd64"
        if self.zone:
            labels["topology.kubernetes.io/zone"] = self.zone
        spec: Object = {"taints": self.taints} if self.taints else {}
        if self.unschedulable:
            spec["unschedulable"] = True
            cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            spec["taints"] = [*self.taints, cordoned]
        status = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": self.images,
        }
        return {
            "metadata": {"name": name, "labels": labels | self.labels},
            "spec": spec,
            "status": status,
        }


@dataclass(frozen=True, slots=True)
class Stream:
    """Pods of one kind, one about every `every` seconds from `start` until `until`.

    wave: length of the waves in which they come (0: evenly). run: seconds a pod runs, [least, most]. end_every: its end
    waits for the next full so-many seconds, so that many pods end at one moment. ungate_after: its gates go after so
    long. deny_for: it cannot be bound before it is so old. give_up_after: without a node it is deleted after so long.
    """

    name: str
    namespace: str
    every: float
    start: float = 0.0
    until: float = 1800.0
    wave: float = 0.0
    run: tuple[float, float] | None = None
    end_every: float = 0.0
    priority: str = ""
    cpu: str = "100m"
    memory: str = "128Mi"
    image: str = "registry.k8s.io/pause:3.10"
    requests: dict[str, str] = field(default_factory=dict)
    ungate_after: float = 0.0
    deny_for: float = 0.0
    give_up_after: float = 0.0
    spec: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _positive(self, "every")
        if self.run is not None and (len(self.run) != 2 or not 0 <= self.run[0] <= self.run[1]):
            raise ValueError("run: write [least, most] seconds")
        _quantities({"cpu": self.cpu, "memory": self.memory} | self.requests)

    def moment(self, number: int) -> float:
        """When pod `number` comes: later numbers come later."""
        even = number * self.every
        if self.wave:
            turn = 2 * math.pi / self.wave
            even += WAVE_DEPTH * math.sin(turn * even) / turn
        return self.start + even

    def due(self, after: float, now: float) -> Iterator[int]:
        """Numbers of the pods that come in (after, now]."""
        early = after - self.start - self.wave / (4 * math.pi)
        number = max(0, math.floor(early / self.every))
        while (at := self.moment(number)) <= min(now, self.until):
            if at > after:
                yield number
            number += 1

    def pod_name(self, number: int) -> str:
        """name-0, name-1, ...; where only one comes, it keeps the name as it is."""
        return f"{self.name}-{number}" if self.moment(1) <= self.until else self.name

    def pod(self, number: int, seed: int) -> Object:
        annotations = {}
        if self.run is not None:
            seconds = random.Random(f"{seed} {self.name} {number}").uniform(*self.run)
            annotations[RUN_SECONDS] = f"{seconds:.1f}"
        if self.end_every:
            annotations[END_EVERY_SECONDS] = f"{self.end_every:g}"
        if self.deny_for:
            annotations[DENY_BINDING_SECONDS] = f"{self.deny_for:g}"
        requests = {"cpu": self.cpu, "memory": self.memory} | self.requests
        container = {"name": "main", "image": self.image, "resources": {"requests": requests}}
        spec = {"containers": [container], **self.spec}
        if "ports" in self.spec:
            container["ports"] = spec.pop("ports")
        if self.priority:
            spec["priorityClassName"] = self.priority
        meta = {"name": self.pod_name(number), "labels": {"app": self.name}}
        return {"metadata": {**meta, "annotations": annotations}, "spec": spec}


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    seed: int = 0
    namespaces: list[str] = field(default_factory=list)
    priority_classes: dict[str, int] = field(default_factory=dict)
    nodes: list[Nodes] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)


# ---- reading -------------------------------------------------------------------------------------------------------

_TOP = ("seed", "namespaces", "priorityClasses", "nodes", "pods")


def load(name: str) -> Scenario:
    """One of the product's own. Raises ScenarioError."""
    known = sorted(one.stem for one in FOLDER.glob("*.yaml"))
    if name not in known:
        raise ScenarioError(f"there is no scenario {name[:80]!r}: use one of {', '.join(known)}")
    return parse(name, (FOLDER / f"{name}.yaml").read_text())


def parse(name: str, text: str) -> Scenario:
    """Raises ScenarioError."""
    try:
        raw = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ScenarioError(f"scenario {name}: not YAML: {error}") from None
    if not isinstance(raw, dict):
        raise ScenarioError(f"scenario {name}: write a map with {', '.join(_TOP)}")
    for key in raw:
        if key not in _TOP:
            raise ScenarioError(
                f"scenario {name}: {key!r} is not known here: use {', '.join(_TOP)}"
            )
    classes = raw.get("priorityClasses") or {}
    namespaces = raw.get("namespaces") or []
    if not isinstance(classes, dict) or not all(type(v) is int for v in classes.values()):
        raise ScenarioError(f"scenario {name}: priorityClasses: write names with whole numbers")
    if not isinstance(namespaces, list) or not isinstance(raw.get("seed", 0), int):
        raise ScenarioError(
            f"scenario {name}: write namespaces as a list and seed as a whole number"
        )
    made = Scenario(
        name=name,
        seed=raw.get("seed", 0),
        namespaces=[str(one) for one in namespaces],
        priority_classes={str(key): value for key, value in classes.items()},
        nodes=[_read(Nodes, one, at) for at, one in _listed(name, raw, "nodes")],
        streams=[_read(Stream, one, at) for at, one in _listed(name, raw, "pods")],
    )
    _check_names(made)
    return made


def _listed(name: str, raw: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    listed = raw.get(key) or []
    if not isinstance(listed, list):
        raise ScenarioError(f"scenario {name}: {key}: write a list")
    return [(f"scenario {name}: {key}[{number}]", one) for number, one in enumerate(listed)]


def _read(cls: type[T], raw: Any, where: str) -> T:
    """One of the dataclasses above from its map; text that looks like a number may be written without quotes."""
    if not isinstance(raw, dict):
        raise ScenarioError(f"{where}: write a map")
    known = {one.name: str(one.type) for one in fields(cls)}
    given: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in known:
            raise ScenarioError(f"{where}: {key!r} is not known here: use {', '.join(known)}")
        given[key] = _typed(known[key], value, f"{where}: {key}")
    for key in ("name", "namespace", "every"):
        if key in known and key not in given:
            raise ScenarioError(f"{where}: {key} is missing")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"{where} ({raw['name']}): {error}") from None


def _typed(form: str, value: Any, where: str) -> Any:
    """The value, if it has the form that the dataclass declares."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    forms: dict[str, tuple[bool, str]] = {
        "str": (isinstance(value, str) or number, "text"),
        "int": (number and value == int(value), "a whole number"),
        "float": (number, "a number"),
        "bool": (isinstance(value, bool), "true or false"),
        "dict": (isinstance(value, dict), "a map"),
        "list": (isinstance(value, list), "a list"),
        "tuple": (isinstance(value, list) and len(value) == 2, "[least, most] seconds"),
    }
    name = form.partition("[")[0]
    right, words = forms[name]
    if not right:
        raise ScenarioError(f"{where}: {str(value)[:60]!r} is wrong here: write {words}")
    if form == "dict[str, str]":
        return {str(key): str(one) for key, one in value.items()}
    return str(value) if name == "str" else tuple(value) if name == "tuple" else value


def _check_names(scenario: Scenario) -> None:
    """What the streams speak of is there, and no two have one name."""
    spaces = {"default", "kube-system", *scenario.namespaces}
    seen: set[tuple[str, str]] = set()
    for number, stream in enumerate(scenario.streams):
        where = f"scenario {scenario.name}: pods[{number}] ({stream.name})"
        if stream.namespace not in spaces:
            known = ", ".join(sorted(spaces))
            raise ScenarioError(f"{where}: namespace {stream.namespace!r} is not one of {known}")
        if stream.priority and stream.priority not in scenario.priority_classes:
            known = ", ".join(sorted(scenario.priority_classes)) or "none"
            raise ScenarioError(f"{where}: priority {stream.priority!r} is not one of {known}")
        if (stream.namespace, stream.name) in seen:
            raise ScenarioError(f"{where}: there are two of this name in {stream.namespace}")
        seen.add((stream.namespace, stream.name))


def _positive(one: object, *names: str) -> None:
    for name in names:
        if not getattr(one, name) > 0:
            raise ValueError(f"{name}: {getattr(one, name)!r} is not above 0")


def _quantities(amounts: dict[str, str]) -> None:
    for name, amount in amounts.items():
        try:
            quantity.parse(amount)
        except quantity.QuantityError as error:
            raise ValueError(f"{name}: {error}") from None
