"""Durations, names and how the effective configuration is written."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config import durations, load, names
from schedviz.scheduler.config.effective import to_yaml
from tests.scheduler.config.writing import HEAD, args_of, with_head


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("0", "0s", id="nothing"),
        pytest.param("600s", "10m0s", id="minutes"),
        pytest.param("90m", "1h30m0s", id="hours"),
        pytest.param("1.5s", "1.5s", id="a fraction"),
        pytest.param("1h0.25s", "1h0m0.25s", id="an hour and a bit"),
        pytest.param("1500us", "1.5ms", id="milliseconds"),
        pytest.param("-3s", "-3s", id="negative"),
        pytest.param("42ns", "42ns", id="nanoseconds"),
    ],
)
def test_durations_are_gos(text, shown):
    assert durations.text_of(durations.parse(text)) == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", 'time: invalid duration ""', id="empty"),
        pytest.param("5", 'time: missing unit in duration "5"', id="no unit"),
        pytest.param("5x", 'time: unknown unit "x" in duration "5x"', id="another unit"),
        pytest.param("s", 'time: invalid duration "s"', id="no number"),
        pytest.param("9999999h", 'time: invalid duration "9999999h"', id="too long"),
    ],
)
def test_bad_durations(text, words):
    with pytest.raises(durations.BadDuration, match=words):
        durations.parse(text)


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        pytest.param("example.com/gpu", [], id="with a domain"),
        pytest.param("zone", [], id="without"),
        pytest.param("/gpu", ["prefix part must be non-empty"], id="an empty domain"),
        pytest.param("a" * 64, ["name part must be no more than 63 bytes"], id="too long"),
        pytest.param(
            "A.b/gpu", ["prefix part a lowercase RFC 1123 subdomain"], id="a domain in capitals"
        ),
        pytest.param("a/b/c", ["a valid label key must consist"], id="two slashes"),
        pytest.param("", ["name part must be non-empty", "name part must consist"], id="empty"),
    ],
)
def test_names(name, faults):
    found = names.label_key_faults(name)
    assert len(found) == len(faults)
    assert all(one.startswith(words) for one, words in zip(found, faults, strict=True))


def test_a_profiles_percentage_counts_before_the_whole_configurations():
    config = load(
        with_head(
            "percentageOfNodesToScore: 30\n"
            "profiles: [{schedulerName: a, percentageOfNodesToScore: 0}, {schedulerName: b}]"
        )
    )
    assert config.percentage_of_nodes_to_score("a") == 0
    assert config.percentage_of_nodes_to_score("b") == 30


def test_extenders_are_kept():
    (one,) = load(
        with_head(
            "extenders: [{urlPrefix: https://x/, filterVerb: f, enableHTTPS: true, tlsConfig: {serverName: yy}, "
            "httpTimeout: 100ms, managedResources: [{name: e.com/a}, {name: e.com/b, ignoredByScheduler: true}]}]"
        )
    ).extenders
    assert (one.url_prefix, one.filter_verb, one.bind_verb) == ("https://x/", "f", "")
    assert one.tls_config.server_name == "yy"
    assert one.http_timeout_seconds == 0.1
    assert one.managed_resources == {"e.com/a", "e.com/b"}
    assert one.ignored_by_scheduler == {"e.com/b"}


def test_what_extenders_manage_alone_takes_the_place_of_the_ignored_resources():
    (profile,) = load(
        with_head(
            "extenders: [{managedResources: [{name: e.com/b, ignoredByScheduler: true}]}]\n"
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [e.com/mine]}}]}]"
        )
    ).profiles
    assert profile.args["NodeResourcesFit"]["ignoredResources"] == ["e.com/b"]


def test_texts_that_look_like_something_else_are_quoted():
    written = to_yaml({"a": "", "b": "5", "c": "yes", "d": "*", "e": "plain", "f": 5})
    assert written == 'a: ""\nb: "5"\nc: "yes"\nd: \'*\'\ne: plain\nf: 5\n'


def test_contention_profiling_follows_profiling():
    full = load(HEAD + "enableProfiling: false\n").full
    assert full["enableContentionProfiling"] is False


def test_an_added_affinity_is_written_as_kubernetes_does():
    (profile,) = load(
        args_of(
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
            "[{key: a, operator: Exists, values: []}], matchFields: []}]}, "
            "preferredDuringSchedulingIgnoredDuringExecution: [{}]}}",
        )
    ).profiles
    assert profile.args["NodeAffinity"]["addedAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}],
    }
