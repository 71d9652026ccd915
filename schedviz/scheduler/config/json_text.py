"""A configuration file that is JSON, as a tree that remembers its lines.

Called by `load` for files whose first character is "{": kube-scheduler reads these as JSON, never as YAML. Mirrors the
syntax errors of Go's encoding/json; duplicate keys are `decoding`'s complaint.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from schedviz.scheduler.config.documents import (
    DEEPEST,
    LARGEST,
    MOST_DIGITS,
    Document,
    Duplicate,
    Node,
    unreadable,
    whole_characters,
)
from schedviz.scheduler.config.errors import ConfigError, child

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LITERALS = {"true": True, "false": False, "null": None}
MEND = "a file that begins with { is read as JSON, not as YAML"


def looks_like_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def read_json(text: str) -> Document:
    reader = _JsonTree(text[:LARGEST])
    return reader.document()


class _JsonTree:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._document = Document(is_json=True, text=text)

    def document(self) -> Document:
        self._document.root = self._tree("", 0)
        if self._peek():
            raise self._fault("after top-level value")
        return self._document

    def _line(self, at: int | None = None) -> int:
        return self._text.count("\n", 0, self._at if at is None else at) + 1

    def _peek(self) -> str:
        """The next character that is no space; "" at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _fault(self, where: str) -> ConfigError:
        character = self._text[self._at : self._at + 1]
        words = (
            f"invalid character {character!r} {where}"
            if character
            else "unexpected end of JSON input"
        )
        message = f"couldn't get version/kind; json parse error: {words}"
        return unreadable(message, self._line(), MEND)

    def _take(self, character: str, where: str) -> None:
        if self._peek() != character:
            raise self._fault(where)
        self._at += 1

    def _tree(self, path: str, depth: int) -> Node:
        first = self._peek()
        line = self._line()
        if depth > DEEPEST:
            raise unreadable("exceeded max depth", line)
        self._document.lines.note(path, line)
        if first == "{":
            return Node(self._mapping(path, depth), line)
        if first == "[":
            return Node(self._list(path, depth), line)
        if first == '"':
            return Node(self._string(), line)
        return Node(self._other(), line)

    def _mapping(self, path: str, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        lines: dict[str, int] = {}
        self._at += 1
        while self._peek() != "}":
            if found:
                self._take(",", "after object key:value pair")
            if self._peek() != '"':
                raise self._fault("looking for beginning of object key string")
            line = self._line()
            key = self._string()
            self._take(":", "after object key")
            self._document.lines.note(child(path, key), line)
            found[key] = self._tree(child(path, key), depth + 1)
            if key in lines:
                self._document.duplicates.append(
                    Duplicate(path, key, line, found[key].line, lines[key])
                )
            lines.setdefault(key, line)
        self._at += 1
        return found

    def _list(self, path: str, depth: int) -> list[Node]:
        found: list[Node] = []
        self._at += 1
        while self._peek() != "]":
            if found:
                self._take(",", "after array element")
            found.append(self._tree(f"{path}[{len(found)}]", depth + 1))
        self._at += 1
        return found

    def _string(self) -> str:
        try:
            value, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = min(error.pos, len(self._text))
            raise self._fault("in string literal") from error
        return whole_characters(str(value))

    def _other(self) -> Any:
        for word, value in _LITERALS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            raise self._fault("looking for beginning of value")
        self._at = match.end()
        is_whole = match.group(1) is None and match.group(2) is None
        is_short = len(match.group()) <= MOST_DIGITS
        return int(match.group()) if is_whole and is_short else float(match.group())
