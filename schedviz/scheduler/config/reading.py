"""Values of the right types out of one object's tree, and a complaint for everything that has no place there.

Used by `decoding`, once for the file and once for each built-in plugin's arguments. Mirrors sigs.k8s.io/json: null
leaves a field as it is, unknown fields are collected, a value of a wrong type is told with its struct and type (v1.36).
"""

from __future__ import annotations

import base64
import binascii
import difflib
from dataclasses import dataclass
from typing import Any

from schedviz.scheduler.config import durations
from schedviz.scheduler.config.documents import Document, Node
from schedviz.scheduler.config.errors import Problem, child, quoted
from schedviz.scheduler.config.types import (
    CONFIGURATION,
    STRING,
    Anything,
    ListOf,
    Scalar,
    Struct,
    TextMap,
    Type,
)

MOST_STRICT_ERRORS = 100
FLOAT32_MAX = 3.4028234663852886e38


def form_of(value: Any) -> str:
    """What encoding/json calls it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its path in the file; the names down to it and the struct around it, as messages say it."""

    path: str
    names: tuple[str, ...] = ()
    holder: str = ""

    def below(self, key: str, holder: Struct) -> Place:
        return Place(child(self.path, key), (*self.names, key), holder.name)

    def item(self, i: int) -> Place:
        return Place(f"{self.path}[{i}]", self.names, self.holder)


class Reader:
    """Reads one object. base: where it begins; kube-scheduler tells paths from there."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.fatal: list[Problem] = []
        self._unknown: dict[str, tuple[str, Struct]] = {}

    def strict_problems(self, document: Document) -> list[Problem]:
        found = []
        for path, (name, holder) in list(self._unknown.items())[:MOST_STRICT_ERRORS]:
            told = path.removeprefix(self._base).lstrip(".")
            text = f"unknown field {quoted(told)}"
            found.append(Problem(path, text, mend=_likely(name, holder)))
        return list(document.lines.located(found))

    @property
    def left_out(self) -> list[str]:
        return [*self._unknown, *(one.field for one in self.fatal)]

    def whole(self, node: Node, kind: Struct) -> dict[str, Any]:
        found: dict[str, Any] = self._struct(node, kind, Place(self._base)) or {}
        return found

    def _struct(self, node: Node, kind: Struct, place: Place) -> Any:
        if not isinstance(node.value, dict):
            return self._refuse(node, kind, place)
        found: dict[str, Any] = {}
        for key, value in node.value.items():
            field = kind.fields.get(key)
            if field is None:
                self._unknown.setdefault(child(place.path, key), (key, kind))
                continue
            read = self._value(value, field, place.below(key, kind))
            if read is not None:
                found[key] = read
        return found

    def _value(self, node: Node, kind: Type, place: Place) -> Any:
        """None: nothing is written."""
        if isinstance(kind, Anything):
            return node if node.value is not None else None
        if node.value is None and not (isinstance(kind, Scalar) and kind.form == "duration"):
            return None
        if isinstance(kind, Struct):
            return self._struct(node, kind, place)
        if isinstance(kind, ListOf):
            return self._list(node, kind, place)
        if isinstance(kind, TextMap):
            return self._texts(node, kind, place)
        return self._scalar(node, kind, place)

    def _list(self, node: Node, kind: ListOf, place: Place) -> Any:
        if not isinstance(node.value, list):
            return self._refuse(node, kind, place)
        read = [self._value(one, kind.item, place.item(i)) for i, one in enumerate(node.value)]
        is_struct = isinstance(kind.item, Struct)
        return [({} if is_struct else "") if one is None else one for one in read]

    def _texts(self, node: Node, kind: TextMap, place: Place) -> Any:
        if not isinstance(node.value, dict):
            return self._refuse(node, kind, place)
        return {key: self._value(one, STRING, place) or "" for key, one in node.value.items()}

    def _scalar(self, node: Node, kind: Scalar, place: Place) -> Any:
        value = node.value
        if isinstance(value, str) or value is None:
            return self._text(node, kind, place)
        if isinstance(value, bool):
            return value if kind.form == "bool" else self._refuse(node, kind, place)
        is_number = isinstance(value, int | float)
        if kind.form == "float" and is_number and abs(value) <= FLOAT32_MAX:
            return value
        if kind.form == "int" and is_number:
            limit = 1 << (kind.bits - 1)
            if isinstance(value, int) and -limit <= value < limit:
                return value
            return self._refuse(node, kind, place, f"number {value}")
        return self._refuse(node, kind, place)

    def _text(self, node: Node, kind: Scalar, place: Place) -> Any:
        text = node.value or ""
        if kind.form == "string":
            return text
        if kind.form == "bytes":
            return self._bytes(text, place)
        if kind.form.endswith("duration"):
            return self._duration(text, place)
        return self._refuse(node, kind, place)

    def _duration(self, text: str, place: Place) -> str | None:
        try:
            return durations.text_of(durations.parse(text))
        except durations.BadDuration as error:
            mend = 'write a duration such as "10s"'
            self.fatal.append(Problem(place.path, str(error), mend=mend))
            return None

    def _bytes(self, text: str, place: Place) -> str | None:
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            words = "illegal base64 data at input byte 0"
            self.fatal.append(Problem(place.path, words, mend="write the PEM text in base64"))
            return None
        return text

    def _refuse(self, node: Node, kind: Type, place: Place, form: str = "") -> Any:
        """Says what is wrong; the value is left out."""
        form = form or form_of(node.value)
        names = ".".join(place.names)
        where = f"Go struct field {place.holder}.{names}" if names else "Go value"
        text = f"json: cannot unmarshal {form} into {where} of type {kind.go}"
        self.fatal.append(Problem(place.path, text, node.line, mend=_wanted(kind)))
        return None


def _wanted(kind: Type) -> str:
    if isinstance(kind, ListOf):
        return "write a list: each entry begins with -"
    if isinstance(kind, Scalar):
        forms = {
            "string": "a text; in quotes if it looks like a number or a truth value",
            "int": f"a whole number of {kind.bits} bits",
            "bool": "true or false",
            "float": "a number",
            "bytes": "text in base64",
        }
        return "write " + forms.get(kind.form, 'a duration such as "10s"')
    return "write a mapping of fields"


def _likely(name: str, holder: Struct) -> str:
    """The field that was meant, if one is near; else what there is."""
    known = list(holder.fields)
    by_lower = {one.lower(): one for one in known}
    home = next((path for path, kind in _HOMES if name in kind.fields and kind is not holder), "")
    if home:
        return f"{name} belongs below {home}: check the indentation"
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.75)
    if close:
        return f"did you mean {by_lower[close[0]]}?"
    return f"{holder.name} has {', '.join(known[:15])}"


_HOMES: list[tuple[str, Struct]] = [
    (name, inside)
    for name, kind in CONFIGURATION.fields.items()
    if isinstance(inside := kind.item if isinstance(kind, ListOf) else kind, Struct)
]
