"""Pods in the order in which preemption spares them, and the table that keeps it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework.victims import NOBODY, PodTable, by_importance
from tests import make


def started(name, second, priority=0, **words):
    at = {"startTime": f"2026-01-01T00:00:{second:02}Z"} if second is not None else None
    return make.pod(name, priority=priority, status=at, **words)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([started("a", 1, 1), started("b", 9, 5)], "ba", id="priority first"),
        pytest.param([started("a", 9), started("b", 1)], "ba", id="then who runs longer"),
        pytest.param([started("a", None), started("b", 1)], "ba", id="not started comes last"),
        pytest.param([started("a", 3), started("b", 3)], "ab", id="equal pods keep their order"),
        pytest.param(
            [started("a", None), started("b", None)], "ba", id="of two not started, the later one"
        ),
    ],
)
def test_the_most_important_pod_comes_first(pods, expected):
    assert "".join(pod.name for pod in by_importance(pods)) == expected


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["n0", "n1"]),
        st.lists(st.tuples(st.integers(-1, 2), st.sampled_from("123")), max_size=12),
    ),
    max_size=4,
)


def cpu_of(pod):
    return pod.requests.get("cpu", 0)


@given(CHANGES)
def test_the_table_follows_the_snapshot(changes):
    """Whatever rows change, and however many pods a node gets."""
    nodes = make.snapshot([make.node("n0"), make.node("n1")])
    table, rows = PodTable(), np.arange(2)
    table.refresh(nodes, rows)
    table.measure("cpu", cpu_of, rows, 1)
    for name, some in changes:
        info = make.node_info(
            make.node(name),
            [
                make.pod(f"p{n}", node=name, priority=priority, requests={"cpu": cpu})
                for n, (priority, cpu) in enumerate(some)
            ],
        )
        nodes.update([info])
        table.refresh(nodes, rows)
        row = nodes.rows[name]
        ordered = by_importance(info.pods.values())
        width = table.priority.shape[1]
        assert table.pods[row] == ordered
        priorities = [pod.priority for pod in ordered]
        assert table.priority[row].tolist() == priorities + [NOBODY] * (width - len(ordered))
        requests = table.measure("cpu", cpu_of, rows, width)[row, : len(ordered)]
        assert requests.tolist() == [pod.requests["cpu"] for pod in ordered]
