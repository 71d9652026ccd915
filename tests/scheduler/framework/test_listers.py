"""Objects by kind and key, with a version that grows when they change."""

from __future__ import annotations

import pytest

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


def test_what_is_assumed_is_shown_until_it_is_restored():
    listers = Listers()
    told, assumed, again = (make.other("PersistentVolume", "v") for _ in range(3))
    listers.replace(None, told)
    before = listers.version("PersistentVolume")
    listers.assume(assumed)
    listers.assume(again)
    assert listers.get("PersistentVolume", "v") is again
    assert listers.told("PersistentVolume", "v") is told
    assert listers.version("PersistentVolume") > before
    listers.restore("PersistentVolume", "v")
    assert listers.get("PersistentVolume", "v") is listers.told("PersistentVolume", "v") is told


def test_the_watch_overrules_what_is_assumed():
    listers = Listers()
    told, assumed, newer = (make.other("PersistentVolume", "v") for _ in range(3))
    listers.replace(None, told)
    listers.assume(assumed)
    listers.replace(told, newer)
    listers.restore("PersistentVolume", "v")
    assert listers.get("PersistentVolume", "v") is newer
    listers.assume(assumed)
    listers.replace(newer, None)
    listers.restore("PersistentVolume", "v")
    assert listers.get("PersistentVolume", "v") is None
    assert listers.told("PersistentVolume", "v") is None


def test_what_is_not_there_cannot_be_assumed():
    with pytest.raises(KeyError):
        Listers().assume(make.other("PersistentVolume", "v"))
