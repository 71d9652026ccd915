"""What is wrong in a configuration: the words of kube-scheduler, and where in the file to look.

Raised by everything in this package and by `profile`; shown by `check_config`, `up` and the page of a session. Mirrors
apimachinery pkg/util/validation/field errors.go and util/errors aggregate (v1.36).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

_LAST_STEP = re.compile(r"(\[\d+\]|\.?[^.\[\]]+)$")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. field: its path; text: kube-scheduler's words on it; line: counted from 1, 0 where the
    configuration was no text; mend: what would help."""

    field: str
    text: str
    line: int = 0
    mend: str = ""
    told_as: str | None = None
    """The path as kube-scheduler says it, where that is not the whole one (a plugin's arguments)."""

    @property
    def said(self) -> str:
        """As kube-scheduler says it."""
        told = self.field if self.told_as is None else self.told_as
        return f"{told}: {self.text}" if told else self.text


class ConfigError(ValueError):
    """A configuration that is refused. The text is what kube-scheduler v1.36 answers; `problems` say where to look."""

    def __init__(self, message: str, problems: Sequence[Problem], *, proposal: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        self.proposal = proposal
        """The whole file as it could be, when that can be told: YAML."""

    @property
    def summary(self) -> str:
        """One line: where, what, how to mend."""
        first, *others = self.problems
        words = " ".join(first.text.split())
        where = f"line {first.line}: " if first.line else ""
        named = f"{first.field}: " if first.field and first.field not in words else ""
        more = f" (and {len(others)} more)" if others else ""
        return f"{where}{named}{words}{f' - {first.mend}' if first.mend else ''}{more}"


class Lines:
    """On which line a field stands. A field that is not written stands where the nearest one around it does."""

    def __init__(self, lines: Mapping[str, int] | None = None) -> None:
        self._lines = dict(lines or {})

    def note(self, path: str, line: int) -> None:
        self._lines.setdefault(path, line)

    def of(self, path: str) -> int:
        while path and path not in self._lines:
            path = _LAST_STEP.sub("", path)
        return self._lines.get(path, 0)

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        return tuple(replace(one, line=one.line or self.of(one.field)) for one in problems)


def child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def aggregate(texts: Sequence[str]) -> str:
    """Several errors as upstream prints them: each once, in brackets when there is more than one."""
    once = list(dict.fromkeys(texts))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


# ---- field errors, in upstream's words ---------------------------------------------------------------------------


class Verbatim(str):
    """A bad value that is printed as it is, not quoted."""

    __slots__ = ()


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def shown(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[]string{{{', '.join(shown(one) for one in value)}}}"
    return str(value)


def invalid(path: str, value: Any, detail: str, mend: str = "") -> Problem:
    return Problem(path, f"Invalid value: {shown(value)}: {detail}", mend=mend)


def required(path: str, detail: str = "", mend: str = "") -> Problem:
    return Problem(path, f"Required value{f': {detail}' if detail else ''}", mend=mend)


def duplicate(path: str, value: Any) -> Problem:
    return Problem(path, f"Duplicate value: {shown(value)}", mend="keep one of the two")


def forbidden(path: str, detail: str) -> Problem:
    return Problem(path, f"Forbidden: {detail}", mend="take it out")


def not_supported(path: str, value: Any, supported: Sequence[str]) -> Problem:
    words = ", ".join(quoted(one) for one in supported)
    return Problem(
        path,
        f"Unsupported value: {shown(value)}: supported values: {words}",
        mend="write one of these",
    )
