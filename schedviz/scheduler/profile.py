"""A profile: the plugins that one scheduler name runs, and their weights.

Called by whoever starts a session, by the bench and by `conform`. Mirrors pkg/scheduler/profile (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedviz.scheduler.config import DEFAULT_SCHEDULER_NAME, ProfileConfig, profile_configs
from schedviz.scheduler.framework.interface import EXTENSION_POINTS, Plugin
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.plugins import IN_TREE


def default_profile(scheduler_name: str = DEFAULT_SCHEDULER_NAME) -> Framework:
    """The default plugins in upstream's order with upstream's weights."""
    return framework_of(ProfileConfig(scheduler_name))


def configured_profiles(raw: Mapping[str, Any] | None) -> dict[str, Framework]:
    """The profiles of a KubeSchedulerConfiguration by scheduler name."""
    return {config.scheduler_name: framework_of(config) for config in profile_configs(raw)}


def framework_of(config: ProfileConfig) -> Framework:
    """Build the plugins that the profile names and put them at their extension points."""
    plugins: dict[str, Plugin] = {}
    for name in config.plugin_names:
        kind = IN_TREE.get(name)
        if kind is not None:
            args = kind.Args.read(config.args.get(name) or {}) if kind.Args else None
            plugins[name] = kind(args)
    points = {
        point: [
            name
            for name in config.at(
                point, lambda name, m=method: name in plugins and hasattr(plugins[name], m)
            )
            if name in plugins
        ]
        for point, method in EXTENSION_POINTS.items()
    }
    return Framework(
        config.scheduler_name, list(plugins.values()), weights=config.weights(), points=points
    )
