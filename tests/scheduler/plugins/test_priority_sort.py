"""PrioritySort: higher priority first, then whoever came first."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import QueuedPodInfo
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from tests import make


def queued(priority: int, rank: float) -> QueuedPodInfo:
    return QueuedPodInfo(make.pod(priority=priority), timestamp=rank, rank=rank)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(queued(10, 5.0), queued(1, 1.0), id="higher priority goes before earlier"),
        pytest.param(queued(1, 1.0), queued(1, 2.0), id="of one priority the earlier goes first"),
        pytest.param(queued(0, 9.0), queued(-5, 1.0), id="negative priorities come last"),
    ],
)
def test_order(first, second):
    key = PrioritySort().queue_sort
    assert key(first) < key(second)
