"""A profile: the plugins that one scheduler name runs, and their weights.

Called by whoever starts a session, by the bench, by `check_config` and by `conform`. Mirrors pkg/scheduler/profile and
NewFramework of framework/runtime (v1.36), with what only shows when the plugins are made: an unknown plugin, one that
has nothing to say at its point, no queue sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schedviz.scheduler import config as configuration
from schedviz.scheduler.config import (
    DEFAULT_FEATURES,
    DEFAULT_SCHEDULER_NAME,
    ConfigError,
    Problem,
    ProfileConfig,
    SchedulerConfig,
)
from schedviz.scheduler.extender import extenders_of
from schedviz.scheduler.framework.interface import EXTENSION_POINTS, Plugin
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.plugins import IN_TREE

Registry = Mapping[str, type[Plugin]]
# In the order in which upstream looks at them.
POINTS = (
    "PreFilter",
    "Filter",
    "PostFilter",
    "Reserve",
    "PreScore",
    "Score",
    "PreBind",
    "Bind",
    "PostBind",
    "Permit",
    "PreEnqueue",
    "QueueSort",
    "PlacementGenerate",
    "PlacementScore",
)


class _Unbuildable(Exception):
    """words: upstream's; point, plugin: where to look; problems: of a plugin's arguments."""

    def __init__(
        self, words: str, *, point: str = "", plugin: str = "", problems: Iterable[Problem] = ()
    ) -> None:
        super().__init__(words)
        self.point, self.plugin, self.problems = point, plugin, tuple(problems)


def default_profile(scheduler_name: str = DEFAULT_SCHEDULER_NAME) -> Framework:
    """The default plugins in upstream's order with upstream's weights."""
    raw = {"profiles": [{"schedulerName": scheduler_name}]}
    return configured_profiles(raw)[scheduler_name]


def configured_profiles(
    raw: Mapping[str, Any] | None, *, features: frozenset[str] = DEFAULT_FEATURES
) -> dict[str, Framework]:
    """The profiles of a KubeSchedulerConfiguration by scheduler name."""
    return profiles_of(configuration.from_object(raw, features=features), features=features)


def profiles_of(
    config: SchedulerConfig,
    *,
    features: frozenset[str] = DEFAULT_FEATURES,
    registry: Registry = IN_TREE,
) -> dict[str, Framework]:
    """The profiles of a configuration. Raises ConfigError when one cannot be built."""
    found: dict[str, Framework] = {}
    extenders = extenders_of(config.extenders)
    first = ""
    for i, profile in enumerate(config.profiles):
        name = profile.scheduler_name
        try:
            found[name] = framework_of(profile, features=features, registry=registry)
        except _Unbuildable as error:
            words = f"initializing profiles: creating profile for scheduler name {name}: {error}"
            raise _located(config, i, error, words) from error
        found[name].extenders = extenders
        found[name].percentage_of_nodes_to_score = config.percentage_of_nodes_to_score(name)
        sort = found[name].points["QueueSort"][0].name
        if first and sort != first:
            words = f'different queue sort plugins for profile "{name}": "{sort}", first: "{first}"'
            unequal = _Unbuildable(words, point="queueSort")
            raise _located(config, i, unequal, f"initializing profiles: {words}")
        first = sort
    return found


def _located(config: SchedulerConfig, i: int, error: _Unbuildable, words: str) -> ConfigError:
    """With the field to look at: the plugin's arguments, its entry in a list, or the list."""
    if error.problems:
        entries = config.full["profiles"][i]["pluginConfig"]
        at = next(j for j, one in enumerate(entries) if one["name"] == error.plugin)
        base = f"profiles[{i}].pluginConfig[{at}].args"
        problems = [
            Problem(f"{base}.{one.field}" if one.field else base, one.text, mend=one.mend)
            for one in error.problems
        ]
        return ConfigError(words, config.lines.located(problems))
    path = f"profiles[{i}].plugins.{error.point}"
    mend = "enable exactly one" if error.point == "queueSort" else "enable at least one"
    if error.plugin:
        mend = f"take {error.plugin} out here, or see how its name is written"
        profiles = config.written.get("profiles") or [{}]
        written = (profiles[i].get("plugins") or {}).get(error.point) or {}
        for j, one in enumerate(written.get("enabled") or ()):
            if one.get("name") == error.plugin:
                path = f"{path}.enabled[{j}]"
                break
    return ConfigError(words, config.lines.located([Problem(path, words, mend=mend)]))


