"""Events carry upstream's labels and wake the plugins that registered for them."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent


@pytest.mark.parametrize(
    ("event", "label"),
    [
        pytest.param(ClusterEvent("Node", ActionType.ADD), "NodeAdd", id="add"),
        pytest.param(
            ClusterEvent("AssignedPod", ActionType.DELETE), "AssignedPodDelete", id="delete"
        ),
        pytest.param(ClusterEvent("Service", ActionType.UPDATE_OTHER), "ServiceUpdate", id="other"),
    ],
)
def test_label(event, label):
    assert event.label == label


@pytest.mark.parametrize(
    ("event", "registered", "expected"),
    [
        pytest.param(("Node", ActionType.ADD), ("Node", ActionType.ADD), True, id="the same"),
        pytest.param(("Node", ActionType.ADD), ("Node", ActionType.UPDATE), False, id="another"),
        pytest.param(
            ("Node", ActionType.UPDATE_NODE_LABEL), ("Node", ActionType.UPDATE), True, id="a part"
        ),
        pytest.param(
            ("AssignedPod", ActionType.DELETE), ("Pod", ActionType.DELETE), True, id="a sort of pod"
        ),
        pytest.param(("Service", ActionType.ADD), ("*", ActionType.ALL), True, id="everything"),
    ],
)
def test_matches(event, registered, expected):
    assert ClusterEvent(*event).matches(ClusterEvent(*registered)) == expected
