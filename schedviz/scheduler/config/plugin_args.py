"""Are the arguments of a built-in plugin ones it can work with? In upstream's words.

Called by `validation` with their path in the file and, for NodeResourcesFit, by `profile` when it makes the plugin:
upstream looks at those only then. Mirrors pkg/scheduler/apis/config/validation/validation_pluginargs.go and
component-helpers nodeaffinity (v1.36). The arguments have their defaults already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

from schedviz.scheduler.config import durations
from schedviz.scheduler.config.errors import (
    Problem,
    Verbatim,
    child,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from schedviz.scheduler.config.names import label_key_faults, label_value_faults

Args = Mapping[str, Any]
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
RATIO = "RequestedToCapacityRatio"
MAX_SCORE = 10
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
LATE = frozenset({"NodeResourcesFit"})
"""Plugins whose arguments upstream validates when it makes the plugin, not with the file."""


def argument_problems(name: str, path: str, args: Args, features: Set[str]) -> list[Problem]:
    check = _CHECKS.get(name)
    return list(check(path, args, features)) if check else []


def _default_preemption(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    percentage, absolute = args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"]
    at_percentage = child(path, "minCandidateNodesPercentage")
    at_absolute = child(path, "minCandidateNodesAbsolute")
    if not 0 <= percentage <= 100:
        yield invalid(at_percentage, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield invalid(at_absolute, absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        words = "cannot be zero at the same time as"
        yield invalid(at_percentage, percentage, f"{words} minCandidateNodesAbsolute")
        yield invalid(at_absolute, absolute, f"{words} minCandidateNodesPercentage")


def _dynamic_resources(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    if durations.parse(args["filterTimeout"]) < 0:
        value = Verbatim(args["filterTimeout"])
        yield invalid(child(path, "filterTimeout"), value, "must be zero or positive")
    if durations.parse(args["bindingTimeout"]) < durations.SECOND:
        value = Verbatim(args["bindingTimeout"])
        yield invalid(child(path, "bindingTimeout"), value, "must be at least 1 second")


def _inter_pod_affinity(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    weight = args["hardPodAffinityWeight"]
    if not 0 <= weight <= 100:
        yield invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _balanced_allocation(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    seen = set()
    for i, one in enumerate(args["resources"]):
        at = f"{child(path, 'resources')}[{i}]"
        if one["name"] in seen:
            yield duplicate(child(at, "name"), one["name"])
        seen.add(one["name"])
        if one["weight"] != 1:
            yield invalid(child(at, "weight"), one["weight"], "must be 1")


def _volume_binding(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    seconds = args["bindTimeoutSeconds"]
    if seconds < 0:
        words = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(child(path, "bindTimeoutSeconds"), seconds, words)
    at = child(path, "shape")
    if "StorageCapacityScoring" in features:
        if "shape" in args:
            yield from _shape(at, args["shape"])
    elif "shape" in args:
        point = "config.UtilizationShapePoint"
        points = ", ".join(
            f"{point}{{Utilization:{one['utilization']}, Score:{one['score']}}}"
            for one in args["shape"]
        )
        words = (
            "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        )
        yield invalid(at, Verbatim(f"[]{point}{{{points}}}"), words)


def _shape(path: str, points: list[Args]) -> Iterator[Problem]:
    if not points:
        yield required(path, "at least one point must be specified")
        return
    for i in range(1, len(points)):
        value = points[i]["utilization"]
        if points[i - 1]["utilization"] >= value:
            at = f"{path}[{i}].utilization"
            mend = "list the points from the lowest utilization to the highest"
            yield invalid(at, value, "values must be sorted in increasing order", mend)
            break
    for i, point in enumerate(points):
        for name, largest in (("utilization", 100), ("score", MAX_SCORE)):
            if not 0 <= point[name] <= largest:
                words = f"not in valid range [0, {largest}]"
                yield invalid(f"{path}[{i}].{name}", point[name], words)


# ---- NodeResourcesFit ----------------------------------------------------------------------------------------------


def _node_resources_fit(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    for i, name in enumerate(args.get("ignoredResources") or ()):
        yield from _label_name(f"{child(path, 'ignoredResources')}[{i}]", name)
    for i, group in enumerate(args.get("ignoredResourceGroups") or ()):
        at = f"{child(path, 'ignoredResourceGroups')}[{i}]"
        if "/" in group:
            mend = "a group is what stands before the /; one whole resource belongs in ignoredResources"
            yield invalid(at, group, "resource group name can't contain '/'", mend)
        yield from _label_name(at, group)
    yield from _scoring_strategy(child(path, "scoringStrategy"), args["scoringStrategy"])


def _scoring_strategy(path: str, strategy: Args) -> Iterator[Problem]:
    kind, ratio = strategy["type"], strategy.get("requestedToCapacityRatio")
    if kind not in STRATEGIES:
        yield not_supported(child(path, "type"), kind, STRATEGIES)
    for i, one in enumerate(strategy["resources"]):
        if not 0 < one["weight"] <= 100:
            words = f"resource weight of {one['name']} not in valid range (0, 100]"
            yield invalid(f"{path}.resources[{i}].weight", one["weight"], words)
    at = child(path, "requestedToCapacityRatio")
    if kind == RATIO and ratio is not None:
        yield from _shape(child(at, "shape"), ratio.get("shape") or [])
    elif kind == RATIO:
        yield required(at, f"must be specified when type is {RATIO}")
    elif ratio is not None:
        yield forbidden(at, f"must be nil when type is not {RATIO}")


def _label_name(path: str, name: str) -> Iterator[Problem]:
    return (invalid(path, name, fault) for fault in label_key_faults(name))


# ---- PodTopologySpread ---------------------------------------------------------------------------------------------


def _pod_topology_spread(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    constraints = args.get("defaultConstraints") or []
    kind, at = args["defaultingType"], child(path, "defaultingType")
    if kind not in ("System", "List"):
        yield not_supported(at, kind, ("System", "List"))
    elif kind == "System" and constraints:
        words = "when .defaultConstraints are not empty"
        yield invalid(at, kind, words, "write defaultingType: List beside defaultConstraints")
    for i, one in enumerate(constraints):
        yield from _constraint(f"{child(path, 'defaultConstraints')}[{i}]", one)
        key, action = one["topologyKey"], one["whenUnsatisfiable"]
        before = ((c["topologyKey"], c["whenUnsatisfiable"]) for c in constraints[:i])
        if (key, action) in before:
            yield duplicate(f"{child(path, 'defaultConstraints')}[{i}]", f"{{{key}, {action}}}")


def _constraint(path: str, one: Args) -> Iterator[Problem]:
    key, action = one["topologyKey"], one["whenUnsatisfiable"]
    if one["maxSkew"] <= 0:
        yield invalid(child(path, "maxSkew"), one["maxSkew"], "not in valid range (0, inf)")
    if not key:
        yield required(child(path, "topologyKey"), "can not be empty")
    else:
        yield from _label_name(child(path, "topologyKey"), key)
    if not action:
        yield required(child(path, "whenUnsatisfiable"), "can not be empty")
    elif action not in ACTIONS:
        yield not_supported(child(path, "whenUnsatisfiable"), action, ACTIONS)
    if "labelSelector" in one:
        words = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(child(path, "labelSelector"), words)


# ---- NodeAffinity --------------------------------------------------------------------------------------------------


def _node_affinity(path: str, args: Args, features: Set[str]) -> Iterator[Problem]:
    affinity: Args = args.get("addedAffinity") or {}
    at = child(path, "addedAffinity")
    required_at = f"{at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    selector = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for i, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        yield from _term(f"{required_at}[{i}]", term)
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    for i, one in enumerate(affinity.get(name) or ()):
        if one.get("weight"):
            yield from _term(f"{at}.{name}[{i}]", one.get("preference") or {})


def _term(path: str, term: Args) -> Iterator[Problem]:
    for i, one in enumerate(term.get("matchExpressions") or ()):
        yield from _label_requirement(f"{path}.matchExpressions[{i}]", one)
    for i, one in enumerate(term.get("matchFields") or ()):
        operator, values = one.get("operator", ""), one.get("values") or []
        at = f"{path}.matchFields[{i}]"
        if operator not in FIELD_OPERATORS:
            yield not_supported(child(at, "operator"), operator, FIELD_OPERATORS)
        elif len(values) != 1:
            yield invalid(child(at, "values"), values, "must have one element")


def _label_requirement(path: str, one: Args) -> Iterator[Problem]:
    key, operator, values = one.get("key", ""), one.get("operator", ""), one.get("values") or []
    if operator not in OPERATORS:
        yield not_supported(child(path, "operator"), operator, OPERATORS)
        return
    faults = label_key_faults(key)
    if faults:
        yield invalid(child(path, "key"), key, "; ".join(faults))
    yield from _values(child(path, "values"), operator, values)
    for i, value in enumerate(values):
        faults = label_value_faults(value)
        if faults:
            yield invalid(f"{path}.values[{i}][{key}]", value, "; ".join(faults))


def _values(path: str, operator: str, values: list[str]) -> Iterator[Problem]:
    shown = values if values else Verbatim("[]string(nil)")
    if operator in ("In", "NotIn") and not values:
        words = "for 'in', 'notin' operators, values set can't be empty"
        yield invalid(path, shown, words)
    if operator in ("Exists", "DoesNotExist") and values:
        words = "values set must be empty for exists and does not exist"
        yield invalid(path, shown, words)
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            words = "for 'Gt', 'Lt' operators, exactly one value is required"
            yield invalid(path, shown, words)
        for i, value in enumerate(values):
            if not re.fullmatch(r"[-+]?[0-9]{1,19}", value, re.ASCII):
                words = "for 'Gt', 'Lt' operators, the value must be an integer"
                yield invalid(f"{path}[{i}]", value, words)


_CHECKS: dict[str, Callable[[str, Args, Set[str]], Iterator[Problem]]] = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "NodeResourcesFit": _node_resources_fit,
    "PodTopologySpread": _pod_topology_spread,
    "VolumeBinding": _volume_binding,
}
