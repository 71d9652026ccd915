"""Bodies that client-go programs send as application/vnd.kubernetes.protobuf, as the JSON objects that they mean.

Called by `rest`; answers are JSON always, which those clients accept. The numbers of fields are in `numbers`, their
types come from the schemas of `openapi`. Mirrors apimachinery's runtime/serializer/protobuf. Fields that are not in
the table are dropped, as protobuf has it; what Go leaves out of JSON when it is empty is left out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox import openapi
from schedviz.sandbox.openapi import Schema
from schedviz.sandbox.protobuf.numbers import NUMBERS
from schedviz.sandbox.status import bad_request
from schedviz.sandbox.views import CORE_EVENT

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Fields that Go holds by value: their zero is not said. (A pointer's zero, such as replicas: 0, is.)
_ZERO_IS_UNSAID = {
    "generation", "hostIPC", "hostNetwork", "hostPID", "hostPort", "minReadySeconds", "nodePort", "paused",
    "publishNotReadyAddresses", "readOnly", "healthCheckNodePort", "signal", "stdin", "stdinOnce", "tty",
    "unschedulable", "globalDefault", "deprecatedCount",
}  # fmt: skip
_UNSAID_WHEN_EMPTY = {
    "resources",
    "status",
    "strategy",
    "updateStrategy",
    "loadBalancer",
    "deprecatedSource",
}
_UNSAID_WHEN_EMPTY |= {"source", "metadata"}
# Requests that are no kinds: their schemas, with references into those of Pods.
_META, _CORE = openapi.META, "io.k8s.api.core.v1"
_STRING, _INT, _BOOL = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_OBJECT_META: Schema = {"$ref": f"{_META}.ObjectMeta"}
_OPTIONS: Schema = {
    "properties": {
        "gracePeriodSeconds": _INT,
        "preconditions": {"properties": {"uid": _STRING, "resourceVersion": _STRING}},
        "orphanDependents": _BOOL,
        "propagationPolicy": _STRING,
        "dryRun": {"type": "array", "items": _STRING},
    }
}
_TARGET = dict.fromkeys(("kind", "namespace", "name", "uid", "apiVersion"), _STRING)
_REQUESTS: dict[str, Schema] = {
    "DeleteOptions": _OPTIONS,
    "Eviction": {"properties": {"metadata": _OBJECT_META, "deleteOptions": _OPTIONS}},
    "Binding": {"properties": {"metadata": _OBJECT_META, "target": {"properties": _TARGET}}},
    "Scale": {"properties": {"metadata": _OBJECT_META, "spec": {"properties": {"replicas": _INT}}}},
}
_MESSAGES = {"deleteOptions": "DeleteOptions", "preconditions": "Preconditions"}
_MESSAGES |= {"target": "ObjectReference", "spec": "ScaleSpec"}


def decode(raw: bytes) -> dict[str, Any]:
    """Raises 400."""
    try:
        return _decode(raw)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise bad_request(
            f"the body of the request is not what its protobuf says: {error}"
        ) from None


def _decode(raw: bytes) -> dict[str, Any]:
    if not raw.startswith(MAGIC):
        raise ValueError("it does not begin with k8s")
    whole = dict(_fields(raw[len(MAGIC) :]))
    head = {number: value.decode() for number, value in _fields(whole[1])}
    version, name = head.get(1, ""), head.get(2, "")
    kind = KINDS.get(name)
    if name == "Event" and version == "v1":
        kind = CORE_EVENT
    said = {"apiVersion": version, "kind": name}
    body = whole.get(2, b"")
    if kind is None and name in _REQUESTS:
        held = openapi.schemas(KINDS["Pod"])
        return said | _Message(held).read(_REQUESTS[name], name, body)
    if kind is None or kind.api_version != version:
        raise ValueError(f"{name} of {version} is not known here: send JSON")
    return said | _Message(openapi.schemas(kind)).read(
        openapi.schemas(kind)[openapi.name_of(kind)], _message_of(kind), body
    )


def _message_of(kind: Kind) -> str:
    return "EventsEvent" if kind is KINDS["Event"] else kind.kind


# ---- the wire ------------------------------------------------------------------------------------------------------


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """(number, an integer or bytes), in the order of the wire."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if length is None:
            if wire != _BYTES:
                raise ValueError(f"wire type {wire}")
            length, at = _varint(raw, at)
        if at + length > len(raw):
            raise ValueError("it ends too early")
        yield number, raw[at : at + length]
        at += length


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number is too long")


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


# ---- messages ------------------------------------------------------------------------------------------------------


class _Message:
    """Reads messages by their schemas."""

    def __init__(self, held: dict[str, Schema]) -> None:
        self._held = held

    def read(self, schema: Schema, message: str, raw: bytes) -> dict[str, Any]:
        found: dict[str, Any] = {}
        names = NUMBERS.get(message, {})
        for number, value in _fields(raw):
            name = names.get(number)
            if name is None:
                continue
            if name.startswith("+"):
                found |= self.read(schema, name[1:], value)
            elif name in schema["properties"]:
                self._add(found, name, schema["properties"][name], value)
        return {name: value for name, value in found.items() if not _is_unsaid(name, value)}

    def _add(self, found: dict[str, Any], name: str, schema: Schema, value: Any) -> None:
        if schema.get("type") == "array":
            found.setdefault(name, []).append(self._value(name, schema["items"], value))
        elif "additionalProperties" in schema:
            pair = dict(_fields(value))
            held = self._value(name, schema["additionalProperties"], pair.get(2, b""))
            found.setdefault(name, {})[pair.get(1, b"").decode()] = held
        else:
            found[name] = self._value(name, schema, value)

    def _value(self, name: str, schema: Schema, value: Any) -> Any:
        ref = schema.get("$ref") or next((o["$ref"] for o in schema.get("allOf") or ()), None)
        message = str(ref).rpartition(".")[2] if ref else _MESSAGES.get(name, "")
        if message in _SMALL:
            return _SMALL[message](value)
        kind = schema.get("type")
        if kind == "integer":
            return _signed(value)
        if kind == "boolean":
            return bool(value)
        if kind == "string" and schema.get("format") == "byte":
            return base64.b64encode(value).decode()
        if kind == "string":
            return value.decode()
        return self.read(self._held[ref] if ref else schema, message, value)


def _is_unsaid(name: str, value: Any) -> bool:
    if value is None or value == "":
        return True
    if value == {} and name in _UNSAID_WHEN_EMPTY:
        return True
    return name in _ZERO_IS_UNSAID and value in (0, False)


def _quantity(raw: bytes) -> str:
    return str(dict(_fields(raw)).get(1, b"").decode())


def _int_or_string(raw: bytes) -> int | str:
    said = dict(_fields(raw))
    return str(said.get(3, b"").decode()) if said.get(1) else _signed(said.get(2, 0))


def _moment(raw: bytes) -> datetime | None:
    said = dict(_fields(raw))
    seconds, nanos = _signed(said.get(1, 0)), said.get(2, 0)
    if not seconds and not nanos:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _micro_time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


_SMALL: dict[str, Any] = {
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "Time": _time,
    "MicroTime": _micro_time,
}
