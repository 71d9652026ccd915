"""What is not written in a configuration: every default, and the profile's plugins merged into the default ones.

Called by `load` with what `decoding` read; hands the whole configuration, in the form in which kube-scheduler writes
it out, to `validation` and `effective`. Mirrors pkg/scheduler/apis/config/v1/defaults.go and component-base's
recommended leader election (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from schedviz.scheduler.config.plugin_sets import (
    DEFAULT_SCHEDULER_NAME,
    PluginSet,
    default_multi_point,
)
from schedviz.scheduler.config.types import API_VERSION, EXTENDER, KIND, POINTS

Raw = dict[str, Any]
DEFAULT_EXTENDER_TIMEOUT = "5s"
MINUTES_10 = "10m0s"


def completed(raw: Mapping[str, Any], *, features: Set[str]) -> Raw:
    """The whole configuration of what is written."""
    profiles = [dict(one) for one in raw.get("profiles") or [{}]]
    if len(profiles) == 1:
        profiles[0].setdefault("schedulerName", DEFAULT_SCHEDULER_NAME)
    profiling = raw.get("enableProfiling", True)
    full: Raw = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": raw.get("parallelism", 16),
        "leaderElection": _leader_election(raw.get("leaderElection") or {}),
        "clientConnection": _client_connection(raw.get("clientConnection") or {}),
        "enableProfiling": profiling,
        "enableContentionProfiling": raw.get("enableContentionProfiling", profiling),
        "percentageOfNodesToScore": raw.get("percentageOfNodesToScore", 0),
        "podInitialBackoffSeconds": raw.get("podInitialBackoffSeconds", 1),
        "podMaxBackoffSeconds": raw.get("podMaxBackoffSeconds", 10),
        "profiles": [_profile(one, features) for one in profiles],
    }
    if raw.get("extenders"):
        full["extenders"] = [_extender(one) for one in raw["extenders"]]
    if raw.get("delayCacheUntilActive"):
        full["delayCacheUntilActive"] = True
    return full


def _leader_election(raw: Mapping[str, Any]) -> Raw:
    def duration(name: str, default: str) -> str:
        given = raw.get(name, "0s")
        return default if given == "0s" else str(given)

    return {
        "leaderElect": raw.get("leaderElect", True),
        "leaseDuration": duration("leaseDuration", "15s"),
        "renewDeadline": duration("renewDeadline", "10s"),
        "retryPeriod": duration("retryPeriod", "2s"),
        "resourceLock": raw.get("resourceLock") or "leases",
        "resourceName": raw.get("resourceName") or "kube-scheduler",
        "resourceNamespace": raw.get("resourceNamespace") or "kube-system",
    }


def _client_connection(raw: Mapping[str, Any]) -> Raw:
    qps = raw.get("qps") or 50
    return {
        "kubeconfig": raw.get("kubeconfig", ""),
        "acceptContentTypes": raw.get("acceptContentTypes", ""),
        "contentType": raw.get("contentType") or "application/vnd.kubernetes.protobuf",
        "qps": int(qps) if float(qps).is_integer() else qps,
        "burst": raw.get("burst") or 100,
    }


def _extender(raw: Mapping[str, Any]) -> Raw:
    """As it is written out: what is empty is left out."""
    full = {name: raw[name] for name in EXTENDER.fields if raw.get(name)}
    full["urlPrefix"] = raw.get("urlPrefix", "")
    full["httpTimeout"] = raw.get("httpTimeout", "0s")
    if full["httpTimeout"] == "0s":
        full["httpTimeout"] = DEFAULT_EXTENDER_TIMEOUT
    if "tlsConfig" in raw:
        full["tlsConfig"] = {name: one for name, one in raw["tlsConfig"].items() if one}
    if "managedResources" in full:
        full["managedResources"] = [
            {
                "name": one.get("name", ""),
                **({"ignoredByScheduler": True} if one.get("ignoredByScheduler") else {}),
            }
            for one in full["managedResources"]
        ]
    return full


# ---- profiles ------------------------------------------------------------------------------------------------------


def _profile(raw: Mapping[str, Any], features: Set[str]) -> Raw:
    full: Raw = {"schedulerName": raw.get("schedulerName", "")}
    if "percentageOfNodesToScore" in raw:
        full["percentageOfNodesToScore"] = raw["percentageOfNodesToScore"]
    full["plugins"] = plugins = merged_plugins(raw.get("plugins") or {}, features)
    given = [
        {"name": one["name"], "args": plugin_args(one["name"], one.get("args"))}
        for one in raw.get("pluginConfig") or ()
    ]
    named = {one["name"] for one in given}
    names = {one["name"] for a_set in plugins.values() for one in a_set.get("enabled") or ()}
    given += [
        {"name": name, "args": plugin_args(name, None)}
        for name in sorted(names - named)
        if name in _ARGS
    ]
    full["pluginConfig"] = given
    return full


def merged_plugins(raw: Mapping[str, Any], features: Set[str]) -> Raw:
    """The profile's lists merged into the default ones, point by point, as they are written out."""
    full: Raw = {}
    for point in POINTS:
        default = default_multi_point(features) if point == "multiPoint" else PluginSet()
        full[point] = _written_set(default.merged(PluginSet.read(raw.get(point) or {})))
    return full


