"""The nominator knows one node a pod, and survives updates that have not heard of it yet."""

from __future__ import annotations

import pytest

from schedviz.scheduler.queue.nominator import Nominator
from tests import make


def nominated(node, **words):
    return make.pod(status={"nominatedNodeName": node} if node else None, **words)


@pytest.mark.parametrize(
    ("written", "old", "new", "expected"),
    [
        pytest.param("n1", "", "", "n1", id="our own nomination is not written yet"),
        pytest.param("n1", "", "n1", "n1", id="it is written now"),
        pytest.param("n1", "n1", "", "", id="it was cleared"),
        pytest.param("n1", "n1", "n2", "n2", id="it names another node"),
        pytest.param("", "", "n2", "n2", id="somebody else nominated the pod"),
    ],
)
def test_an_update_decides_where_a_pod_is_nominated(written, old, new, expected):
    nominator = Nominator()
    nominator.add(nominated(old), written)
    nominator.update(nominated(old), nominated(new))
    assert nominator.node_of("default/p") == expected
    nominator.check_invariants()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(None, "n1", id="None leaves what the status says"),
        pytest.param("", "", id="nothing clears it"),
        pytest.param("n2", "n2", id="a name overrides it"),
    ],
)
def test_what_is_said_comes_before_the_status(said, expected):
    nominator = Nominator()
    nominator.add(nominated("n1"), said)
    assert nominator.node_of("default/p") == expected


def test_a_deleted_pod_leaves_nothing_behind():
    nominator = Nominator()
    nominator.add(nominated("n1"))
    nominator.delete("default/p")
    nominator.delete("default/p")
    assert nominator.by_node == {}
    nominator.check_invariants()


def test_less_important_pods_of_a_node_are_found():
    nominator = Nominator()
    for name, priority, node in (("low", 1, "n1"), ("same", 5, "n1"), ("far", 1, "n2")):
        nominator.add(nominated(node, name=name, priority=priority))
    found = nominator.lower_than(make.pod(priority=5), "n1")
    assert [pod.name for pod in found] == ["low"]
