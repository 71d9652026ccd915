"""Forms: what the API never lets in is told by its field, and null stands for absent."""

from __future__ import annotations

from typing import Any

import pytest

from schedviz.kube import objects
from schedviz.kube.objects import MalformedObject


def spec(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "namespace": "d"}, "spec": fields}


def status(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "status": fields}


@pytest.mark.parametrize(
    ("kind", "raw", "field", "words"),
    [
        pytest.param("Pod", [], "metadata", "is []: write a map", id="no object at all"),
        pytest.param("Pod", {"metadata": "x"}, "metadata", "write a map", id="no metadata"),
        pytest.param("Pod", spec(nodeName=5), "spec.nodeName", "is 5: write text", id="a number"),
        pytest.param("Pod", spec(containers={}), "spec.containers", "write a list", id="a map"),
        pytest.param(
            "Pod",
            spec(containers=[{"name": "a"}, {"image": ["x"]}]),
            "spec.containers[1].image",
            "write text",
            id="deep inside",
        ),
        pytest.param(
            "Pod",
            spec(containers=[None]),
            "spec.containers[0]",
            "leave it out",
            id="null in a list",
        ),
        pytest.param(
            "Pod",
            spec(priority=True),
            "spec.priority",
            "whole number of 32 bits",
            id="true is no number",
        ),
        pytest.param("Pod", spec(priority=2**31), "spec.priority", "32 bits", id="too large"),
        pytest.param("Pod", spec(priority=1.0), "spec.priority", "32 bits", id="a fraction"),
        pytest.param(
            "Pod", spec(hostNetwork="yes"), "spec.hostNetwork", "true or false", id="a flag"
        ),
        pytest.param(
            "Pod",
            spec(nodeSelector={"a": 1}),
            "spec.nodeSelector[a]",
            "write text",
            id="a map's value",
        ),
        pytest.param(
            "Pod",
            spec(containers=[{"resources": {"requests": {"cpu": "-1"}}}]),
            "spec.containers[0].resources.requests[cpu]",
            "0 or more",
            id="less than nothing",
        ),
        pytest.param(
            "Node",
            status(allocatable={"cpu": "lots"}),
            "status.allocatable[cpu]",
            "not a quantity",
            id="a node's amount",
        ),
        pytest.param(
            "PersistentVolume",
            spec(capacity={"storage": []}),
            "spec.capacity[storage]",
            "quantity",
            id="a volume",
        ),
        pytest.param(
            "Service", spec(selector=["a"]), "spec.selector", "write a map", id="a service"
        ),
    ],
)
def test_another_form_is_told_by_its_field(kind, raw, field, words):
    with pytest.raises(MalformedObject) as caught:
        objects.parse(kind, raw)
    assert caught.value.field == field
    assert words in caught.value.message


@pytest.mark.parametrize("kind", ["Pod", "Node", "PersistentVolumeClaim", "CSINode", "Lease"])
def test_null_stands_for_absent(kind):
    made = objects.parse(
        kind, {"metadata": {"name": "x", "labels": None}, "spec": None, "status": None}
    )
    assert (made.name, made.labels) == ("x", {})


def test_a_long_value_is_told_in_part():
    with pytest.raises(MalformedObject) as caught:
        objects.parse("Pod", spec(nodeName=["x" * 500]))
    assert len(caught.value.message) < 120
