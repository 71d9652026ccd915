"""A remembered column is worked out again only where nodes changed."""

from __future__ import annotations

import numpy as np

from schedviz.scheduler.framework import RowMemo
from tests import make


class Asked:
    """Answers with the row's number of pods and remembers what it was asked."""

    def __init__(self, nodes) -> None:
        self.nodes, self.rows = nodes, []

    def __call__(self, rows):
        self.rows.append(rows.tolist())
        return self.nodes.n_pods[rows]


def test_only_changed_rows_are_asked_again():
    nodes = make.snapshot([make.node("a"), make.node("b")])
    memo, asked = RowMemo(), Asked(nodes)
    assert memo.column("shape", nodes, asked).tolist() == [0, 0]
    nodes.update([make.node_info(make.node("b"), [make.pod()])])
    assert memo.column("shape", nodes, asked).tolist() == [0, 1]
    assert memo.column("shape", nodes, asked).tolist() == [0, 1]
    assert asked.rows == [[0, 1], [1]]


def test_all_are_asked_again_when_rows_came_or_went():
    nodes = make.snapshot([make.node("a")])
    memo, asked = RowMemo(), Asked(nodes)
    memo.column("shape", nodes, asked)
    nodes.update([make.node_info(make.node("b"))])
    assert memo.column("shape", nodes, asked).tolist() == [0, 0]
    assert asked.rows == [[0], [0, 1]]


def test_the_longest_unused_shape_is_forgotten():
    nodes = make.snapshot([make.node("a")])
    memo, asked = RowMemo(limit=2), Asked(nodes)
    for shape in ("x", "y", "x", "z", "x"):
        memo.column(shape, nodes, asked)
    assert len(asked.rows) == 3
    memo.column("y", nodes, asked)
    assert len(asked.rows) == 4
    assert np.array_equal(memo.column("y", nodes, asked), [0])
