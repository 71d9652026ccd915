"""Which plugins a profile runs where, with which weights and arguments, as a KubeSchedulerConfiguration says it.

Read by `profile`. Mirrors pkg/scheduler/apis/config/v1 default_plugins.go mergePlugins and
framework/runtime expandMultiPointPlugins (v1.36). Left out so far: validation of the file's fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

DEFAULT_SCHEDULER_NAME = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Enabled:
    """A plugin's entry in a list; weight 0: not given."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What one extension point (or multiPoint) enables, in order, and disables; "*" disables all defaults."""

    enabled: tuple[Enabled, ...] = ()
    disabled: frozenset[str] = frozenset()

    def merged(self, custom: PluginSet) -> PluginSet:
        """These defaults with the customs put in: same names in place, new names behind."""
        disabled = self.disabled | custom.disabled
        again = {one.name: one for one in custom.enabled}
        kept = [
            again.get(one.name, one)
            for one in (() if "*" in disabled else self.enabled)
            if one.name not in disabled
        ]
        names = {one.name for one in kept}
        return PluginSet(
            (*kept, *(one for one in custom.enabled if one.name not in names)), disabled
        )


DEFAULT_MULTI_POINT = PluginSet(
    (
        Enabled("SchedulingGates"),
        Enabled("PrioritySort"),
        Enabled("NodeUnschedulable"),
        Enabled("NodeName"),
        Enabled("TaintToleration", 3),
        Enabled("NodeAffinity", 2),
        Enabled("NodePorts"),
        Enabled("NodeResourcesFit", 1),
        Enabled("VolumeRestrictions"),
        Enabled("NodeVolumeLimits"),
        Enabled("VolumeBinding"),
        Enabled("VolumeZone"),
        Enabled("PodTopologySpread", 2),
        Enabled("InterPodAffinity", 2),
        Enabled("DynamicResources", 2),
        Enabled("DefaultPreemption"),
        Enabled("NodeResourcesBalancedAllocation", 1),
        Enabled("ImageLocality", 1),
        Enabled("DefaultBinder"),
        Enabled("NodeDeclaredFeatures"),
    )
)


# Feature gates that some plugin asks for and that are on by default.
DEFAULT_FEATURES = frozenset(
    {
        "MatchLabelKeysInPodTopologySpread",
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "NodeDeclaredFeatures",
    }
)


def features(gates: Mapping[str, bool] | None) -> frozenset[str]:
    """The names of the gates that are on, after these changes to the defaults."""
    gates = gates or {}
    on = {name for name, is_on in gates.items() if is_on}
    return (DEFAULT_FEATURES | on) - (gates.keys() - on)


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """plugins: by the file's names of points ("preFilter", "multiPoint"), merged into the defaults; args: as
    written."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugins: Mapping[str, PluginSet] = field(
        default_factory=lambda: {"multiPoint": DEFAULT_MULTI_POINT}
    )
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin that is enabled anywhere, multiPoint's first."""
        sets = [self.plugins["multiPoint"], *self.plugins.values()]
        return tuple(dict.fromkeys(one.name for a_set in sets for one in a_set.enabled))

    def at(self, point: str, able: Set[str]) -> tuple[str, ...]:
        """The plugins of one extension point in the order they run; `able`: those that have something to say there."""
        own = self.plugins.get(_field_of(point), PluginSet())
        names = [one.name for one in own.enabled]
        if "*" in own.disabled:
            return tuple(names)
        everywhere = [
            one.name
            for one in self.plugins["multiPoint"].enabled
            if one.name in able and one.name not in own.disabled
        ]
        first = [name for name in names if name in everywhere]
        rest = [name for name in everywhere if name not in names]
        return (*first, *rest, *(name for name in names if name not in everywhere))

    def weights(self) -> dict[str, int]:
        """The score list's word counts before multiPoint's; 0 is 1."""
        found: dict[str, int] = {}
        own = self.plugins.get("score", PluginSet())
        for one in (*own.enabled, *self.plugins["multiPoint"].enabled):
            found.setdefault(one.name, one.weight or 1)
        return found


def profile_configs(raw: Mapping[str, Any] | None) -> tuple[ProfileConfig, ...]:
    """The profiles of a KubeSchedulerConfiguration; without any, the default one."""
    profiles: Iterable[Mapping[str, Any]] = (raw or {}).get("profiles") or ({},)
    return tuple(_profile_config(profile) for profile in profiles)


def _profile_config(raw: Mapping[str, Any]) -> ProfileConfig:
    sets = {
        point: _plugin_set(a_set)
        for point, a_set in (raw.get("plugins") or {}).items()
        if a_set is not None
    }
    sets["multiPoint"] = DEFAULT_MULTI_POINT.merged(sets.get("multiPoint", PluginSet()))
    return ProfileConfig(
        raw.get("schedulerName") or DEFAULT_SCHEDULER_NAME,
        sets,
        {one["name"]: one.get("args") or {} for one in raw.get("pluginConfig") or ()},
    )


def _plugin_set(raw: Mapping[str, Any]) -> PluginSet:
    return PluginSet(
        tuple(Enabled(one["name"], one.get("weight") or 0) for one in raw.get("enabled") or ()),
        frozenset(one["name"] for one in raw.get("disabled") or ()),
    )


def _field_of(point: str) -> str:
    return point[0].lower() + point[1:]
