"""labelSelector and fieldSelector of a list or watch, as text from the query.

Called by `server`; answers a test for objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from schedviz.kube.matching import Requirement
from schedviz.sandbox.status import bad_request

Test = Callable[[dict[str, Any]], bool]
_KEY = r"(?P<key>(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)"
_SET = re.compile(_KEY + r"\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")
_COMPARE = re.compile(_KEY + r"\s*(?P<op>==|=|!=|>|<)\s*(?P<value>[^\s,!=()<>]*)")
_EXISTS = re.compile(r"(?P<no>!?)\s*" + _KEY)
_OPERATORS = {
    "in": "In",
    "notin": "NotIn",
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    ">": "Gt",
    "<": "Lt",
}
FIELDS: dict[str, tuple[str, ...]] = {
    path: tuple(path.split("."))
    for path in (
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "spec.schedulerName",
        "spec.restartPolicy",
        "spec.unschedulable",
        "status.phase",
        "status.nominatedNodeName",
        *(f"regarding.{name}" for name in ("kind", "namespace", "name", "uid", "fieldPath")),
        "reportingController",
        "reason",
        "type",
    )
}
# Events are kept in the form of events.k8s.io/v1.
FIELDS |= {
    path.replace("regarding", "involvedObject"): keys
    for path, keys in FIELDS.items()
    if keys[0] == "regarding"
}
FIELDS["reportingComponent"] = FIELDS["source"] = ("reportingController",)


def test_of(labels: str, fields: str) -> Test | None:
    """None when everything passes. Raises 400."""
    requirements = _label_requirements(labels) if labels else []
    wanted = _field_requirements(fields) if fields else []
    if not requirements and not wanted:
        return None

    def passes(one: dict[str, Any]) -> bool:
        have = one["metadata"].get("labels") or {}  # a map of strings: `validation` saw to it
        return all(r.matches(have) for r in requirements) and all(
            (_field(one, path) == value) is equal for path, value, equal in wanted
        )

    return passes


def _label_requirements(text: str) -> list[Requirement]:
    """The whole grammar: a=b, a==b, a!=b, a in (b,c), a notin (b), a, !a, a>1, a<1, joined by commas."""
    found: list[Requirement] = []
    rest = text.strip()
    while True:
        requirement, length = _requirement(rest)
        found.append(requirement)
        rest = rest[length:].lstrip()
        if not rest:
            return found
        if not rest.startswith(","):
            raise bad_request(f"unable to parse requirement: found {rest[:100]!r}, expected ','")
        rest = rest[1:].lstrip()


def _requirement(text: str) -> tuple[Requirement, int]:
    """The first requirement of the text, and how long it is."""
    if match := _SET.match(text):
        values = tuple(sorted(value.strip() for value in match["values"].split(",")))
        return Requirement(match["key"], _OPERATORS[match["op"]], values), match.end()
    if match := _COMPARE.match(text):
        operator = _OPERATORS[match["op"]]
        if operator in ("Gt", "Lt") and not re.fullmatch(r"-?\d+", match["value"]):
            raise bad_request(
                f"unable to parse requirement: {match[0]!r} does not compare with an integer"
            )
        return Requirement(match["key"], operator, (match["value"],)), match.end()
    if match := _EXISTS.match(text):
        operator = "DoesNotExist" if match["no"] else "Exists"
        return Requirement(match["key"], operator), match.end()
    raise bad_request(
        f"unable to parse requirement: {text[:100]!r} is no label selector, such as app=web"
    )


def _field_requirements(text: str) -> list[tuple[tuple[str, ...], str, bool]]:
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([\w.]+)\s*(==|=|!=)\s*(.*?)\s*", part)
        if match is None or match[1] not in FIELDS:
            raise bad_request(f"field label not supported: {part[:100]}")
        found.append((FIELDS[match[1]], match[3], match[2] != "!="))
    return found


def _field(one: dict[str, Any], path: tuple[str, ...]) -> str:
    value: Any = one
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
