"""PodTopologySpread: skew against the emptiest domain, and scores that even it out."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework import Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.status import SUCCESS
from schedviz.scheduler.plugins.pod_topology_spread import (
    HOSTNAME,
    PodTopologySpread,
    default_selector,
)
from tests import make

UNEVEN = Unschedulable("node(s) didn't match pod topology spread constraints")
UNLABELLED = UnschedulableAndUnresolvable(
    "node(s) didn't match pod topology spread constraints (missing required label)"
)
WEB = {"matchLabels": {"app": "web"}}
HAS_REV = {"matchExpressions": [{"key": "rev", "operator": "Exists"}]}


def constraint(key="zone", skew=1, *, soft=False, selector=WEB, **words):
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": selector,
        **words,
    }


def web(*constraints, name="p", node="", **words):
    return make.pod(
        name, node=node, labels={"app": "web"}, topologySpreadConstraints=list(constraints), **words
    )


def standing(*nodes, **words):
    return [web(name=f"b{n}", node=node, **words) for n, node in enumerate(nodes)]


NODES = [
    make.node("a1", labels={"zone": "a"}),
    make.node("a2", labels={"zone": "a"}, taints=["x:NoSchedule"]),
    make.node("b1", labels={"zone": "b"}),
    make.node("none"),
]
GONE = {"meta": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("pod", "pods", "fitting"),
    [
        pytest.param(web(constraint()), [], ["a1", "a2", "b1"], id="nothing stands yet"),
        pytest.param(web(constraint()), standing("a1"), ["b1"], id="the other zone is emptier"),
        pytest.param(
            web(constraint(skew=2)), standing("a1"), ["a1", "a2", "b1"], id="a skew of two is well"
        ),
        pytest.param(web(constraint(HOSTNAME)), standing("a1"), ["a2", "b1", "none"], id="by host"),
        pytest.param(
            web(constraint(), constraint(HOSTNAME)), standing("b1"), ["a1", "a2"], id="two together"
        ),
        pytest.param(
            web(constraint(minDomains=3)), standing("a1"), ["b1"], id="too few domains: minimum 0"
        ),
        pytest.param(
            web(constraint()), standing("a1", **GONE), ["a1", "a2", "b1"], id="terminating: no"
        ),
        pytest.param(
            web(constraint()),
            standing("a1", namespace="other"),
            ["a1", "a2", "b1"],
            id="another namespace does not count",
        ),
        pytest.param(
            web(constraint(), nodeSelector={"zone": "a"}),
            standing("a1"),
            ["a1", "a2", "b1"],
            id="excluded nodes are no domain",
        ),
        pytest.param(
            web(constraint(nodeAffinityPolicy="Ignore"), nodeSelector={"zone": "a"}),
            standing("a1"),
            ["b1"],
            id="unless the policy ignores it",
        ),
        pytest.param(
            web(constraint(HOSTNAME, nodeTaintsPolicy="Honor")),
            standing("a1", "b1", "none"),
            ["a1", "a2", "b1", "none"],
            id="tainted nodes are no domain if the policy says so",
        ),
        pytest.param(
            web(constraint(selector=None)), standing("a1"), ["a1", "a2", "b1"], id="no selector"
        ),
        pytest.param(
            web(constraint(selector={})), standing("a1"), ["a1", "a2", "b1"], id="empty selector"
        ),
    ],
)
def test_filter(pod, pods, fitting):
    said = make.filtered(PodTopologySpread(), pod, make.snapshot(NODES, pods))
    assert [name for name, status in said.items() if status.is_success] == fitting
    assert set(said.values()) <= {SUCCESS, UNEVEN, UNLABELLED}


def test_a_missing_label_is_told_apart_from_a_skew():
    said = make.filtered(
        PodTopologySpread(), web(constraint()), make.snapshot(NODES, standing("a1"))
    )
    assert (said["none"], said["a1"]) == (UNLABELLED, UNEVEN)


@pytest.mark.parametrize("gates", [frozenset(), frozenset({"MatchLabelKeysInPodTopologySpread"})])
def test_match_label_keys_need_their_gate(gates):
    plugin = PodTopologySpread()
    plugin.features = gates
    pod = make.pod(
        labels={"app": "web", "rev": "2"},
        topologySpreadConstraints=[constraint(matchLabelKeys=["rev"])],
    )
    said = make.filtered(plugin, pod, make.snapshot(NODES, standing("a1")))
    assert said["a1"].is_success == bool(gates)


def soft(key="zone", skew=1, **words):
    return constraint(key, skew, soft=True, **words)


@pytest.mark.parametrize(
    ("pod", "pods", "raw", "normalized"),
    [
        pytest.param(
            web(soft()),
            standing("a1", "a1"),
            {"a1": 3, "a2": 3, "b1": 0, "none": 0},
            {"a1": 0, "a2": 0, "b1": 100, "none": 0},
            id="the emptier zone",
        ),
        pytest.param(
            web(soft(HOSTNAME, skew=3)),
            standing("a1"),
            {"a1": 4, "a2": 2, "b1": 2, "none": 2},
            {"a1": 50, "a2": 100, "b1": 100, "none": 100},
            id="by host, watered down by the skew",
        ),
        pytest.param(
            web(soft()),
            [],
            {"a1": 0, "a2": 0, "b1": 0, "none": 0},
            {"a1": 100, "a2": 100, "b1": 100, "none": 0},
            id="nothing stands yet: all alike, but the unlabelled one",
        ),
    ],
)
def test_score(pod, pods, raw, normalized):
    nodes = make.snapshot(NODES, pods)
    assert make.scored(PodTopologySpread(), pod, nodes) == raw
    assert make.scored(PodTopologySpread(), pod, nodes, normalize=True) == normalized


def listed(*objects):
    listers = Listers()
    for one in objects:
        listers.replace(None, one)
    return listers


def owned(kind, api_version="apps/v1"):
    reference = {"kind": kind, "apiVersion": api_version, "name": "o", "controller": True}
    return {"meta": {"ownerReferences": [reference]}}


SERVICE = make.other("Service", "s", namespace="default", spec={"selector": {"app": "web"}})


@pytest.mark.parametrize(
    ("objects", "words", "keys"),
    [
        pytest.param([], {}, [], id="nobody selects it"),
        pytest.param([SERVICE], {}, ["app"], id="a service"),
        pytest.param(
            [make.other("Service", "s", namespace="other", spec={"selector": {"app": "web"}})],
            {},
            [],
            id="a service elsewhere",
        ),
        pytest.param(
            [make.other("Service", "s", namespace="default", spec={})], {}, [], id="selecting none"
        ),
        pytest.param(
            [
                SERVICE,
                make.other(
                    "ReplicaSet",
                    "o",
                    namespace="default",
                    spec={"selector": HAS_REV},
                ),
            ],
            owned("ReplicaSet"),
            ["app", "rev"],
            id="a service and the replica set",
        ),
        pytest.param(
            [
                make.other(
                    "ReplicationController",
                    "o",
                    namespace="default",
                    spec={"selector": {"rc": "1"}},
                )
            ],
            owned("ReplicationController", "v1"),
            ["rc"],
            id="a replication controller",
        ),
        pytest.param([], owned("Job", "batch/v1"), [], id="another controller"),
    ],
)
def test_default_selector(objects, words, keys):
    found = default_selector(web(**words), listed(*objects))
    assert [one.key for one in found.requirements] == keys


def test_system_defaults_need_a_selector_and_only_score():
    nodes = make.snapshot(NODES, standing("a1"))
    assert make.scored(PodTopologySpread(), web(), nodes) is None
    nodes.listers.replace(None, SERVICE)
    labelled = [
        make.node(n.name, labels={"topology.kubernetes.io/zone": n.name[0]}) for n in NODES[:3]
    ]
    nodes.update(
        [make.node_info(one, standing("a1") if one.name == "a1" else ()) for one in labelled]
    )
    scores = make.scored(PodTopologySpread(), web(), nodes)
    assert scores["a1"] > scores["a2"] > scores["b1"] > 0
    assert scores["none"] > 0, "without a zone it is scored by its host alone"


def test_listed_defaults_are_what_is_listed():
    args = PodTopologySpread.Args.read(
        {"defaultingType": "List", "defaultConstraints": [constraint(selector=None)]}
    )
    nodes = make.snapshot(NODES, standing("a1"))
    nodes.listers.replace(None, SERVICE)
    said = make.filtered(PodTopologySpread(args), web(), nodes)
    assert [name for name, status in said.items() if status.is_success] == ["b1"]


# ---- one node at a time ----------------------------------------------------------------------------------------------


def count(info, one, pod):
    if one.selector is None or not one.selector.requirements:
        return 0
    return sum(
        p.namespace == pod.namespace
        and p.deletion_timestamp is None
        and one.selector.matches(p.labels)
        for p in info.pods.values()
    )


def is_counted(info, one, pod):
    labels = info.labels
    fits = pod.node_selector.items() <= labels.items()
    taints = [t for t in info.node.taints if t.effect != "PreferNoSchedule"]
    return (fits or not one.honors_affinity) and (not taints or not one.honors_taints)


def filter_one_by_one(pod, infos):
    hard = [one for one in pod.topology_spread if one.is_hard]
    domains = []
    for one in hard:
        found = Counter()
        for info in infos:
            if all(c.topology_key in info.labels for c in hard) and is_counted(info, one, pod):
                found[info.labels[one.topology_key]] += count(info, one, pod)
        domains.append(found)
    return {info.name: verdict(pod, info, hard, domains) for info in infos}


def verdict(pod, info, hard, domains):
    for one, found in zip(hard, domains, strict=True):
        value = info.labels.get(one.topology_key)
        if value is None:
            return UNLABELLED
        least = min(found.values(), default=0) if len(found) >= one.min_domains else 0
        own = one.selector is not None and one.selector.matches(pod.labels)
        if found.get(value, 0) + own - least > one.max_skew:
            return UNEVEN
    return SUCCESS


def score_one_by_one(pod, infos):
    wanted = [one for one in pod.topology_spread if not one.is_hard]
    counted = [i for i in infos if all(one.topology_key in i.labels for one in wanted)]
    scores = dict.fromkeys((info.name for info in infos), 0)
    for info in counted:
        total = 0.0
        for one in wanted:
            if one.topology_key == HOSTNAME:
                size, n = len(counted), count(info, one, pod)
            else:
                value = info.labels[one.topology_key]
                size = len({i.labels[one.topology_key] for i in counted})
                n = sum(
                    count(i, one, pod)
                    for i in counted
                    if i.labels[one.topology_key] == value and is_counted(i, one, pod)
                )
            total += n * math.log(size + 2) + (one.max_skew - 1)
        scores[info.name] = int(total + 0.5)
    return scores


@st.composite
def spread_clusters(draw):
    nodes = [
        make.node(
            f"n{n}",
            labels=draw(st.dictionaries(st.sampled_from(["zone", "rack"]), st.sampled_from("xyz"))),
            taints=draw(st.sampled_from([[], ["t:NoSchedule"]])),
        )
        for n in range(draw(st.integers(1, 5)))
    ]
    labels = st.sampled_from([{"app": "web"}, {"app": "db"}, {}])
    pods = [
        make.pod(
            f"b{n}",
            labels=draw(labels),
            node=draw(st.sampled_from(nodes)).name,
            namespace=draw(st.sampled_from(["default", "default", "other"])),
            **draw(st.sampled_from([{}, {}, GONE])),
        )
        for n in range(draw(st.integers(0, 8)))
    ]
    constraints = draw(
        st.lists(
            st.builds(
                constraint,
                st.sampled_from(["zone", "rack", HOSTNAME]),
                st.integers(1, 3),
                soft=st.booleans(),
                selector=st.sampled_from([WEB, {}, None]),
                minDomains=st.sampled_from([1, 2, 3]),
                nodeAffinityPolicy=st.sampled_from(["Honor", "Ignore"]),
                nodeTaintsPolicy=st.sampled_from(["Honor", "Ignore"]),
            ),
            min_size=1,
            max_size=3,
        )
    )
    selector = draw(st.dictionaries(st.just("zone"), st.sampled_from("xy")))
    pod = web(*constraints, nodeSelector=selector)
    return make.snapshot(nodes, pods), pod


@given(spread_clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    if any(one.is_hard for one in pod.topology_spread):
        said = make.filtered(PodTopologySpread(), pod, nodes)
        assert said == filter_one_by_one(pod, nodes.infos)
    if not all(one.is_hard for one in pod.topology_spread):
        assert make.scored(PodTopologySpread(), pod, nodes) == score_one_by_one(pod, nodes.infos)