def framework_of(
    config: ProfileConfig,
    *,
    features: frozenset[str] = DEFAULT_FEATURES,
    registry: Registry = IN_TREE,
) -> Framework:
    """Make the plugins that the profile names and put them at their extension points."""
    needed = config.plugin_names
    plugins = {
        name: _plugin(kind, name, config, features)
        for name, kind in registry.items()
        if name in needed
    }
    able = {
        point: {name for name, plugin in plugins.items() if hasattr(plugin, method)}
        for point, method in EXTENSION_POINTS.items()
    }
    for point in POINTS:
        _check_point(point, config, plugins, able.get(point, set()))
    _check_multi_point(config, plugins, able)
    points = {
        point: [name for name in config.at(point, able[point]) if name in able[point]]
        for point in EXTENSION_POINTS
    }
    _check_needed(config.scheduler_name, points)
    in_order = [plugins[name] for name in needed if name in plugins]
    return Framework(config.scheduler_name, in_order, weights=config.weights(), points=points)


def _plugin(
    kind: type[Plugin], name: str, config: ProfileConfig, features: frozenset[str]
) -> Plugin:
    args = config.args.get(name)
    if name in configuration.LATE and args is not None:
        problems = configuration.argument_problems(name, "", args, features)
        if problems:
            words = configuration.aggregate([one.said for one in problems])
            raise _Unbuildable(
                f'initializing plugin "{name}": {words}', plugin=name, problems=problems
            )
    try:
        plugin = kind(_read_args(kind, args))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        problem = Problem("", str(error), mend=f"see the Args of {name}")
        raise _Unbuildable(
            f'initializing plugin "{name}": {error}', plugin=name, problems=[problem]
        ) from error
    plugin.features = features
    return plugin


def _read_args(kind: type[Plugin], args: Any) -> Any:
    """A plugin's own class of arguments reads them, or takes them as keywords; without one they come as written."""
    if kind.Args is None or args is None:
        return args
    if hasattr(kind.Args, "read"):
        return kind.Args.read(args)
    return kind.Args(**args)


def _check_point(
    point: str, config: ProfileConfig, plugins: Mapping[str, Plugin], able: set[str]
) -> None:
    """Of the plugins named at this very point."""
    seen: set[str] = set()
    for one in config.set_at(point).enabled:
        words = ""
        if one.name not in plugins:
            words = _unknown(point, one.name)
        elif one.name not in able:
            words = f'plugin "{one.name}" does not extend {point}Plugin plugin'
        elif one.name in seen:
            words = _twice(point, one.name)
        if words:
            raise _Unbuildable(words, point=configuration.field_of(point), plugin=one.name)
        seen.add(one.name)


def _check_multi_point(
    config: ProfileConfig, plugins: Mapping[str, Plugin], able: Mapping[str, set[str]]
) -> None:
    for point in POINTS:
        own = config.set_at(point)
        if "*" in own.disabled:
            continue
        seen = {*own.disabled, *(one.name for one in own.enabled)}
        passed = frozenset(seen)
        for one in config.plugins["multiPoint"].enabled:
            if one.name not in plugins:
                words = _unknown(point, one.name)
                raise _Unbuildable(words, point="multiPoint", plugin=one.name)
            if one.name not in able.get(point, set()) or one.name in passed:
                continue
            if one.name in seen:
                raise _Unbuildable(_twice(point, one.name), point="multiPoint", plugin=one.name)
            seen.add(one.name)


def _unknown(point: str, name: str) -> str:
    return f'{point}Plugin "{name}" does not exist'


def _twice(point: str, name: str) -> str:
    return f'plugin "{name}" already registered as "{point}Plugin"'


def _check_needed(name: str, points: Mapping[str, list[str]]) -> None:
    sorts = len(points["QueueSort"])
    if sorts != 1:
        words = f'only one queue sort plugin required for profile with scheduler name "{name}", but got {sorts}'
        raise _Unbuildable(words, point="queueSort")
    if not points["Bind"]:
        words = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
        raise _Unbuildable(words, point="bind")
