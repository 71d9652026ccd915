"""The schema of every kind in OpenAPI's words, made from the models of the official Python client.

Served by `about` (kubectl explain reads it) and read by `fields` for what a kind does not have. Mirrors /openapi/v3 and
/openapi/v2 of kube-apiserver as far as kubectl asks. The models are loaded when somebody asks first.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args

from schedviz.kube.kinds import Kind
from schedviz.sandbox.views import ROUTES

Schema = dict[str, Any]
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OF_META = {"ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "LabelSelector", "ListMeta"}
_OF_META |= {"LabelSelectorRequirement", "Condition", "MicroTime"}
_QUANTITIES = {"requests", "limits", "capacity", "allocatable", "hard", "used", "overhead"}
_QUANTITIES |= {"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"}
_MICRO = {"acquireTime", "renewTime", "eventTime", "lastObservedTime"}
_MODEL = re.compile(r"^(?:(?P<group>[A-Z][a-z]+)?V1)?(?P<name>.+)$")
_PLAIN: dict[str, Schema] = {
    "str": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "int": {"type": "integer", "format": "int32"},
    "float": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "datetime": {"$ref": f"{META}.Time"},
}
_SMALL: dict[str, Schema] = {
    f"{META}.Time": {"type": "string", "format": "date-time"},
    f"{META}.MicroTime": {"type": "string", "format": "date-time"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "description": "A quantity, such as 500m, 2 or 1.5Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "description": "An integer, or a string such as 25%.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_QUANTITY = {"$ref": "io.k8s.apimachinery.pkg.api.resource.Quantity"}
_INT_OR_STRING = {"$ref": "io.k8s.apimachinery.pkg.util.intstr.IntOrString"}
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def _model(kind: Kind) -> Any:
    from kubernetes.client import models  # large: not before it is needed

    if kind.kind == "Event":
        return models.EventsV1Event if kind.group else models.CoreV1Event
    return getattr(models, f"V1{kind.kind}")


def _group_words(group: str) -> str:
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.v1"


def name_of(kind: Kind) -> str:
    return f"{_group_words(kind.group)}.{kind.kind}"


def _schema_name(model: str) -> str:
    match = _MODEL.match(model)
    name = match["name"] if match else model
    if name in _OF_META:
        return f"{META}.{name}"
    group = (match["group"] or "core").lower() if match else "core"
    return f"io.k8s.api.{group}.v1.{name}"


@cache
def schemas(kind: Kind) -> dict[str, Schema]:
    """The kind's schema and all that it refers to, by name; references are bare names."""
    found: dict[str, Schema] = dict(_SMALL)
    _add(found, name_of(kind), _model(kind))
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    found[name_of(kind)]["x-kubernetes-group-version-kind"] = [gvk]
    return found


def _add(found: dict[str, Schema], name: str, model: Any) -> None:
    if name in found:
        return
    said = (model.__doc__ or "").strip().partition("\n")[0]
    schema: Schema = {"type": "object", "description": said, "properties": {}}
    found[name] = schema
    required = []
    by_name = {one.serialization_alias or name: one for name, one in model.model_fields.items()}
    for attribute, of in sorted(model.openapi_types.items()):
        field = model.attribute_map[attribute]
        known = by_name[field]
        schema["properties"][field] = _described(_type(found, field, of, known), known.description)
        if known.is_required():
            required.append(field)
    if required:
        schema["required"] = required


def _described(schema: Schema, words: str | None) -> Schema:
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    return {**schema, "description": words} if words else dict(schema)


def _type(found: dict[str, Schema], field: str, of: str, known: Any) -> Schema:
    """The schema of a type as the models write it: List[V1Container], Dict[str, str], int..."""
    if of.startswith("List["):
        return {"type": "array", "items": _type(found, field, of[5:-1], known)}
    if of.startswith("Dict["):
        inner = of[5:-1].partition(",")[2].strip()
        held = _QUANTITY if inner == "str" and field in _QUANTITIES else None
        return {
            "type": "object",
            "additionalProperties": held or _type(found, field, inner, known),
        }
    if of == "object" and _is_int_or_string(known):
        return _INT_OR_STRING
    if of == "datetime" and field in _MICRO:
        return {"$ref": f"{META}.MicroTime"}
    if of in _PLAIN:
        return _PLAIN[of]
    from kubernetes.client import models

    name = _schema_name(of)
    _add(found, name, getattr(models, of))
    return {"$ref": name}


def _is_int_or_string(known: Any) -> bool:
    kinds = {get_args(one)[0] if get_args(one) else one for one in get_args(known.annotation)}
    return {int, str} <= kinds


# ---- the documents -------------------------------------------------------------------------------------------------


@cache
def root() -> Schema:
    """/openapi/v3: where each group's document is."""
    paths = {}
    for group, version in sorted({(group, version) for group, version, _ in ROUTES}):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}"}
    return {"paths": paths}


@cache
def document(group: str, version: str) -> Schema | None:
    """/openapi/v3/apis/<group>/<version>; None: there is no such group."""
    kinds = [kind for (g, v, _), kind in ROUTES.items() if (g, v) == (group, version)]
    if not kinds:
        return None
    head = {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}}
    paths: Schema = {}
    held: dict[str, Schema] = {}
    for kind in kinds:
        held |= schemas(kind)
        paths |= _paths(kind)
    found = {**head, "paths": paths, "components": {"schemas": held}}
    pointed: Schema = _pointed(found, "#/components/schemas/")
    return pointed


@cache
def whole() -> Schema:
    """/openapi/v2: everything in one document."""
    held: dict[str, Schema] = {}
    paths: Schema = {}
    for kind in ROUTES.values():
        held |= schemas(kind)
        paths |= _paths(kind)
    head = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}}
    found: Schema = _pointed({**head, "paths": paths, "definitions": held}, "#/definitions/")
    return found


def _paths(kind: Kind) -> Schema:
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    said = {"x-kubernetes-group-version-kind": gvk, "responses": {"200": {"description": "OK"}}}
    reads = {"get": {**said, "x-kubernetes-action": "get"}}
    patch = {**said, "x-kubernetes-action": "patch", "parameters": _PARAMETERS}
    post = {**said, "x-kubernetes-action": "post", "parameters": _PARAMETERS}
    lists = {"get": {**said, "x-kubernetes-action": "list"}, "post": post}
    namespace = "{namespace}" if kind.namespaced else ""
    return {
        kind.path(namespace): lists,
        kind.path(namespace, "{name}"): {**reads, "patch": patch, "put": {**patch}},
    }


def _pointed(value: Any, prefix: str) -> Any:
    """With whole references."""
    if isinstance(value, dict):
        return {
            key: prefix + held if key == "$ref" else _pointed(held, prefix)
            for key, held in value.items()
        }
    if isinstance(value, list):
        return [_pointed(one, prefix) for one in value]
    return value
