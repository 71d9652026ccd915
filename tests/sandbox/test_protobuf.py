"""Bodies in protobuf, as client-go writes them, mean what JSON would say; what is broken is refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import openapi, protobuf
from schedviz.sandbox.protobuf.numbers import NUMBERS
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.views import CORE_EVENT
from tests.sandbox.running import Running

REQUESTS = {
    "Binding",
    "DeleteOptions",
    "Eviction",
    "EventsEvent",
    "Preconditions",
    "Scale",
    "ScaleSpec",
}
INLINE = {name[1:] for fields in NUMBERS.values() for name in fields.values() if name[0] == "+"}


def number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(at: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return number(at << 3) + number(value & (1 << 64) - 1)
    raw = value.encode() if isinstance(value, str) else value
    return number(at << 3 | 2) + number(len(raw)) + raw


def message(version: str, kind: str, body: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, version) + field(2, kind)) + field(2, body)


def test_every_field_of_the_table_is_a_field_of_its_schema() -> None:
    held: dict[str, set[str]] = {}
    for kind in (*KINDS.values(), CORE_EVENT):
        for name, schema in openapi.schemas(kind).items():
            held.setdefault(name.rpartition(".")[2], set()).update(schema.get("properties", {}))
    wrong = [
        f"{message}.{name}"
        for message, fields in NUMBERS.items()
        if message not in REQUESTS | INLINE
        for name in fields.values()
        if name[0] != "+" and name not in held.get(message, ())
    ]
    assert not wrong


def test_a_pod_in_protobuf() -> None:
    limits = field(1, "cpu") + field(2, field(1, "500m"))
    container = field(1, "main") + field(2, "kubia") + field(8, field(1, limits) + b"")
    container += field(6, field(2, 0) + field(3, 8080) + field(4, "TCP"))
    volume = field(1, "v") + field(2, field(2, field(1, "")))
    spread = field(1, 1) + field(2, "zone") + field(3, "DoNotSchedule")
    spec = field(1, volume) + field(2, container) + field(7, field(1, "a") + field(2, "b"))
    spec += field(11, 0) + field(25, -5) + field(33, spread) + field(38, field(1, "gate"))
    meta = field(1, "p") + field(3, "") + field(8, b"") + field(11, field(1, "l") + field(2, "m"))
    assert protobuf.decode(
        message("v1", "Pod", field(1, meta) + field(2, spec) + field(3, b""))
    ) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"l": "m"}},
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [
                {
                    "name": "main",
                    "image": "kubia",
                    "resources": {"limits": {"cpu": "500m"}},
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                }
            ],
            "nodeSelector": {"a": "b"},
            "priority": -5,
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            ],
            "schedulingGates": [{"name": "gate"}],
        },
    }


def test_what_a_pointer_says_is_kept_and_small_types_are_read() -> None:
    rolling = field(1, field(1, 1) + field(3, "25%")) + field(2, field(1, 0) + field(2, 0))
    spec = field(1, 0) + field(4, field(1, "RollingUpdate") + field(2, rolling)) + field(7, 0)
    body = protobuf.decode(message("apps/v1", "Deployment", field(2, spec)))
    assert body["spec"] == {
        "replicas": 0,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
        },
    }
    lease = field(2, field(1, "me") + field(4, field(1, 1_700_000_000) + field(2, 5_000)))
    assert protobuf.decode(message("coordination.k8s.io/v1", "Lease", lease))["spec"] == {
        "holderIdentity": "me",
        "renewTime": "2023-11-14T22:13:20.000005Z",
    }
    secret = field(2, field(1, "k") + field(2, b"\x00\xff"))
    assert protobuf.decode(message("v1", "Secret", secret))["data"] == {"k": "AP8="}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"k8s\x00",
        message("v1", "Widget", b""),
        message("v2", "Pod", b""),
        message("v1", "Pod", field(1, b"\xff\xff")),
        message("v1", "Pod", b"\x0a\x7f"),
        message("v1", "Pod", field(1, 7)),
    ],
    ids=["JSON", "nothing", "no such kind", "no such version", "cut", "too short", "not a message"],
)
def test_what_is_broken_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError, match="the body of the request is not what its protobuf says"):
        protobuf.decode(body)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["Pod", "Node", "Service"]))
def test_any_bytes_are_an_object_or_an_error(raw: bytes, kind: str) -> None:
    try:
        assert protobuf.decode(message("v1", kind, raw))["kind"] == kind
    except ApiError as error:
        assert error.code == 400


def test_a_binding_over_http(sandbox: Running) -> None:
    path = "/api/v1/namespaces/default/pods"
    spec = field(2, field(1, "main") + field(2, "i"))
    made = message("v1", "Pod", field(1, field(1, "a")) + field(2, spec))
    form = protobuf.MEDIA_TYPE
    assert sandbox.raw("POST", path, made, form=form).status_code == 201
    binding = field(1, field(1, "a")) + field(2, field(1, "Node") + field(3, "n1"))
    answer = sandbox.raw("POST", f"{path}/a/binding", message("v1", "Binding", binding), form=form)
    assert answer.status_code == 201
    assert sandbox.ok("GET", f"{path}/a")["spec"]["nodeName"] == "n1"
    options = message("v1", "DeleteOptions", field(1, 0))
    assert sandbox.raw("DELETE", f"{path}/a", options, form=form).status_code == 200
    assert sandbox.call("GET", f"{path}/a").status_code == 404
