"""Profiles are built from their configuration."""

from __future__ import annotations

from schedviz.scheduler.plugins import IN_TREE
from schedviz.scheduler.profile import configured_profiles, default_profile


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
