"""A profile: the plugins that one scheduler name runs, and their weights.

Called by whoever starts a session, by the bench and by `conform`. Mirrors pkg/scheduler/profile (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedviz.scheduler.config import (
    DEFAULT_FEATURES,
    DEFAULT_SCHEDULER_NAME,
    ProfileConfig,
    profile_configs,
)
from schedviz.scheduler.framework.interface import EXTENSION_POINTS, Plugin
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.plugins import IN_TREE


def default_profile(scheduler_name: str = DEFAULT_SCHEDULER_NAME) -> Framework:
    """The default plugins in upstream's order with upstream's weights."""
    return framework_of(ProfileConfig(scheduler_name))


def configured_profiles(
    raw: Mapping[str, Any] | None, *, features: frozenset[str] = DEFAULT_FEATURES
) -> dict[str, Framework]:
    """The profiles of a KubeSchedulerConfiguration by scheduler name."""
    return {
        config.scheduler_name: framework_of(config, features=features)
        for config in profile_configs(raw)
    }


def framework_of(
    config: ProfileConfig, *, features: frozenset[str] = DEFAULT_FEATURES
) -> Framework:
    """Build the plugins that the profile names and put them at their extension points."""
    plugins: dict[str, Plugin] = {}
    for name in config.plugin_names:
        kind = IN_TREE.get(name)
        if kind is not None:
            args = kind.Args.read(config.args.get(name) or {}) if kind.Args else None
            plugins[name] = kind(args)
            plugins[name].features = features
    points: dict[str, list[str]] = {}
    for point, method in EXTENSION_POINTS.items():
        able = {name for name, plugin in plugins.items() if hasattr(plugin, method)}
        points[point] = [name for name in config.at(point, able) if name in able]
    return Framework(
        config.scheduler_name, list(plugins.values()), weights=config.weights(), points=points
    )
