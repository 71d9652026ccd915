"""Can a scheduler run with this configuration? Every rule, all complaints together, in upstream's words and order.

Called by `load` with the whole configuration (defaults included). Mirrors
pkg/scheduler/apis/config/validation/validation.go and component-base/config/validation (v1.36). What only shows when
the plugins are made is `profile`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from typing import Any

from schedviz.scheduler.config import durations
from schedviz.scheduler.config.errors import (
    Problem,
    Verbatim,
    child,
    duplicate,
    invalid,
    quoted,
    required,
)
from schedviz.scheduler.config.names import is_extended_resource, label_key_faults
from schedviz.scheduler.config.plugin_args import LATE, argument_problems
from schedviz.scheduler.config.plugin_sets import PluginSet
from schedviz.scheduler.config.types import API_VERSION, POINTS

Raw = Mapping[str, Any]
REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
WAS_INVALID = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
NOT_A_POINT = ("multiPoint", "placementGenerate", "placementScore")


def problems(full: Raw, features: Set[str]) -> list[Problem]:
    """Everything that is wrong; nothing when it can run."""
    return [
        *_client_connection(full["clientConnection"]),
        *_leader_election(full["leaderElection"]),
        *_whole_number(full),
        *_profiles(full["profiles"], features),
        *_percentage("percentageOfNodesToScore", full["percentageOfNodesToScore"]),
        *_backoff(full["podInitialBackoffSeconds"], full["podMaxBackoffSeconds"]),
        *_extenders(full.get("extenders") or []),
    ]


def _client_connection(raw: Raw) -> Iterator[Problem]:
    if raw["burst"] < 0:
        yield invalid("clientConnection.burst", raw["burst"], "must be non-negative")


def _leader_election(raw: Raw) -> Iterator[Problem]:
    if not raw["leaderElect"]:
        return
    lengths = {}
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        lengths[name] = durations.parse(raw[name])
        if lengths[name] <= 0:
            value = Verbatim(raw[name])
            yield invalid(f"leaderElection.{name}", value, "must be greater than zero")
    if lengths["leaseDuration"] <= lengths["renewDeadline"]:
        value = Verbatim(raw["renewDeadline"])
        words = "must be greater than `RenewDeadline`"
        yield invalid("leaderElection.leaseDuration", value, words)
    if raw["resourceLock"] != "leases":
        words = 'resourceLock value must be "leases"'
        mend = "write resourceLock: leases, or leave it out"
        yield invalid("leaderElection.resourceLock", raw["resourceLock"], words, mend)


def _whole_number(full: Raw) -> Iterator[Problem]:
    if full["parallelism"] <= 0:
        words = "should be an integer value greater than zero"
        yield invalid("parallelism", full["parallelism"], words, "leave it out for 16")


def _percentage(path: str, value: int | None) -> Iterator[Problem]:
    if value is not None and not 0 <= value <= 100:
        mend = "0 lets the scheduler choose by the size of the cluster"
        yield invalid(path, value, "not in valid range [0-100]", mend)


def _backoff(initial: int, largest: int) -> Iterator[Problem]:
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if largest < initial:
        words = "must be greater than or equal to PodInitialBackoffSeconds"
        mend = f"podInitialBackoffSeconds is {initial}; podMaxBackoffSeconds is 10 when left out"
        yield invalid("podMaxBackoffSeconds", largest, words, mend)


# ---- profiles ------------------------------------------------------------------------------------------------------


def _profiles(profiles: list[Raw], features: Set[str]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        path, name = f"profiles[{i}]", profile["schedulerName"]
        if not name:
            mend = "with several profiles each needs its own name"
            yield required(child(path, "schedulerName"), mend=mend)
        yield from _percentage(
            child(path, "percentageOfNodesToScore"), profile.get("percentageOfNodesToScore")
        )
        yield from _removed_plugins(child(path, "plugins"), profile["plugins"])
        yield from _plugin_config(child(path, "pluginConfig"), profile["pluginConfig"], features)
        if name in seen:
            first = Verbatim(f"profiles[{seen[name]}].schedulerName")
            yield duplicate(child(path, "schedulerName"), first)
        seen[name] = i
    yield from _common_queue_sort(profiles)


def _removed_plugins(path: str, plugins: Raw) -> Iterator[Problem]:
    for point in POINTS:
        if point in NOT_A_POINT:
            continue
        for i, one in enumerate(plugins[point].get("enabled") or ()):
            if one["name"] in REMOVED:
                mend = "NodeVolumeLimits does its work"
                yield invalid(f"{path}.{point}.enabled[{i}]", one["name"], WAS_INVALID, mend)


def _plugin_config(path: str, entries: list[Raw], features: Set[str]) -> Iterator[Problem]:
    seen = set()
    for i, entry in enumerate(entries):
        at, name = f"{path}[{i}]", entry["name"]
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
        if name in REMOVED:
            yield invalid(at, name, WAS_INVALID, "NodeVolumeLimits does its work")
        elif name not in LATE:
            yield from argument_problems(name, child(at, "args"), entry["args"], features)


def _common_queue_sort(profiles: list[Raw]) -> Iterator[Problem]:
    canon = PluginSet.read(profiles[0]["plugins"]["queueSort"])
    name = canon.enabled[0].name if canon.enabled else ""
    if len(canon.enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        words = "only one queue sort plugin can be enabled"
        yield invalid(path, len(canon.enabled), words, "keep one plugin below queueSort")
    args = _args_of(profiles[0], name)
    for i, profile in enumerate(profiles[1:], start=1):
        own = PluginSet.read(profile["plugins"]["queueSort"])
        if own != canon:
            words = "must be the same for all profiles"
            mend = "there is one queue for all profiles: give each the same queueSort"
            path = f"profiles[{i}].plugins.queueSort"
            yield invalid(path, Verbatim(_go_set(own)), words, mend)
        if any(one["name"] == name for one in profile["pluginConfig"]):
            theirs = _args_of(profile, name)
            if theirs != args:
                words = "queueSort must be the same for all profiles"
                value = Verbatim(json.dumps(theirs, default=str))
                yield invalid(f"profiles[{i}].pluginConfig.args", value, words)


def _args_of(profile: Raw, name: str) -> Any:
    return next(
        (one["args"] for one in profile["pluginConfig"] if name and one["name"] == name), None
    )


def _go_set(one: PluginSet) -> str:
    """As Go prints the struct."""

    def plugins(names: list[tuple[str, int]]) -> str:
        if not names:
            return "[]config.Plugin(nil)"
        inside = ", ".join(
            f"config.Plugin{{Name:{quoted(name)}, Weight:{weight}}}" for name, weight in names
        )
        return f"[]config.Plugin{{{inside}}}"

    enabled = plugins([(each.name, each.weight) for each in one.enabled])
    disabled = plugins([(name, 0) for name in one.disabled])
    return f"config.PluginSet{{Enabled:{enabled}, Disabled:{disabled}}}"


# ---- extenders -----------------------------------------------------------------------------------------------------


def _extenders(extenders: list[Raw]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, one in enumerate(extenders):
        path = f"extenders[{i}]"
        weight = one.get("weight", 0)
        if one.get("prioritizeVerb") and weight <= 0:
            words = "must have a positive weight applied to it"
            yield invalid(
                child(path, "weight"), weight, words, "its scores count times this weight"
            )
        for j, resource in enumerate(one.get("managedResources") or ()):
            at, name = f"{path}.managedResources[{j}].name", resource["name"]
            yield from _extended_resource(at, name)
            if name in seen:
                yield invalid(at, name, "duplicate extender managed resource name")
            seen.add(name)
    binders = sum(1 for one in extenders if one.get("bindVerb"))
    if binders > 1:
        value = f"found {binders} extenders implementing bind"
        yield invalid("extenders", value, "only one extender can implement bind")


def _extended_resource(path: str, name: str) -> Iterator[Problem]:
    faults = label_key_faults(name)
    for fault in faults:
        yield invalid(path, name, fault)
    if not faults and not is_extended_resource(name):
        mend = "an extended resource has a domain of its own, such as example.com/widget"
        yield invalid(path, name, "is an invalid extended resource name", mend)
