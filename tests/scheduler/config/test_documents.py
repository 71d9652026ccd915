"""Text as go-yaml and encoding/json take it, and what they say when they cannot."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config.documents import plain, plain_scalar, read_yaml
from schedviz.scheduler.config.errors import ConfigError
from schedviz.scheduler.config.json_text import read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("y", True, id="y is true"),
        pytest.param("Off", False, id="Off is false"),
        pytest.param("~", None, id="a tilde is nothing"),
        pytest.param("010", 8, id="octal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("0b11", 3, id="binary"),
        pytest.param("1_000", 1000, id="grouped digits"),
        pytest.param("2.0", 2, id="no fraction: a whole number"),
        pytest.param("2.5", 2.5, id="a fraction"),
        pytest.param("1e3", 1000, id="an exponent"),
        pytest.param("1:30", "1:30", id="no number to base 60"),
        pytest.param("2001-01-01", "2001-01-01", id="no date"),
        pytest.param("5s", "5s", id="a text"),
        pytest.param("9" * 400, float("inf"), id="more digits than a number has"),
    ],
)
def test_unquoted(text, value):
    assert plain_scalar(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: '5'", {"a": "5"}, id="quoted"),
        pytest.param("a: !!str 5", {"a": "5"}, id="tagged as text"),
        pytest.param("1: x\ntrue: y", {"1": "x", "true": True}, id="keys are texts"),
        pytest.param(
            "a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}, id="merged"
        ),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="referred to"),
        pytest.param("---\na: 1\n---\n", {"a": 1}, id="an empty second document"),
        pytest.param("a: 1\na: 2", {"a": 2}, id="the last of two"),
        pytest.param('a: "\\uD83D\\uDE00\\uD800"', {"a": "😀\ufffd"}, id="halves of characters"),
    ],
)
def test_yaml(text, value):
    assert plain(read_yaml(text).root) == value


@pytest.mark.parametrize(
    ("text", "value", "line"),
    [
        pytest.param("a: 1\n---\nb: 2", {"a": 1}, 3, id="the first of two"),
        pytest.param("---\n---\na: 1", None, 3, id="also when it is empty"),
        pytest.param("a: 1\n---\n\tb: [", {"a": 1}, 3, id="whatever follows"),
        pytest.param("a: 1\n---\n", {"a": 1}, None, id="nothing follows"),
    ],
)
def test_of_several_documents_the_first_is_read_and_the_next_is_told(text, value, line):
    document = read_yaml(text)
    assert (plain(document.root), document.dropped_line) == (value, line)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        pytest.param(
            "a: 1\n\tb: 2",
            "yaml: line 2: found character that cannot start any token",
            2,
            id="a tab",
        ),
        pytest.param(
            "a: b: c", "yaml: mapping values are not allowed in this context", 1, id="two colons"
        ),
        pytest.param(
            "a:\n  b: 1\n c: 2",
            "yaml: line 2: did not find expected key",
            3,
            id="between two depths",
        ),
        pytest.param("a: *x", "unknown anchor 'x' referenced", 1, id="an anchor that is not there"),
        pytest.param(
            "x: 1\na: [1",
            "yaml: line 1: did not find expected ',' or ']'",
            2,
            id="a list left open",
        ),
        pytest.param("a: &x [*x]", "contains itself", 1, id="an anchor inside of itself"),
        pytest.param(BOMB, "excessive aliasing", None, id="aliases of aliases"),
        pytest.param("a: .inf", "unsupported value", 1, id="infinity"),
        pytest.param("a: \x01", "control characters are not allowed", 1, id="a control character"),
        pytest.param("[" * 1000, "nested too deeply", 1, id="very deep"),
        pytest.param("a: " + "[" * 150 + "]" * 150, "exceeded max depth", 1, id="deep"),
        pytest.param("? [a]\n: b", "a key must be a text", 1, id="a list as key"),
        pytest.param("<<: 1", "map merge requires map", 1, id="merging a number"),
        pytest.param("a: " + "x" * (1 << 20), "more than", 1, id="too long"),
    ],
)
def test_no_yaml(text, words, line):
    with pytest.raises(ConfigError) as refused:
        read_yaml(text)
    assert words in refused.value.message
    assert line in (None, refused.value.problems[0].line)


def test_json():
    document = read_json('\n{"a": [1, -2.5, "\\u00e9", true, null],\n\t"b": {}}')
    assert plain(document.root) == {"a": [1, -2.5, "é", True, None], "b": {}}
    assert (document.lines.of("b"), document.lines.of("a[2]")) == (3, 2)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        pytest.param(
            "{a: 1}",
            "invalid character 'a' looking for beginning of object key string",
            1,
            id="YAML",
        ),
        pytest.param('{"a": 1', "unexpected end of JSON input", 1, id="left open"),
        pytest.param(
            '{"a": 1}\nx', "invalid character 'x' after top-level value", 2, id="more behind"
        ),
        pytest.param('{"a" 1}', "invalid character '1' after object key", 1, id="no colon"),
        pytest.param(
            '{"a": 1 "b": 2}',
            "invalid character '\"' after object key:value pair",
            1,
            id="no comma",
        ),
        pytest.param(
            '{"a": [1 2]}', "invalid character '2' after array element", 1, id="no comma in a list"
        ),
        pytest.param(
            '{"a":\n?}', "invalid character '?' looking for beginning of value", 2, id="no value"
        ),
        pytest.param('{"a": "x\ny"}', "in string literal", 1, id="a line break in a text"),
        pytest.param('{"a":' + "[" * 150, "exceeded max depth", 1, id="deep"),
    ],
)
def test_no_json(text, words, line):
    with pytest.raises(ConfigError) as refused:
        read_json(text)
    assert words in refused.value.message
    assert refused.value.problems[0].line == line
