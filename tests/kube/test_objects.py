"""Objects as the API has them become plain data, or an error that names the field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.kube import objects
from schedviz.kube.kinds import KINDS
from schedviz.kube.objects import MalformedObject
from tests import make


def test_a_pod_gets_the_apis_defaults():
    pod = objects.parse("Pod", {"metadata": {"name": "p", "namespace": "a"}})
    assert pod.key == "a/p"
    assert pod.uid == "a/p"
    assert pod.scheduler_name == "default-scheduler"
    assert pod.preemption_policy == "PreemptLowerPriority"
    assert pod.phase == "Pending"
    assert pod.priority == 0


def test_times_are_seconds():
    pod = make.pod(
        meta={
            "creationTimestamp": "1970-01-01T00:01:00Z",
            "deletionTimestamp": "1970-01-01T00:02:00Z",
        }
    )
    assert pod.creation_timestamp == 60.0
    assert pod.deletion_timestamp == 120.0


def test_a_node_without_allocatable_has_its_capacity():
    node = objects.parse("Node", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "2"}}})
    assert node.allocatable == {"cpu": 2000}
    assert node.is_ready


def test_match_label_keys_become_requirements():
    pod = make.pod(
        labels={"hash": "x"},
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
                "matchLabelKeys": ["hash", "absent"],
            }
        ],
    )
    (constraint,) = pod.topology_spread
    assert constraint.selector.matches({"app": "a", "hash": "x"})
    assert not constraint.selector.matches({"app": "a", "hash": "y"})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            {"containers": [make.container(requests={"cpu": "lots"})]},
            "spec.containers[0].resources.requests[cpu]",
            id="a quantity",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Is"}]}, "spec.tolerations", id="an operator"
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "a", "operator": "Near"}]}
                            ]
                        }
                    }
                }
            },
            "spec.affinity.nodeAffinity",
            id="a node selector",
        ),
        pytest.param({"containers": 5}, "spec.containers", id="a list that is none"),
        pytest.param({"schedulingGates": [{}]}, "spec", id="a gate without name"),
    ],
)
def test_a_malformed_pod_names_its_field(spec, field):
    raw = make.raw_pod("bad", namespace="a")
    raw["spec"].update(spec)
    with pytest.raises(MalformedObject) as caught:
        objects.parse("Pod", raw)
    assert caught.value.field == field
    assert (caught.value.namespace, caught.value.name) == ("a", "bad")
    assert caught.value.message


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ["metadata", "name", "spec", "status", "containers", "resources", "requests", "cpu"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(KINDS)), ANYTHING)
def test_whatever_arrives_is_an_object_or_a_malformed_one(kind, raw):
    try:
        parsed = objects.parse(kind, raw)
    except MalformedObject as error:
        assert error.field
    else:
        assert parsed.kind == kind
