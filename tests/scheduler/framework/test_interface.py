"""Writing a plugin: one method is enough, and mistakes are told when the class is made."""

from __future__ import annotations

import numpy as np
import pytest

from schedviz.scheduler.framework import CycleState, Plugin, Unschedulable, default_normalize_score
from schedviz.scheduler.framework.interface import PluginError, points_of
from tests import make

NODES = make.snapshot([make.node("n1"), make.node("n2")])


class NodeNumber(Plugin):
    """Favour the node whose last digit is the pod's; refuse n1."""

    def filter(self, state, pod, node):
        return Unschedulable("it is n1") if node.name == "n1" else None

    def score(self, state, pod, node):
        return 100 if node.name[-1] == pod.name[-1] else 0


def test_one_nodes_answer_becomes_every_nodes():
    plugin, pod, rows = NodeNumber(), make.pod("p2"), np.array([1, 0])
    statuses = plugin.filter_nodes(CycleState(), pod, NODES)
    assert [statuses.status(row).reasons for row in range(2)] == [("it is n1",), ()]
    assert plugin.score_nodes(CycleState(), pod, NODES, rows).tolist() == [100, 0]


def test_a_plugin_speaks_where_it_has_a_method():
    assert points_of(NodeNumber()) == ("Filter", "Score")
    assert NodeNumber().name == "NodeNumber"


def test_a_misspelt_method_is_refused_with_the_right_word():
    with pytest.raises(PluginError, match=r"Typo\.fliter .* did you mean filter"):
        type("Typo", (Plugin,), {"fliter": lambda *_: None})


def test_both_forms_together_are_refused():
    both = {"score": lambda *_: 0, "score_nodes": lambda *_: 0}
    with pytest.raises(PluginError, match="defines both score and score_nodes"):
        type("Twice", (Plugin,), both)


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([0, 5, 10], False, [0, 50, 100], id="by the largest"),
        pytest.param([0, 5, 10], True, [100, 50, 0], id="reversed"),
        pytest.param([1, 3], False, [33, 100], id="cut, not rounded"),
        pytest.param([0, 0], False, [0, 0], id="all zero stays"),
        pytest.param([0, 0], True, [100, 100], id="all zero, reversed"),
        pytest.param([], False, [], id="no node"),
    ],
)
def test_default_normalize_score(scores, reverse, expected):
    given = np.array(scores, dtype=np.int64)
    assert default_normalize_score(given, reverse=reverse).tolist() == expected
