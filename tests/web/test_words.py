"""Spans, quantities, and words for what wakes a pod."""

from __future__ import annotations

import pytest

from schedviz.scheduler import plugins
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent, event_of
from schedviz.scheduler.framework.interface import EXTENSION_POINTS
from schedviz.scheduler.framework.steps import Lane
from schedviz.web import words


def test_it_works():
    assert set(words.POINTS) == set(EXTENSION_POINTS)
    assert set(words.LANE_TITLES) == {lane.value for lane in Lane}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-3, "0.0 s"),
        (0.34, "0.3 s"),
        (12.4, "12 s"),
        (250, "4 m 10 s"),
        (11100, "3 h 05 m"),
        (187200, "2 d 4 h"),
    ],
)
def test_spans(value, said):
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(0.000021, "0.021 ms"), (0.0019, "1.90 ms"), (0.14, "140 ms")]
)
def test_milliseconds(value, said):
    assert words.milliseconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"), [(4000, "4"), (500, "0.5"), (250, "250m"), (1250, "1.25"), (0, "0")]
)
def test_cpu(value, said):
    assert words.cpu(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (1 << 30, "1 GiB"), (1536 << 20, "1.5 GiB"), (1 << 50, "1.02e+03 TiB")],
)
def test_memory(value, said):
    assert words.memory(value) == said


@pytest.mark.parametrize("name", list(plugins.IN_TREE))
def test_every_plugins_events_can_be_said(name):
    for event in map(event_of, plugins.IN_TREE[name]().events_to_register()):
        assert all(said for said in words.wakes(event))


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("NodeUpdateNodeTaint", "a node's taints changed"),
        ("NodeAdd", "a node joined"),
        ("AssignedPodDelete", "a pod left a node: room was made"),
        ("AssignedPodUpdatePodScaleDown", "a pod asked for less"),
        ("PersistentVolumeClaimUpdate", "a PersistentVolumeClaim changed"),
        ("StorageClassAdd", "a StorageClass came"),
        ("PopFromBackoffQ", "nothing was active: tried before its backoff was over"),
        ("something else", ""),
    ],
)
def test_causes(label, said):
    assert words.cause(label) == said


@pytest.mark.parametrize("name", list(plugins.IN_TREE))
def test_every_event_that_wakes_a_pod_can_be_said(name):
    for event in map(event_of, plugins.IN_TREE[name]().events_to_register()):
        kinds = ("AssignedPod", "UnscheduledPod") if event.resource == "Pod" else (event.resource,)
        for kind in kinds:
            for action in (ActionType.ADD, ActionType.DELETE, ActionType.UPDATE_OTHER):
                assert words.cause(ClusterEvent(kind, action).label)
