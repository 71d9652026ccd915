"""Kinds give the REST paths that the API has."""

from __future__ import annotations

import pytest

from schedviz.kube.kinds import KINDS, WATCHED


@pytest.mark.parametrize(
    ("kind", "words", "path"),
    [
        pytest.param("Node", {}, "/api/v1/nodes", id="a collection"),
        pytest.param("Node", {"name": "n"}, "/api/v1/nodes/n", id="cluster-scoped"),
        pytest.param("Pod", {}, "/api/v1/pods", id="across namespaces"),
        pytest.param(
            "Pod",
            {"namespace": "a", "name": "p", "subresource": "binding"},
            "/api/v1/namespaces/a/pods/p/binding",
            id="a subresource",
        ),
        pytest.param(
            "ReplicaSet", {"namespace": "a"}, "/apis/apps/v1/namespaces/a/replicasets", id="a group"
        ),
    ],
)
def test_path(kind, words, path):
    assert KINDS[kind].path(**words) == path


def test_nodes_are_watched_before_pods_and_events_are_not():
    names = [kind.kind for kind in WATCHED]
    assert names.index("Node") < names.index("Pod")
    assert "Event" not in names
