"""Reads an extender's answer as Go's encoding/json does: names in any case, null is nothing, a wrong type is told.

Called by `wire`. Mirrors json.NewDecoder(body).Decode(result) (Go 1.26): what follows the first value is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from schedviz.scheduler.config.documents import whole_characters

Form = Callable[[Any, "Place"], Any]
"""The value in its Go type, or WrongAnswer."""
LONGEST_INT = 1 << 63
DEEPEST = 10_000


class WrongAnswer(ValueError):
    """An answer that cannot be read; the text is Go's."""


class Place(str):
    """Where a value stands, as Go says it: "Go value of type …", "Go struct field …"."""

    __slots__ = ()

    def wrong(self, value: Any, go: str) -> WrongAnswer:
        where = f"Go struct field {self}" if self else "Go value"
        sort = _sort(value)
        if go == "int64" and sort == "number":
            sort = f"number {value!r}"
        return WrongAnswer(f"json: cannot unmarshal {sort} into {where} of type {go}")


def decode(body: bytes, form: Form) -> Any:
    """Raises WrongAnswer."""
    try:
        return form(orjson.loads(body), Place())
    except (
        orjson.JSONDecodeError
    ):  # what is wrong, and whether Go minds, is for the slower reader to say
        return form(_read(body), Place())


def _read(body: bytes) -> Any:
    try:
        text = body.decode("utf-8", errors="replace").lstrip(" \t\r\n")
        value, _ = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise WrongAnswer(_fault(text, error)) from None
    except RecursionError:
        raise WrongAnswer("json: exceeded max depth") from None
    except WrongAnswer:
        raise
    except ValueError:  # Python reads no integer of more than a few thousand digits
        raise WrongAnswer("json: cannot unmarshal number into Go value of type int64") from None
    return value


def _constant(word: str) -> Any:
    """NaN and Infinity are JavaScript's, not JSON's."""
    raise WrongAnswer(f"invalid character {word[:1]!r} looking for beginning of value")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_FAULTS = {
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
}


def _fault(text: str, error: json.JSONDecodeError) -> str:
    at = error.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if not text:
        return "EOF"
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected EOF"
    words = _FAULTS.get(error.msg.rstrip(": "), "looking for beginning of value")
    return f"invalid character {text[at]!r} {words}"


def _sort(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


# ---- forms ---------------------------------------------------------------------------------------------------------


def text(value: Any, place: Place) -> str:
    """What no database keeps (half a character, NUL) becomes U+FFFD, as half a character does in Go."""
    if value is not None and not isinstance(value, str):
        raise place.wrong(value, "string")
    if not value or (value.isascii() and "\0" not in value):
        return value or ""
    return whole_characters(value).replace("\0", "\ufffd")


def int64(value: Any, place: Place) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_whole and -LONGEST_INT <= value < LONGEST_INT):
        raise place.wrong(value, "int64")
    return value or 0


def anything(value: Any, place: Place) -> Any:
    return value


def list_of(item: Form, go: str) -> Form:
    """None for null, as Go's nil slice."""

    def read(value: Any, place: Place) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise place.wrong(value, go)
        return [item(one, place) for one in value]

    return read


def map_of(item: Form, go: str) -> Form:
    def read(value: Any, place: Place) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise place.wrong(value, go)
        return {text(name, place): item(one, place) for name, one in value.items()}

    return read


def struct(go: str, fields: Mapping[str, Form]) -> Form:
    """Its fields by name, each read from the last key that is its name in whatever case."""
    short = go.rpartition(".")[2]
    places = {name: Place(f"{short}.{name}") for name in fields}
    by_case = {name.lower(): name for name in fields}

    def read(value: Any, place: Place) -> dict[str, Any]:
        if value is not None and not isinstance(value, dict):
            raise place.wrong(value, go)
        given = {
            name: one
            for key, one in (value or {}).items()
            if (name := key if key in fields else by_case.get(key.lower()))
        }
        return {name: form(given.get(name), places[name]) for name, form in fields.items()}

    return read


def pointer(form: Form) -> Form:
    """None for null."""
    return lambda value, place: None if value is None else form(value, place)
