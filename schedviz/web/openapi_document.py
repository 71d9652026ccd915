"""The API's description in OpenAPI 3.1. Objects are described from the dataclasses that are sent, so that it is true.

Served by `views.api`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from schedviz.scheduler import explain
from schedviz.web import explanation

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
SENT = (
    *(explanation.Explanation, explanation.Rejection, explanation.Waker),
    *(explain.Clause, explain.NodeGroup, explain.Change, explain.Findings),
)
PATH = "/api/v1/sessions/{session}/namespaces/{namespace}/pods/{pod}/explain"
ERRORS = {
    "401": "Nobody is logged in.",
    "403": "The user's role does not allow it.",
    "404": "There is no such session, or it knows no such pod.",
    "405": "Only GET and HEAD are answered.",
}


def document() -> dict[str, Any]:
    schemas = {kind.__name__: _object(kind) for kind in SENT}
    schemas["Explanation"]["properties"] |= {
        "version": {"type": "integer", "const": explanation.VERSION},
        "changes": {"oneOf": [{"$ref": "#/components/schemas/Changes"}, {"type": "null"}]},
    }
    schemas["Explanation"]["required"] += ["version", "changes"]
    schemas["Changes"] = _changes()
    schemas["Error"] = {
        "type": "object",
        "properties": {"status": {"type": "integer"}, "message": {"type": "string"}},
        "required": ["status", "message"],
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "SchedViz", "version": "1"},
        "paths": {PATH: {"get": _explain()}},
        "components": {"schemas": schemas},
    }


def _explain() -> dict[str, Any]:
    names = ("session", "namespace", "pod")
    text = {"type": "string"}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in names
    ]
    changes = (
        "Have a worker look for the smallest changes that would help; a later request has them."
    )
    parameters.append(
        {
            "name": "changes",
            "in": "query",
            "required": False,
            "schema": text,
            "description": changes,
        }
    )
    return {
        "operationId": "explainPod",
        "summary": "Why a pod is pending, or where it went and why",
        "parameters": parameters,
        "responses": {
            "200": _answer("What the record says of the pod.", "Explanation"),
            **{status: _answer(words, "Error") for status, words in ERRORS.items()},
        },
    }


def _answer(description: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "content": content}


def _changes() -> dict[str, Any]:
    """state asked: no answer yet; failed: `message` says why; found: with what `Findings` has."""
    states = {"type": "string", "enum": ["asked", "failed", "found"]}
    mine = {
        "type": "object",
        "properties": {
            "state": states,
            "message": {"type": "string"},
            "at": {"type": "number"},
            "certainty": {"type": "string", "const": "recomputed"},
        },
        "required": ["state"],
    }
    return {"anyOf": [mine, {"allOf": [mine, {"$ref": "#/components/schemas/Findings"}]}]}


def _object(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    return {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": {name: _schema(hints[name]) for name in names},
        "required": names,
    }


def _schema(hint: Any) -> dict[str, Any]:
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if dataclasses.is_dataclass(hint):
        return {"$ref": f"#/components/schemas/{typing.cast(type, hint).__name__}"}
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return {"oneOf": [_schema(one) for one in arguments]}
    if hint is type(None):
        return {"type": "null"}
    return {"type": "array", "items": _schema(arguments[0])}
