"""NodeAffinity: node selector, required terms, preferences, and what the configuration adds."""

from __future__ import annotations

import pytest
from hypothesis import given

from schedviz.scheduler.framework import PreFilterResult, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.node_affinity import NodeAffinity
from tests import make, strategies

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODES = [
    make.node("a", labels={"zone": "z1", "disk": "ssd", "n": "5"}),
    make.node("b", labels={"zone": "z2", "n": "x"}),
]


def expression(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def requiring(*terms, **spec):
    return make.pod(
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}, **spec
    )


def preferring(*weighted):
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return make.pod(affinity={"nodeAffinity": {PREFERRED: terms}})


def expr(*expressions):
    return {"matchExpressions": list(expressions)}


def named(*names):
    return {"matchFields": [expression("metadata.name", "In", *names)]}


@pytest.mark.parametrize(
    ("pod", "fitting"),
    [
        pytest.param(make.pod(nodeSelector={"zone": "z1"}), "a", id="node selector"),
        pytest.param(requiring(expr(expression("zone", "In", "z1", "z2"))), "ab", id="In"),
        pytest.param(requiring(expr(expression("disk", "NotIn", "ssd"))), "b", id="NotIn, absent"),
        pytest.param(requiring(expr(expression("disk", "Exists"))), "a", id="Exists"),
        pytest.param(requiring(expr(expression("disk", "DoesNotExist"))), "b", id="DoesNotExist"),
        pytest.param(requiring(expr(expression("n", "Gt", "4"))), "a", id="Gt, not a number"),
        pytest.param(requiring(expr(expression("n", "Lt", "5"))), "", id="Lt is strict"),
        pytest.param(requiring({}), "", id="an empty term matches nothing"),
        pytest.param(requiring({}, expr(expression("disk", "Exists"))), "a", id="any term will do"),
        pytest.param(
            requiring(expr(expression("zone", "Exists")), nodeSelector={"zone": "z2"}),
            "b",
            id="selector and affinity together",
        ),
        pytest.param(requiring(named("b")), "b", id="by name"),
        pytest.param(
            requiring({"matchFields": [expression("metadata.name", "NotIn", "b")]}),
            "a",
            id="by name, NotIn",
        ),
    ],
)
def test_filter(pod, fitting):
    said = make.filtered(NodeAffinity(), pod, make.snapshot(NODES))
    assert "".join(name for name, status in said.items() if status.is_success) == fitting
    refused = UnschedulableAndUnresolvable("node(s) didn't match Pod's node affinity/selector")
    assert {status for status in said.values() if not status.is_success} <= {refused}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(
            requiring(named("b"), named("a", "c")),
            PreFilterResult(frozenset("abc")),
            id="terms add up",
        ),
        pytest.param(
            requiring(named("a"), expr(expression("disk", "Exists"))),
            None,
            id="one term without names: all nodes",
        ),
        pytest.param(
            requiring(
                {
                    "matchFields": [
                        expression("metadata.name", "In", "a"),
                        expression("metadata.name", "In", "b"),
                    ]
                }
            ),
            UnschedulableAndUnresolvable("pod affinity terms conflict"),
            id="no name can be both",
        ),
    ],
)
def test_pre_filter(pod, expected):
    assert NodeAffinity().pre_filter(None, pod, make.snapshot(NODES)) == expected


def test_a_pod_that_asks_nothing_is_skipped():
    _, said = make.pre_filtered(NodeAffinity(), make.pod(), make.snapshot(NODES))
    assert said.code is Code.SKIP
    assert make.scored(NodeAffinity(), make.pod(), make.snapshot(NODES)) is None


def test_preferences_add_their_weights():
    pod = preferring(
        (10, expr(expression("zone", "Exists"))), (5, expr(expression("disk", "Exists"))), (90, {})
    )
    assert make.scored(NodeAffinity(), pod, make.snapshot(NODES)) == {"a": 15, "b": 10}
    assert make.scored(NodeAffinity(), pod, make.snapshot(NODES), normalize=True) == {
        "a": 100,
        "b": 66,
    }


def test_added_affinity_is_asked_first():
    args = NodeAffinity.Args.read(
        {
            "addedAffinity": {
                REQUIRED: {"nodeSelectorTerms": [expr(expression("disk", "Exists"))]},
                PREFERRED: [{"weight": 4, "preference": expr(expression("zone", "In", "z2"))}],
            }
        }
    )
    said = make.filtered(NodeAffinity(args), make.pod(), make.snapshot(NODES))
    assert said["a"].is_success
    assert said["b"] == UnschedulableAndUnresolvable(
        "node(s) didn't match scheduler-enforced node affinity"
    )
    assert make.scored(NodeAffinity(args), make.pod(), make.snapshot(NODES)) == {"a": 0, "b": 4}


def test_what_was_remembered_is_forgotten_when_a_label_changes():
    plugin, pod = NodeAffinity(), requiring(expr(expression("disk", "Exists")))
    nodes = make.snapshot(NODES)
    assert not make.filtered(plugin, pod, nodes)["b"].is_success
    nodes.update([make.node_info(make.node("b", labels={"disk": "hdd"}))])
    assert make.filtered(plugin, pod, nodes)["b"].is_success


@given(strategies.clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    said = make.filtered(NodeAffinity(), pod, nodes)
    scores = make.scored(NodeAffinity(), pod, nodes)
    for info in nodes.infos:
        fits = pod.node_selector.items() <= info.labels.items() and (
            pod.required_node_affinity is None
            or pod.required_node_affinity.matches(info.labels, info.name)
        )
        assert said[info.name].is_success == fits
        if scores is not None:
            assert scores[info.name] == sum(
                one.weight
                for one in pod.preferred_node_affinity
                if one.term.matches(info.labels, info.name)
            )
