"""Profiles are built from their configuration."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from schedviz.scheduler.config import ConfigError, from_object, load
from schedviz.scheduler.framework import Plugin
from schedviz.scheduler.plugins import IN_TREE
from schedviz.scheduler.profile import configured_profiles, default_profile, profiles_of


def test_the_default_profile_has_every_plugin_and_upstreams_weights():
    framework = default_profile()
    assert set(framework.plugins) == set(IN_TREE)
    assert framework.weights["TaintToleration"] == 3
    assert framework.weights["ImageLocality"] == 1


def test_each_profile_has_its_arguments():
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    profiles = configured_profiles(
        {
            "profiles": [
                {"schedulerName": "default-scheduler"},
                {"schedulerName": "packing", "pluginConfig": [fit]},
            ]
        }
    )
    assert (
        profiles["default-scheduler"].plugins["NodeResourcesFit"].args.strategy == "LeastAllocated"
    )
    assert profiles["packing"].plugins["NodeResourcesFit"].args.strategy == "MostAllocated"


class Sorting(Plugin):
    """Another queue sort."""

    def queue_sort(self, pod):
        return ()


class Coscheduling(Plugin):
    """A user's plugin with arguments of its own."""

    @dataclass(frozen=True)
    class Args:
        seconds: int = 1

    def filter(self, state, pod, node):
        return None


class Bare(Plugin):
    """A user's plugin that takes its arguments as they are written."""

    def filter(self, state, pod, node):
        return None


REGISTRY = {**IN_TREE, "Sorting": Sorting, "Coscheduling": Coscheduling, "Bare": Bare}


def named(*names):
    return [{"name": name} for name in names]


def test_a_users_plugin_gets_its_arguments():
    own = {"multiPoint": {"enabled": named("Coscheduling", "Bare")}}
    args = [
        {"name": "Coscheduling", "args": {"seconds": 10}},
        {"name": "Bare", "args": {"any": [1, {"thing": None}]}},
    ]
    config = from_object({"profiles": [{"plugins": own, "pluginConfig": args}]})
    plugins = profiles_of(config, registry=REGISTRY)["default-scheduler"].plugins
    assert plugins["Coscheduling"].args == Coscheduling.Args(10)
    assert plugins["Bare"].args == {"any": [1, {"thing": None}]}


CREATING = "initializing profiles: creating profile for scheduler name default-scheduler: "


@pytest.mark.parametrize(
    ("profile", "message", "field"),
    [
        pytest.param(
            {"plugins": {"postFilter": {"enabled": named("Nobody")}}},
            CREATING + 'PostFilterPlugin "Nobody" does not exist',
            "profiles[0].plugins.postFilter.enabled[0]",
            id="an unknown plugin at a point",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": named("NodeName", "Nobody")}}},
            CREATING + 'PreFilterPlugin "Nobody" does not exist',
            "profiles[0].plugins.multiPoint.enabled[1]",
            id="an unknown plugin everywhere",
        ),
        pytest.param(
            {"plugins": {"score": {"enabled": named("NodeName")}}},
            CREATING + 'plugin "NodeName" does not extend ScorePlugin plugin',
            "profiles[0].plugins.score.enabled[0]",
            id="a plugin that has nothing to say there",
        ),
        pytest.param(
            {"plugins": {"filter": {"enabled": named("NodeName", "NodeName")}}},
            CREATING + 'plugin "NodeName" already registered as "FilterPlugin"',
            "profiles[0].plugins.filter.enabled[0]",
            id="a plugin twice at a point",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": named("NodePorts", "NodePorts")}}},
            CREATING + 'plugin "NodePorts" already registered as "PreFilterPlugin"',
            "profiles[0].plugins.multiPoint.enabled[0]",
            id="a plugin twice everywhere",
        ),
        pytest.param(
            {"plugins": {"placementScore": {"enabled": named("NodeName")}}},
            CREATING + 'plugin "NodeName" does not extend PlacementScorePlugin plugin',
            "profiles[0].plugins.placementScore.enabled[0]",
            id="a point of groups of pods",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"disabled": named("PrioritySort")}}},
            CREATING
            + 'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
            "profiles[0].plugins.queueSort",
            id="no queue sort",
        ),
        pytest.param(
            {"plugins": {"queueSort": {"enabled": named("Sorting")}}},
            CREATING
            + 'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 2',
            "profiles[0].plugins.queueSort",
            id="a queue sort beside the default one",
        ),
        pytest.param(
            {"plugins": {"bind": {"disabled": named("*")}}},
            CREATING
            + 'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
            "profiles[0].plugins.bind",
            id="nobody binds",
        ),
        pytest.param(
            {
                "plugins": {"multiPoint": {"enabled": named("Coscheduling")}},
                "pluginConfig": [{"name": "Coscheduling", "args": {"minutes": 1}}],
            },
            CREATING
            + 'initializing plugin "Coscheduling": Coscheduling.Args.__init__() got an unexpected keyword '
            "argument 'minutes'",
            "profiles[0].pluginConfig[0].args",
            id="arguments that a user's plugin does not take",
        ),
    ],
)
def test_a_profile_that_cannot_be_built(profile, message, field):
    with pytest.raises(ConfigError) as refused:
        profiles_of(from_object({"profiles": [profile]}), registry=REGISTRY)
    assert refused.value.message == message
    assert [problem.field for problem in refused.value.problems] == [field]


def test_profiles_that_sort_the_queue_differently_through_multi_point():
    swapped = {"multiPoint": {"disabled": named("PrioritySort"), "enabled": named("Sorting")}}
    config = from_object(
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": swapped}]}
    )
    with pytest.raises(
        ConfigError, match='different queue sort plugins for profile "b": "Sorting"'
    ):
        profiles_of(config, registry=REGISTRY)


def test_a_complaint_about_a_profile_names_its_line():
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- plugins:\n    filter:\n      enabled:\n      - name: NodeName\n      - name: Nobody\n"
    )
    with pytest.raises(ConfigError) as refused:
        profiles_of(load(text))
    assert refused.value.problems[0].line == 8
