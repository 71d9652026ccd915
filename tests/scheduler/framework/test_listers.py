"""Objects by kind and key, with a version that grows when they change."""

from __future__ import annotations

from schedviz.scheduler.framework.listers import Listers
from tests import make


def test_objects_come_change_and_go():
    listers = Listers()
    first, second = (
        make.other("Service", "s", namespace="a"),
        make.other("Service", "s", namespace="a"),
    )
    listers.replace(None, first)
    assert listers.get("Service", "a/s") is first
    listers.replace(first, second)
    assert listers.get("Service", "a/s") is second
    listers.replace(second, None)
    assert listers.get("Service", "a/s") is None
    assert listers.of("Service") == {}


def test_the_version_grows_for_its_kinds_only():
    listers = Listers()
    before = listers.version("Service", "ReplicaSet")
    listers.replace(None, make.other("Namespace", "a"))
    assert listers.version("Service", "ReplicaSet") == before
    listers.replace(None, make.other("ReplicaSet", "r", namespace="a"))
    assert listers.version("Service", "ReplicaSet") > before


def test_pods_and_nodes_are_kept_elsewhere():
    listers = Listers()
    listers.replace(None, make.node())
    assert listers.of("Node") == {}
