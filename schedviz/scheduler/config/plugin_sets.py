"""Which plugins a profile runs where and with which weights: the defaults, and what a profile changes of them.

Used by `defaults` and, through ProfileConfig, by `profile`. Mirrors pkg/scheduler/apis/config/v1 default_plugins.go
mergePlugins and framework/runtime expandMultiPointPlugins (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
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
    disabled: tuple[str, ...] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> PluginSet:
        return cls(
            tuple(
                Enabled(one.get("name") or "", one.get("weight") or 0)
                for one in raw.get("enabled") or ()
            ),
            tuple(one.get("name") or "" for one in raw.get("disabled") or ()),
        )

    def merged(self, custom: PluginSet) -> PluginSet:
        """These defaults with the customs put in: same names in place, new names behind. A custom that stands twice
        stays twice: building the profile refuses it."""
        disabled = (*custom.disabled, *self.disabled)
        last = {one.name: i for i, one in enumerate(custom.enabled)}
        kept: list[Enabled] = []
        placed: set[int] = set()
        for one in () if "*" in disabled else self.enabled:
            if one.name in disabled:
                continue
            if one.name in last:
                placed.add(last[one.name])
                kept.append(custom.enabled[last[one.name]])
            else:
                kept.append(one)
        behind = (one for i, one in enumerate(custom.enabled) if i not in placed)
        return PluginSet((*kept, *behind), disabled)


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
GATED = {"NodeDeclaredFeatures": "NodeDeclaredFeatures"}
"""Default plugins that are there only with a feature gate."""


def features(gates: Mapping[str, bool] | None) -> frozenset[str]:
    """The names of the gates that are on, after these changes to the defaults."""
    gates = gates or {}
    on = {name for name, is_on in gates.items() if is_on}
    return (DEFAULT_FEATURES | on) - (gates.keys() - on)


def default_multi_point(features: Set[str]) -> PluginSet:
    """The default plugins with these feature gates."""
    return PluginSet(
        tuple(
            one
            for one in DEFAULT_MULTI_POINT.enabled
            if one.name not in GATED or GATED[one.name] in features
        )
    )


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """plugins: by the file's names of points ("preFilter", "multiPoint"), merged into the defaults; args: with their
    defaults. percentage_of_nodes_to_score: None: what the whole configuration says."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugins: Mapping[str, PluginSet] = field(
        default_factory=lambda: {"multiPoint": DEFAULT_MULTI_POINT}
    )
    args: Mapping[str, Any] = field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin that is enabled anywhere, multiPoint's first."""
        sets = [self.plugins["multiPoint"], *self.plugins.values()]
        return tuple(dict.fromkeys(one.name for a_set in sets for one in a_set.enabled))

    def set_at(self, point: str) -> PluginSet:
        return self.plugins.get(field_of(point), PluginSet())

    def at(self, point: str, able: Set[str]) -> tuple[str, ...]:
        """The plugins of one extension point in the order they run; `able`: those that have something to say there."""
        own = self.set_at(point)
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
        for one in (*self.set_at("Score").enabled, *self.plugins["multiPoint"].enabled):
            found.setdefault(one.name, one.weight or 1)
        return found


def field_of(point: str) -> str:
    """The file's name of an extension point."""
    return point[0].lower() + point[1:]
