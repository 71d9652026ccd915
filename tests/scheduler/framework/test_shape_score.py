"""A line with corners gives each utilisation its score."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.shape_score import broken_linear


@pytest.mark.parametrize(
    ("utilization", "score"),
    [
        pytest.param(0, 0, id="before the first point"),
        pytest.param(25, 50, id="on the way up"),
        pytest.param(40, 100, id="on a point"),
        pytest.param(43, 86, id="down, truncated toward zero"),
        pytest.param(100, 0, id="behind the last"),
    ],
)
def test_broken_linear(utilization, score):
    assert broken_linear([(10, 0), (40, 100), (61, 0)])[utilization] == score
