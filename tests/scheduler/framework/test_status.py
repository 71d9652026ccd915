"""Statuses, one at a time and as columns."""

from __future__ import annotations

import numpy as np
import pytest

from schedviz.scheduler.framework.status import (
    SUCCESS,
    Code,
    NodeStatuses,
    Unschedulable,
    UnschedulableAndUnresolvable,
)


@pytest.mark.parametrize(
    ("code", "title", "number"),
    [
        pytest.param(Code.SUCCESS, "Success", 0, id="success"),
        pytest.param(
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "UnschedulableAndUnresolvable", 3, id="UU"
        ),
    ],
)
def test_codes_have_upstreams_names_and_numbers(code, title, number):
    assert (code.title, int(code)) == (title, number)


def test_columns_give_back_what_was_put_in():
    statuses = NodeStatuses(4)
    statuses.reject(np.array([True, False, True, False]), Unschedulable("a", "b"))
    statuses.reject(np.array([2]), UnschedulableAndUnresolvable("c"))
    statuses.reject(3, Unschedulable("a", "b"))
    assert [statuses.status(row) for row in range(4)] == [
        Unschedulable("a", "b"),
        SUCCESS,
        UnschedulableAndUnresolvable("c"),
        Unschedulable("a", "b"),
    ]
    assert statuses.passed.tolist() == [False, True, False, False]
    assert statuses.table == [(), ("a", "b"), ("c",)]


def test_columns_are_equal_when_their_answers_are():
    one, other = NodeStatuses(2), NodeStatuses(2)
    one.reject(0, Unschedulable("x"))
    one.reject(1, Unschedulable("y"))
    other.reject(1, Unschedulable("y"))
    assert one != other
    other.reject(0, Unschedulable("x"))
    assert one == other


def test_by_names_the_plugin():
    assert Unschedulable("x").by("P").plugin == "P"
    assert Unschedulable("x").is_rejected and not SUCCESS.is_rejected
