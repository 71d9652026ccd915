"""NodeUnschedulable keeps pods off cordoned nodes."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS
from schedviz.scheduler.plugins.node_unschedulable import NodeUnschedulable
from tests import make

CORDONED = UnschedulableAndUnresolvable("node(s) were unschedulable")
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "unschedulable", "expected"),
    [
        pytest.param([], False, SUCCESS, id="an open node takes the pod"),
        pytest.param([], True, CORDONED, id="a cordoned node does not"),
        pytest.param([f"{KEY}:NoSchedule"], True, SUCCESS, id="tolerated by key and effect"),
        pytest.param([":"], True, SUCCESS, id="tolerated by a toleration of everything"),
        pytest.param([f"{KEY}=x:NoSchedule"], True, CORDONED, id="Equal with a value is not it"),
        pytest.param([f"{KEY}:NoExecute"], True, CORDONED, id="another effect is not it"),
    ],
)
def test_filter(tolerations, unschedulable, expected):
    nodes = make.snapshot([make.node(unschedulable=unschedulable)])
    said = make.filtered(NodeUnschedulable(), make.pod(tolerations=tolerations), nodes)
    assert said == {"n": expected}