def _written_set(a_set: PluginSet) -> Raw:
    written: Raw = {}
    if a_set.enabled:
        written["enabled"] = [{"name": one.name, "weight": one.weight} for one in a_set.enabled]
    if a_set.disabled:
        written["disabled"] = [{"name": name, "weight": 0} for name in a_set.disabled]
    return written


# ---- the arguments of the built-in plugins -------------------------------------------------------------------------


def plugin_args(name: str, raw: Any) -> Any:
    """With the defaults; the arguments of a plugin that is not built in are as they were written."""
    complete = _ARGS.get(name)
    if complete is None:
        return raw
    return {**complete(raw or {}), "apiVersion": API_VERSION, "kind": f"{name}Args"}


def _default_preemption(raw: Raw) -> Raw:
    return {
        "minCandidateNodesPercentage": raw.get("minCandidateNodesPercentage", 10),
        "minCandidateNodesAbsolute": raw.get("minCandidateNodesAbsolute", 100),
    }


def _dynamic_resources(raw: Raw) -> Raw:
    return {
        "filterTimeout": raw.get("filterTimeout", "10s"),
        "bindingTimeout": raw.get("bindingTimeout", MINUTES_10),
    }


def _inter_pod_affinity(raw: Raw) -> Raw:
    return {
        "hardPodAffinityWeight": raw.get("hardPodAffinityWeight", 1),
        "ignorePreferredTermsOfExistingPods": raw.get("ignorePreferredTermsOfExistingPods", False),
    }


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _node_affinity(raw: Raw) -> Raw:
    if "addedAffinity" not in raw:
        return {}
    affinity = raw["addedAffinity"]
    full: Raw = {}
    if REQUIRED in affinity:
        terms = affinity[REQUIRED].get("nodeSelectorTerms")
        written = None if terms is None else [_term(one) for one in terms]
        full[REQUIRED] = {"nodeSelectorTerms": written}
    if affinity.get(PREFERRED):
        full[PREFERRED] = [
            {"weight": one.get("weight", 0), "preference": _term(one.get("preference") or {})}
            for one in affinity[PREFERRED]
        ]
    return {"addedAffinity": full}


def _term(raw: Raw) -> Raw:
    return {
        name: [
            {
                "key": one.get("key", ""),
                "operator": one.get("operator", ""),
                **({"values": one["values"]} if one.get("values") else {}),
            }
            for one in raw[name]
        ]
        for name in ("matchExpressions", "matchFields")
        if raw.get(name)
    }


def _resources(raw: list[Raw] | None) -> list[Raw]:
    given = raw or [{"name": "cpu"}, {"name": "memory"}]
    return [{"name": one.get("name", ""), "weight": one.get("weight") or 1} for one in given]


def _shape(raw: list[Raw]) -> list[Raw]:
    return [{"utilization": one.get("utilization", 0), "score": one.get("score", 0)} for one in raw]


def _balanced_allocation(raw: Raw) -> Raw:
    return {"resources": _resources(raw.get("resources"))}


def _node_resources_fit(raw: Raw) -> Raw:
    full = {
        name: raw[name] for name in ("ignoredResources", "ignoredResourceGroups") if raw.get(name)
    }
    strategy = raw.get("scoringStrategy") or {}
    is_given = "scoringStrategy" in raw
    full["scoringStrategy"] = {
        "type": strategy.get("type", "") if is_given else "LeastAllocated",
        "resources": _resources(strategy.get("resources")),
    }
    ratio = strategy.get("requestedToCapacityRatio")
    if ratio is not None:
        shape = {"shape": _shape(ratio["shape"])} if ratio.get("shape") else {}
        full["scoringStrategy"]["requestedToCapacityRatio"] = shape
    return full


def _pod_topology_spread(raw: Raw) -> Raw:
    full: Raw = {"defaultingType": raw.get("defaultingType") or "System"}
    if raw.get("defaultConstraints"):
        full["defaultConstraints"] = [
            {
                "maxSkew": 0,
                "topologyKey": "",
                "whenUnsatisfiable": "",
                **{name: value for name, value in one.items() if value != []},
            }
            for one in raw["defaultConstraints"]
        ]
    return full


def _volume_binding(raw: Raw) -> Raw:
    full = {"bindTimeoutSeconds": raw.get("bindTimeoutSeconds", 600)}
    return {**full, "shape": _shape(raw["shape"])} if "shape" in raw else full


_ARGS: dict[str, Callable[[Raw], Raw]] = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "NodeResourcesFit": _node_resources_fit,
    "PodTopologySpread": _pod_topology_spread,
    "VolumeBinding": _volume_binding,
}
