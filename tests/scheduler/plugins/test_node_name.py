"""NodeName lets a pod that names its node fit there only."""

from __future__ import annotations

import pytest

from schedviz.scheduler.plugins.node_name import ERR_REASON, NodeName
from tests import make


@pytest.mark.parametrize(
    ("wanted", "open_nodes"),
    [
        pytest.param("", {"a", "b"}, id="no name: every node"),
        pytest.param("b", {"b"}, id="named: that one"),
        pytest.param("gone", set(), id="named but absent: none"),
    ],
)
def test_filter(wanted, open_nodes):
    nodes = make.snapshot([make.node("a"), make.node("b")])
    said = make.filtered(NodeName(), make.pod(node=wanted), nodes)
    assert {name for name, status in said.items() if status.is_success} == open_nodes
    assert {s.reasons for s in said.values() if not s.is_success} <= {(ERR_REASON,)}
