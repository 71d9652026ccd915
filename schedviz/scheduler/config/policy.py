"""A Policy, which configured schedulers before there were plugins, as profiles of a KubeSchedulerConfiguration.

Called by `old_versions`. Mirrors framework/plugins/legacy_registry.go of the last versions that read policies (v1.22).
"""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]
ALWAYS = ("NodeUnschedulable", "TaintToleration")
PREDICATES: dict[str, tuple[str, ...]] = {
    "GeneralPredicates": ("NodeName", "NodePorts", "NodeAffinity", "NodeResourcesFit"),
    "PodFitsResources": ("NodeResourcesFit",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "HostName": ("NodeName",),
    "MatchNodeSelector": ("NodeAffinity",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "EvenPodsSpread": ("PodTopologySpread",),
}
PRIORITIES = {
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    "RequestedToCapacityRatioPriority": "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "SelectorSpreadPriority": "PodTopologySpread",
    "ServiceSpreadingPriority": "PodTopologySpread",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
}


def as_configuration(raw: Raw, notes: list[str]) -> Raw:
    """In the form of the old configurations; `old_versions` does the rest."""
    full = {name: one for name, one in raw.items() if name not in ("predicates", "priorities")}
    plugins: Raw = {}
    if isinstance(raw.get("predicates"), list):
        names = _filters(raw["predicates"], notes)
        plugins["filter"] = _only([{"name": name} for name in names])
    if isinstance(raw.get("priorities"), list):
        plugins["score"] = _only(_scores(raw["priorities"], notes))
    if plugins:
        full["plugins"] = plugins
    if any(_name(one) == "MostRequestedPriority" for one in raw.get("priorities") or ()):
        strategy = {"scoringStrategy": {"type": "MostAllocated"}}
        full["pluginConfig"] = [{"name": "NodeResourcesFit", "args": strategy}]
    return full


def _name(one: Any) -> str:
    return str(one.get("name") or "") if isinstance(one, dict) else ""


def _only(enabled: list[Raw]) -> Raw:
    return {"disabled": [{"name": "*"}], "enabled": enabled}


def _filters(predicates: list[Any], notes: list[str]) -> list[str]:
    names = list(ALWAYS)
    for one in predicates:
        plugins = PREDICATES.get(_name(one))
        if plugins is None:
            notes.append(f"predicates: {_name(one)} left out, no plugin does its work")
        names += plugins or ()
    return list(dict.fromkeys(names))


def _scores(priorities: list[Any], notes: list[str]) -> list[Raw]:
    weights: dict[str, int] = {}
    for one in priorities:
        plugin = PRIORITIES.get(_name(one))
        if plugin is None:
            notes.append(f"priorities: {_name(one)} left out, no plugin does its work")
            continue
        weight = one.get("weight")
        weights.setdefault(plugin, weight if isinstance(weight, int) else 1)
    return [{"name": name, "weight": weight} for name, weight in weights.items()]
