"""Strict reading: unknown fields, keys twice, wrong types, other kinds; each with its line."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config import load
from tests.scheduler.config.writing import HEAD, args_of, refused, with_head

SCHEME = 'in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"'
META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
NO_META = "couldn't get version/kind; json parse error: json: cannot unmarshal"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        pytest.param("", "Object 'Kind' is missing in ''", 1, id="empty"),
        pytest.param(
            "# nothing\n", "Object 'Kind' is missing in '# nothing\n'", 1, id="a comment only"
        ),
        pytest.param(
            "apiVersion: v1\n", "Object 'Kind' is missing in 'apiVersion: v1\n'", 1, id="no kind"
        ),
        pytest.param(
            "\nkind: Pod\n", "Object 'apiVersion' is missing in '\nkind: Pod\n'", 2, id="no version"
        ),
        pytest.param("- a\n", f"{NO_META} array into Go value of type {META}", 1, id="a list"),
        pytest.param(
            "kind: 1\n",
            f"{NO_META} number into Go struct field .kind of type string",
            1,
            id="kind 1",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n",
            f'no kind "Pod" is registered for version "v1" {SCHEME}',
            1,
            id="a Pod",
        ),
        pytest.param(
            HEAD.replace("/v1", "/v1beta3"),
            'no kind "KubeSchedulerConfiguration" is registered for version '
            f'"kubescheduler.config.k8s.io/v1beta3" {SCHEME}',
            1,
            id="an older version",
        ),
        pytest.param(
            "apiVersion: a/b/c\nkind: X\n",
            "unexpected GroupVersion string: a/b/c",
            1,
            id="no version at all",
        ),
        pytest.param(
            HEAD.replace("KubeSchedulerConfiguration", "NodeAffinityArgs"),
            "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs:",
            2,
            id="arguments alone",
        ),
    ],
)
def test_other_things_than_a_configuration(text, message, line):
    error = refused(text)
    assert error.message == message
    assert [problem.line for problem in error.problems] == [line]


CANNOT = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        pytest.param(
            "parallelism: many",
            f"{CANNOT} string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            3,
            id="a text for a number",
        ),
        pytest.param(
            "parallelism: 1.5",
            f"{CANNOT} number 1.5 into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            3,
            id="a fraction for a whole number",
        ),
        pytest.param(
            "parallelism: 3000000000",
            f"{CANNOT} number 3000000000 into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            3,
            id="too large a number",
        ),
        pytest.param(
            "leaderElection:\n  leaderElect: 'true'",
            f"{CANNOT} string into Go struct field LeaderElectionConfiguration.leaderElection.leaderElect of type bool",
            4,
            id="a truth value in quotes",
        ),
        pytest.param(
            "profiles:\n- schedulerName: on",
            f"{CANNOT} bool into Go struct field KubeSchedulerProfile.profiles.schedulerName of type string",
            4,
            id="a word that is a truth value in YAML",
        ),
        pytest.param(
            "profiles: [x]",
            f"{CANNOT} string into Go struct field KubeSchedulerConfiguration.profiles of type v1.KubeSchedulerProfile",
            3,
            id="a text for a profile",
        ),
        pytest.param(
            "profiles:\n- plugins:\n    filter:\n      enabled: [NodeName]",
            f"{CANNOT} string into Go struct field PluginSet.profiles.plugins.filter.enabled of type v1.Plugin",
            6,
            id="a name for a plugin",
        ),
        pytest.param(
            "profiles:\n- plugins:\n    filter: [NodeName]",
            f"{CANNOT} array into Go struct field Plugins.profiles.plugins.filter of type v1.PluginSet",
            5,
            id="a list for a point",
        ),
        pytest.param(
            "extenders:\n- httpTimeout: 5",
            f"{CANNOT} number into Go struct field Extender.extenders.httpTimeout of type string",
            4,
            id="a number for a duration",
        ),
        pytest.param(
            'extenders:\n- httpTimeout: "5"',
            'time: missing unit in duration "5"',
            4,
            id="a duration without unit",
        ),
        pytest.param(
            "extenders:\n- httpTimeout: null", 'time: invalid duration ""', 4, id="no duration"
        ),
        pytest.param(
            "extenders:\n- tlsConfig: {certData: '?'}",
            "illegal base64 data at input byte 0",
            4,
            id="no base64",
        ),
        pytest.param(
            "clientConnection: []",
            f"{CANNOT} array into Go struct field KubeSchedulerConfiguration.clientConnection of type "
            "v1alpha1.ClientConnectionConfiguration",
            3,
            id="a list for a mapping",
        ),
    ],
)
def test_wrong_type(body, message, line):
    error = refused(with_head(body))
    assert error.message == message
    assert error.problems[0].line == line


def test_unknown_fields_are_told_beside_a_wrong_type():
    error = refused(with_head("parallelism: many\nparalelism: 1\n"))
    assert [problem.field for problem in error.problems] == ["parallelism", "paralelism"]


DECODING = "decoding .profiles[0].pluginConfig[0]: "
STRICT = "strict decoding error: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            with_head("parralelism: 1\nprofiles:\n- plugins: {filters: {}}\n- plugin: {}\n"),
            f'{STRICT}unknown field "parralelism", unknown field "profiles[0].plugins.filters", '
            'unknown field "profiles[1].plugin"',
            id="unknown fields, all of them",
        ),
        pytest.param(
            with_head("z: 1\nextenders:\n- b: 1\n  a: 1\nb: 1\n"),
            f'{STRICT}unknown field "b", unknown field "extenders[0].a", unknown field "extenders[0].b", '
            'unknown field "z"',
            id="unknown fields come in the order of the JSON that is made of the file",
        ),
        pytest.param(
            with_head("a: {b: 1, b: 2}\na: 3\n"),
            f'{STRICT}yaml: unmarshal errors:\n  line 3: key "b" already set in map\n'
            '  line 4: key "a" already set in map, unknown field "a"',
            id="keys twice, the inner ones first",
        ),
        pytest.param(
            with_head("Parallelism: 1\n"),
            f'{STRICT}unknown field "Parallelism"',
            id="the case counts",
        ),
        pytest.param(
            with_head("parallelism: 1\nparallelism: 2\nparallelism: 3\n"),
            f'{STRICT}yaml: unmarshal errors:\n  line 4: key "parallelism" already set in map\n'
            '  line 5: key "parallelism" already set in map',
            id="a key three times",
        ),
        pytest.param(
            args_of("NodeAffinity", "{x: 1, addedAffinity: {z: 2}}"),
            f"{STRICT}{DECODING}{STRICT}decoding args for plugin NodeAffinity: {STRICT}"
            'unknown field "addedAffinity.z", unknown field "x"',
            id="unknown arguments",
        ),
        pytest.param(
            with_head("x: 1\nprofiles: [{pluginConfig: [{name: VolumeBinding, args: {z: 1}}]}]\n"),
            f'{STRICT}unknown field "x", {DECODING}{STRICT}decoding args for plugin VolumeBinding: {STRICT}'
            'unknown field "z"',
            id="unknown field and unknown argument",
        ),
        pytest.param(
            args_of("InterPodAffinity", "{hardPodAffinityWeight: x}"),
            f"{DECODING}decoding args for plugin InterPodAffinity: {CANNOT} string into Go struct field "
            "InterPodAffinityArgs.hardPodAffinityWeight of type int32",
            id="an argument of a wrong type",
        ),
        pytest.param(
            args_of("InterPodAffinity", "[1]"),
            f"{DECODING}decoding args for plugin InterPodAffinity: {NO_META} array into Go value of type {META}",
            id="arguments that are a list",
        ),
        pytest.param(
            args_of("InterPodAffinity", "{kind: NodeAffinityArgs}"),
            f"{DECODING}args for plugin InterPodAffinity were not of type InterPodAffinityArgs."
            "kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io",
            id="another plugin's arguments",
        ),
        pytest.param(
            args_of(
                "NodeAffinity",
                "{apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: NodeAffinityArgs}",
            ),
            f'{DECODING}decoding args for plugin NodeAffinity: no kind "NodeAffinityArgs" is registered for version '
            f'"kubescheduler.config.k8s.io/v1beta3" {SCHEME}',
            id="an older version's arguments",
        ),
        pytest.param(
            '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",\n'
            '"parallelism": 1, "parallelism": 2,\n"extenders": [{"weight": 1, "weight": 2}]}',
            f'{STRICT}duplicate field "parallelism", duplicate field "extenders[0].weight"',
            id="keys twice in JSON",
        ),
    ],
)
def test_strict(text, message):
    error = refused(text)
    assert error.message == message
    assert all(problem.line for problem in error.problems)


@pytest.mark.parametrize(
    ("body", "mend"),
    [
        pytest.param(
            "leaderElect: true",
            "leaderElect belongs below leaderElection",
            id="lost its indentation",
        ),
        pytest.param(
            "percentOfNodesToScore: 5", "did you mean percentageOfNodesToScore?", id="a typo"
        ),
        pytest.param("metrics: {}", "KubeSchedulerConfiguration has", id="nothing like it"),
        pytest.param("profiles: {}", "write a list", id="a mapping for a list"),
        pytest.param("parallelism: 1\nparallelism: 2", "it is written on line 3 first", id="twice"),
    ],
)
def test_what_would_help(body, mend):
    assert refused(with_head(body)).problems[0].mend.startswith(mend)


def test_arguments_may_say_what_they_are():
    own = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 7}"
    (profile,) = load(args_of("InterPodAffinity", own)).profiles
    assert profile.args["InterPodAffinity"]["hardPodAffinityWeight"] == 7


def test_arguments_of_a_plugin_that_is_not_built_in_are_as_written():
    (profile,) = load(args_of("Mine", "{a: [1, {b: null}], c: 0.5}")).profiles
    assert profile.args["Mine"] == {"a": [1, {"b": None}], "c": 0.5}
