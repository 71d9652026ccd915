"""Selectors, taints and tolerations: what matches what, and what cannot be read."""

from __future__ import annotations

import pytest

from schedviz.kube import matching
from schedviz.kube.matching import SelectorError, Taint

LABELS = {"app": "web", "level": "7"}


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({}, True, id="an empty selector matches all"),
        pytest.param({"matchLabels": {"app": "web"}}, True, id="a label"),
        pytest.param({"matchLabels": {"app": "db"}}, False, id="another value"),
        pytest.param({"matchLabels": {"x": ""}}, False, id="absent is not empty"),
        pytest.param(expression("app", "In", "db", "web"), True, id="In"),
        pytest.param(expression("app", "NotIn", "web"), False, id="NotIn"),
        pytest.param(expression("x", "NotIn", "web"), True, id="NotIn without the key"),
        pytest.param(expression("app", "Exists"), True, id="Exists"),
        pytest.param(expression("app", "DoesNotExist"), False, id="DoesNotExist"),
        pytest.param(
            {"matchLabels": {"app": "web"}, **expression("level", "In", "8")}, False, id="and"
        ),
    ],
)
def test_label_selector(raw, expected):
    assert matching.label_selector(raw).matches(LABELS) == expected


def test_no_selector_stays_none():
    assert matching.label_selector(None) is None


@pytest.mark.parametrize(
    ("operator", "operand", "expected"),
    [
        pytest.param("Gt", "6", True, id="7 > 6"),
        pytest.param("Gt", "7", False, id="7 > 7 is not"),
        pytest.param("Lt", "8", True, id="7 < 8"),
        pytest.param("Lt", "eight", False, id="the operand is no number"),
    ],
)
def test_numbers(operator, operand, expected):
    term = matching.node_selector_term(expression("level", operator, operand))
    assert term.matches(LABELS, "n") == expected


@pytest.mark.parametrize(
    ("read", "raw", "words"),
    [
        pytest.param(
            matching.label_selector, expression("a", "Gt", "1"), "In, NotIn", id="not for labels"
        ),
        pytest.param(
            matching.label_selector, expression("a", "In"), "at least one value", id="In nothing"
        ),
        pytest.param(
            matching.label_selector, expression("a", "Exists", "x"), "no values", id="Exists what"
        ),
        pytest.param(
            matching.node_selector_term,
            expression("a", "Gt", "1", "2"),
            "exactly one",
            id="Gt of two",
        ),
        pytest.param(
            matching.node_selector_term,
            {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]},
            "metadata.name only",
            id="an unknown field",
        ),
        pytest.param(
            matching.toleration, {"key": "a", "operator": "Equals"}, "Exists or Equal", id="Equals"
        ),
    ],
)
def test_what_cannot_be_read_says_what_would_be_right(read, raw, words):
    with pytest.raises(SelectorError, match=words):
        read(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "a", "value": "b"}, True, id="Equal is the default"),
        pytest.param({"key": "a", "value": "c"}, False, id="another value"),
        pytest.param({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False, id="effect"),
        pytest.param({"key": "b", "operator": "Exists"}, False, id="another key"),
    ],
)
def test_toleration(raw, expected):
    assert matching.toleration(raw).tolerates(Taint("a", "b", "NoSchedule")) == expected
