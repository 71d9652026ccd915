"""Plugin lists of a configuration, merged and expanded as upstream does it."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config import DEFAULT_MULTI_POINT, features, from_object

DEFAULTS = [one.name for one in DEFAULT_MULTI_POINT.enabled]
SCORING = {"NodeAffinity", "NodeResourcesFit", "TaintToleration", "ImageLocality"}


def profile(**plugins):
    (config,) = from_object({"profiles": [{"plugins": plugins}]}).profiles
    return config


def names(*some):
    return [{"name": name} for name in some]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param(
            {},
            ["TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality"],
            id="the defaults",
        ),
        pytest.param(
            {"score": {"enabled": names("NodeResourcesFit")}},
            ["NodeResourcesFit", "TaintToleration", "NodeAffinity", "ImageLocality"],
            id="named at the point: moved to the front",
        ),
        pytest.param(
            {"score": {"disabled": names("*"), "enabled": names("ImageLocality")}},
            ["ImageLocality"],
            id="* stops multiPoint at this point",
        ),
        pytest.param(
            {"score": {"disabled": names("NodeAffinity")}},
            ["TaintToleration", "NodeResourcesFit", "ImageLocality"],
            id="one is disabled",
        ),
        pytest.param(
            {"multiPoint": {"enabled": names("ImageLocality"), "disabled": names("ImageLocality")}},
            ["TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality"],
            id="disabled and enabled: last",
        ),
        pytest.param(
            {
                "multiPoint": {"disabled": names("*")},
                "score": {"enabled": names("NodeAffinity", "NodeResourcesFit")},
            },
            ["NodeAffinity", "NodeResourcesFit"],
            id="only what is named",
        ),
    ],
)
def test_order_at_score(plugins, expected):
    assert list(profile(**plugins).at("Score", SCORING)) == expected


@pytest.mark.parametrize(
    ("plugins", "weight"),
    [
        pytest.param({}, 3, id="the default"),
        pytest.param({"multiPoint": {"enabled": names("TaintToleration")}}, 1, id="omitted: 1"),
        pytest.param(
            {"multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 7}]}},
            7,
            id="by multiPoint",
        ),
        pytest.param(
            {
                "score": {"enabled": [{"name": "TaintToleration", "weight": 9}]},
                "multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 7}]},
            },
            9,
            id="the score list comes first",
        ),
    ],
)
def test_weight(plugins, weight):
    assert profile(**plugins).weights()["TaintToleration"] == weight


def test_a_custom_entry_keeps_the_defaults_place():
    config = profile(multiPoint={"enabled": names("NodePorts", "Own")})
    assert list(config.plugin_names) == [*DEFAULTS, "Own"]


def test_without_profiles_there_is_the_default_one():
    (config,) = from_object(None).profiles
    assert config.scheduler_name == "default-scheduler"
    assert list(config.plugin_names) == DEFAULTS


def test_gates_change_the_defaults():
    assert "New" in features({"New": True})
    assert "MatchLabelKeysInPodTopologySpread" not in features(
        {"MatchLabelKeysInPodTopologySpread": False}
    )


def test_a_default_plugin_is_there_with_its_gate_only():
    (config,) = from_object(None, features=features({"NodeDeclaredFeatures": False})).profiles
    assert list(config.plugin_names) == [one for one in DEFAULTS if one != "NodeDeclaredFeatures"]
