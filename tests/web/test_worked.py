"""The worked example of extenders: the file from an article of 2020, what it becomes, and what `up` makes of it."""

from __future__ import annotations

import pytest

from schedviz.sandbox import scenarios
from schedviz.scheduler.config import ConfigError, load
from schedviz.scheduler.framework.steps import Lane
from schedviz.web import actions, configs, cycle_page, extender_calls, extender_rules, worked
from schedviz.web import matrix as matrices
from schedviz.web.extender_log import LOG
from schedviz.web.permissions import Shell
from tests.sandbox.running import running
from tests.test_session import KeepingSink, session

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


@pytest.mark.django_db(transaction=True)
def test_kubia_lands_on_ceph1_and_the_record_says_why(tmp_path, live_server):
    """The whole of it: a sandbox, a session, and the extender that our web process serves."""
    for name, text in example().rules.items():
        actions.extender_save(Shell(), name, text)
    port = int(live_server.url.rpartition(":")[2])
    path = example().write_config(tmp_path, port)
    path.write_text(path.read_text().replace("127.0.0.1", "localhost"))
    sink = KeepingSink()
    profiles = configs.from_file(path).profiles
    with (
        running(tmp_path, scenario="ceph-extender") as sandbox,
        session(sandbox, sink, profiles=profiles),
    ):
        sink.until(lambda: sink.lane("kubia") == Lane.BOUND)
        kubia = sandbox.ok("GET", "/api/v1/namespaces/default/pods/kubia")
    assert kubia["spec"]["nodeName"] == "ceph1"
    record = next(c for b in sink.batches for c in b.cycles)
    extender = f"localhost:{port}/extender/scheduler-extender"
    found = matrices.matrix(record)
    assert found is not None and extender in found.plugins
    assert [row["reason"] for row in found.rows()] == ["", "", "ceph3 is kept free"]
    scores = cycle_page.scoring(record, limit=10)
    assert scores is not None and (extender, 100000) in scores.plugins
    assert cycle_page.why(record).because == extender
    said = [(one.verb, one.said) for one in extender_calls.asked(record)]
    assert said == [
        ("filter", "passed 2 of 3 nodes"),
        ("prioritize", "scores 5 to 10, 2 of 2 above 0"),
    ]
    assert [one.verb for one in LOG.of("scheduler-extender")] == ["prioritize", "filter"]
