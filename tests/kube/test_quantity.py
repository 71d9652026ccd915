"""Quantities are exact; what a node or pod counts is rounded up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.kube import quantity


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        pytest.param("2", 2, 2000, id="whole"),
        pytest.param("250m", 1, 250, id="milli"),
        pytest.param("1.5", 2, 1500, id="a fraction"),
        pytest.param(".5", 1, 500, id="without a digit before the point"),
        pytest.param("5.", 5, 5000, id="without a digit behind the point"),
        pytest.param("1n", 1, 1, id="nano, rounded up twice"),
        pytest.param("1100u", 1, 2, id="micro"),
        pytest.param("64Mi", 64 << 20, (64 << 20) * 1000, id="binary"),
        pytest.param("0.5Ki", 512, 512000, id="half a binary"),
        pytest.param("1k", 1000, 10**6, id="decimal"),
        pytest.param("2e3", 2000, 2 * 10**6, id="exponent"),
        pytest.param("1E", 10**18, 2**63 - 1, id="exa, held within 64 bits"),
        pytest.param("1E2", 100, 10**5, id="an exponent, not exa"),
        pytest.param("+1", 1, 1000, id="plus"),
        pytest.param("-1500m", -1, -1500, id="minus, rounded up toward zero"),
        pytest.param(3, 3, 3000, id="a number"),
        pytest.param("0", 0, 0, id="zero"),
    ],
)
def test_value_and_milli_value(text, value, milli):
    assert quantity.value(text) == value
    assert quantity.milli_value(text) == milli


@pytest.mark.parametrize(
    "text", ["", "x", "1 Gi", "1GiB", "1e", "--1", "1.2.3", "1mi", "0x10", "१"]
)
def test_what_is_no_quantity_is_refused_with_an_example(text):
    with pytest.raises(quantity.QuantityError, match="500m"):
        quantity.parse(text)


@given(st.integers(-(10**6), 10**6), st.sampled_from(["m", "", "k", "Ki", "Gi"]))
def test_rounding_is_up_and_never_by_a_whole(number, suffix):
    exact = quantity.parse(f"{number}{suffix}")
    assert 0 <= quantity.value(f"{number}{suffix}") - exact < 1
    assert 0 <= quantity.milli_value(f"{number}{suffix}") - exact * 1000 < 1


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=0, max_value=999))
def test_decimals_are_exact(number):
    assert quantity.parse(str(number)) == Fraction(str(number))
