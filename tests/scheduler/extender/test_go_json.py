"""Answers are read as Go reads them, and refused in Go's words."""

from __future__ import annotations

from typing import Any

import pytest

from schedviz.scheduler.extender import wire
from schedviz.scheduler.extender.go_json import WrongAnswer, decode

FILTER, SCORES = wire.FILTER_RESULT, wire.HOST_PRIORITY_LIST


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        pytest.param(b'{"NodeNames":["a"]}', "NodeNames", ["a"], id="as Go writes it"),
        pytest.param(b'{"nodenames":["a"]}', "NodeNames", ["a"], id="in any case"),
        pytest.param(b'{"NodeNames":[]}', "NodeNames", [], id="an empty list is a list"),
        pytest.param(b'{"NodeNames":null}', "NodeNames", None, id="null is nothing"),
        pytest.param(b"null", "NodeNames", None, id="so is null for all of it"),
        pytest.param(b'{"x":1} trailing', "NodeNames", None, id="what follows is not looked at"),
        pytest.param(b'{"failedNodes":{"a":"b"}}', "FailedNodes", {"a": "b"}, id="a map"),
        pytest.param(b'{"error":null}', "Error", "", id="a null text is empty"),
        pytest.param(b'{"NodeNames":[null]}', "NodeNames", [""], id="a null in a list"),
    ],
)
def test_what_is_read(body: bytes, field: str, value: Any) -> None:
    assert decode(body, FILTER)[field] == value


def go_field(value: str, field: str, go: str) -> str:
    return f"json: cannot unmarshal {value} into Go struct field {field} of type {go}"


@pytest.mark.parametrize(
    ("body", "form", "words"),
    [
        pytest.param(b"", FILTER, "EOF", id="nothing"),
        pytest.param(b" ", FILTER, "EOF", id="nothing but space"),
        pytest.param(b'{"Error":', FILTER, "unexpected EOF", id="cut off"),
        pytest.param(b'{"Error":"a', FILTER, "unexpected EOF", id="cut off in a text"),
        pytest.param(
            b"<html>", FILTER, "invalid character '<' looking for beginning of value", id="HTML"
        ),
        pytest.param(
            b"{x}",
            FILTER,
            "invalid character 'x' looking for beginning of object key string",
            id="no key",
        ),
        pytest.param(b'{"a" 1}', FILTER, "invalid character '1' after object key", id="no colon"),
        pytest.param(
            b'{"a":1 "b"}',
            FILTER,
            "invalid character '\"' after object key:value pair",
            id="no comma",
        ),
        pytest.param(
            b"NaN", SCORES, "invalid character 'N' looking for beginning of value", id="NaN"
        ),
        pytest.param(
            b"[]",
            FILTER,
            "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult",
            id="a list",
        ),
        pytest.param(
            b'"x"',
            SCORES,
            "json: cannot unmarshal string into Go value of type v1.HostPriorityList",
            id="a text for a list",
        ),
        pytest.param(
            b'{"NodeNames":"a"}',
            FILTER,
            go_field("string", "ExtenderFilterResult.NodeNames", "[]string"),
            id="a text for names",
        ),
        pytest.param(
            b'{"NodeNames":[1]}',
            FILTER,
            go_field("number", "ExtenderFilterResult.NodeNames", "string"),
            id="a number for a name",
        ),
        pytest.param(
            b'[{"Score":5.5}]',
            SCORES,
            go_field("number 5.5", "HostPriority.Score", "int64"),
            id="half a point",
        ),
        pytest.param(
            b'[{"Score":"5"}]',
            SCORES,
            go_field("string", "HostPriority.Score", "int64"),
            id="a text for a score",
        ),
        pytest.param(
            b'[{"Score":true}]',
            SCORES,
            go_field("bool", "HostPriority.Score", "int64"),
            id="a truth for a score",
        ),
        pytest.param(
            b'[{"Score":9223372036854775808}]',
            SCORES,
            go_field("number 9223372036854775808", "HostPriority.Score", "int64"),
            id="one too many",
        ),
    ],
)
def test_what_is_refused(body: bytes, form: Any, words: str) -> None:
    with pytest.raises(WrongAnswer) as refused:
        decode(body, form)
    assert str(refused.value) == words


def test_depth_has_an_end() -> None:
    with pytest.raises(WrongAnswer, match="exceeded max depth"):
        decode(b"[" * 100_000, SCORES)
