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
_SET = re.compile(r"(?P<key>[^\s,!=()]+)\s+(?P<op>in|notin)\s+\((?P<values>[^()]*)\)")
_EQUAL = re.compile(r"(?P<key>[^\s,!=()]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s,!=()]*)")
_EXISTS = re.compile(r"(?P<no>!?)\s*(?P<key>[^\s,!=()]+)")
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
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "involvedObject.kind",
        "regarding.name",
        "regarding.namespace",
        "regarding.uid",
        "regarding.kind",
        "reason",
        "type",
    )
}


def test_of(labels: str, fields: str) -> Test | None:
    """None when everything passes. Raises 400."""
    requirements = _label_requirements(labels) if labels else []
    wanted = _field_requirements(fields) if fields else []
    if not requirements and not wanted:
        return None

    def passes(one: dict[str, Any]) -> bool:
        have = one["metadata"].get("labels") or {}
        return all(r.matches(have) for r in requirements) and all(
            (_field(one, path) == value) is equal for path, value, equal in wanted
        )

    return passes


def _label_requirements(text: str) -> list[Requirement]:
    found: list[Requirement] = []
    rest = text.strip()
    while rest:
        if match := _SET.match(rest):
            values = tuple(sorted(value.strip() for value in match["values"].split(",")))
            found.append(
                Requirement(match["key"], "In" if match["op"] == "in" else "NotIn", values)
            )
        elif match := _EQUAL.match(rest):
            found.append(
                Requirement(
                    match["key"], "NotIn" if match["op"] == "!=" else "In", (match["value"],)
                )
            )
        elif match := _EXISTS.match(rest):
            found.append(Requirement(match["key"], "DoesNotExist" if match["no"] else "Exists"))
        else:
            raise bad_request(
                f"unable to parse requirement: {rest[:100]!r} is no label selector, such as app=web"
            )
        rest = rest[match.end() :].lstrip()
        if rest and not rest.startswith(","):
            raise bad_request(f"unable to parse requirement: found {rest[:100]!r}, expected ','")
        rest = rest[1:].lstrip()
    return found


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
