"""Fields that a kind does not have, or that are given twice: what ?fieldValidation=Strict refuses and Warn tells.

Called by `rest` with the raw body of a write. Mirrors the strict decoder of apimachinery: its words and its paths.
"""

from __future__ import annotations

import json
from typing import Any

from schedviz.kube.kinds import Kind
from schedviz.sandbox import openapi
from schedviz.sandbox.openapi import Schema
from schedviz.sandbox.status import ApiError, bad_request

FREE = {"managedFields"}
"""Not looked into: what the server writes itself."""


def complaints(kind: Kind, raw: bytes, body: Any) -> list[str]:
    """In the order of the fields: unknown field "spec.a", duplicate field "spec.b"."""
    found = _duplicates(raw)
    held = openapi.schemas(kind)
    _unknown(held, held[openapi.name_of(kind)], body, "", found)
    return found


def refuse(kind: Kind, found: list[str]) -> ApiError:
    told = ", ".join(found)
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        f"strict decoding error: {told}"
    )


def refuse_untyped(kind: Kind, said: Any) -> None:
    """What an apply says must be in the schema: its owner is kept by field. Raises 500, as upstream does."""
    found: list[str] = []
    held = openapi.schemas(kind)
    _unknown(held, held[openapi.name_of(kind)], said, "", found)
    if found:
        meta = said.get("metadata") or {}
        group, _, version = kind.api_version.rpartition("/")
        gvk = f"{group}/{version}" if group else f"/{version}"
        where = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {gvk}, Kind={kind.kind}"
        fields = [f".{one.split(chr(34))[1]}: field not declared in schema" for one in found]
        told = fields[0] if len(fields) == 1 else "errors:\n  " + "\n  ".join(fields)
        raise ApiError(500, "", f"failed to create typed patch object ({where}): {told}")


def _unknown(
    held: dict[str, Schema], schema: Schema, value: Any, path: str, found: list[str]
) -> None:
    schema = _resolved(held, schema)
    if isinstance(value, list) and "items" in schema:
        for number, one in enumerate(value):
            _unknown(held, schema["items"], one, f"{path}[{number}]", found)
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for name, one in value.items():
            _unknown(held, schema["additionalProperties"], one, _below(path, name), found)
    elif isinstance(value, dict) and "properties" in schema:
        for name, one in value.items():
            if name not in schema["properties"]:
                found.append(f'unknown field "{_below(path, name)}"')
            elif name not in FREE:
                _unknown(held, schema["properties"][name], one, _below(path, name), found)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _resolved(held: dict[str, Schema], schema: Schema) -> Schema:
    ref = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf") or ()), None)
    return held[ref] if ref else schema


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written, every field as often as it stands there."""


def _duplicates(raw: bytes) -> list[str]:
    try:
        written = json.loads(raw, object_pairs_hook=_Pairs)
    except ValueError:
        return []  # not JSON: YAML is refused where it says a thing twice
    found: list[str] = []
    _look_for_twice(written, "", found)
    return found


def _look_for_twice(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, one in value:
            if name in seen:
                found.append(f'duplicate field "{_below(path, name)}"')
            seen.add(name)
            _look_for_twice(one, _below(path, name), found)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            _look_for_twice(one, f"{path}[{number}]", found)
