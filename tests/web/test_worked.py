"""The worked example of extenders: the file from an article of 2020, what it becomes, and what `up` makes of it."""

from __future__ import annotations

import pytest

from schedviz.sandbox import scenarios
from schedviz.scheduler.config import ConfigError, load
from schedviz.web import configs, extender_rules, worked

ARTICLE = """apiVersion: kubescheduler.config.k8s.io/v1alpha2
kind: KubeSchedulerConfiguration
extenders:
  - urlPrefix: http://192.168.179.139/scheduler-extender
    filterVerb: filter
    prioritizeVerb: prioritize
    nodeCacheCapable: true
    enableHttps: false
    weight: 100000
leaderElection:
\tleaderElect: true
clientConnection:
\tkubeconfig: /etc/kubernetes/scheduler.conf
"""
ASKED = {"Pod": {}, "Nodes": None, "NodeNames": ["ceph1", "ceph2", "ceph3"]}


def example():
    found = worked.example("ceph-extender")
    assert found is not None
    return found


def test_the_tab_is_pointed_at():
    with pytest.raises(ConfigError) as refused:
        load(ARTICLE)
    assert refused.value.problems[0].line == 11


def test_the_old_file_becomes_one_that_is_accepted():
    with pytest.raises(ConfigError) as refused:
        load(ARTICLE.replace("\t", "  "))
    made = load(refused.value.proposal)
    (extender,) = made.extenders
    assert extender.url_prefix == "http://192.168.179.139/scheduler-extender"
    assert (extender.weight, extender.node_cache_capable) == (100000, True)
    ours = load(example().scheduler).extenders[0]
    assert (ours.filter_verb, ours.prioritize_verb) == ("filter", "prioritize")
    assert (ours.weight, ours.node_cache_capable) == (extender.weight, True)


def test_the_rules_refuse_one_and_prefer_another():
    rules = extender_rules.read(example().rules["scheduler-extender"])
    assert rules.answer("filter", ASKED)["NodeNames"] == ["ceph1", "ceph2"]
    scores = rules.answer("prioritize", ASKED)
    assert [one["Score"] for one in scores] == [10, 5, 0]


def test_the_configuration_asks_the_extender_that_we_serve(tmp_path):
    path = example().write_config(tmp_path, 8123)
    found = configs.from_file(path)
    assert found.config.extenders[0].url_prefix == (
        "http://127.0.0.1:8123/extender/scheduler-extender"
    )


def test_the_scenario_has_the_one_pod():
    plan = scenarios.load("ceph-extender")
    (stream,) = plan.streams
    assert [stream.pod_name(n) for n in stream.due(0.0, 100.0)] == ["kubia"]
    assert len(plan.nodes) == 3


def test_other_scenarios_are_no_examples():
    assert worked.example("steady") is None
    assert worked.example("") is None
