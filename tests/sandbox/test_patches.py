"""JSON merge patch (RFC 7386), strategic merge as kubectl sends it, JSON patch (RFC 6902)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schedviz.sandbox import patches

CONTAINERS = [{"name": "a", "image": "one"}, {"name": "b", "image": "two"}]
CONDITIONS = [{"type": "Ready", "status": "True", "reason": "Fine"}]
TOLERATIONS = [{"key": "a", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replaces"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="adds"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="null removes"),
        pytest.param({"a": ["b"]}, {"a": ["c"]}, {"a": ["c"]}, id="a list replaces a list"),
        pytest.param(
            {"a": {"b": "c", "d": 1}}, {"a": {"b": "e", "d": None}}, {"a": {"b": "e"}}, id="nested"
        ),
        pytest.param({"a": "c"}, {"a": {"b": None}}, {"a": {}}, id="an object replaces a word"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="null in the new"),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(target)
    assert patches.merge(target, patch) == expected
    assert target == before


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "b", "image": "new"}]},
            {"containers": [CONTAINERS[0], {"name": "b", "image": "new"}]},
            id="containers by name",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "c", "image": "three"}]},
            {"containers": [*CONTAINERS, {"name": "c", "image": "three"}]},
            id="a new container is added",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [CONTAINERS[1]]},
            id="a container is deleted",
        ),
        pytest.param(
            {"containers": CONTAINERS},
            {"containers": [{"$patch": "replace"}, {"name": "z", "image": "z"}]},
            {"containers": [{"name": "z", "image": "z"}]},
            id="a list is replaced",
        ),
        pytest.param(
            {"conditions": CONDITIONS},
            {"conditions": [{"type": "Ready", "status": "False", "reason": None}]},
            {"conditions": [{"type": "Ready", "status": "False"}]},
            id="conditions by type, null removes within",
        ),
        pytest.param(
            {"conditions": CONDITIONS},
            {"$setElementOrder/conditions": [{"type": "X"}], "conditions": [{"type": "X"}]},
            {"conditions": [*CONDITIONS, {"type": "X"}]},
            id="kubectl's wish for an order is no field",
        ),
        pytest.param(
            {"tolerations": TOLERATIONS},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            id="tolerations are replaced as upstream",
        ),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="out of a list of words",
        ),
        pytest.param({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["a", "b"]}, id="into it"),
        pytest.param(
            {"labels": {"a": "1", "b": "2"}},
            {"labels": {"a": None, "c": "3"}},
            {"labels": {"b": "2", "c": "3"}},
            id="labels",
        ),
        pytest.param(
            {"spec": {"a": 1, "b": 2}},
            {"spec": {"$patch": "replace", "c": 3}},
            {"spec": {"c": 3}},
            id="an object is replaced",
        ),
        pytest.param(
            {"ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}]},
            {"ports": [{"containerPort": 80, "protocol": "TCP", "hostPort": 8080}]},
            {"ports": [{"containerPort": 80, "protocol": "TCP", "name": "http", "hostPort": 8080}]},
            id="ports by number and protocol",
        ),
    ],
)  # fmt: skip
def test_strategic_merge(target: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(target)
    assert patches.strategic_merge(target, patch) == expected
    assert target == before


@pytest.mark.parametrize(
    ("target", "operations", "expected"),
    [
        pytest.param({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}, id="add"),
        pytest.param({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}, id="into a list"),
        pytest.param({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}, id="add at the end"),
        pytest.param({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}, id="remove"),
        pytest.param({"a": [1, 2]}, [{"op": "replace", "path": "/a/0", "value": 9}], {"a": [9, 2]}, id="replace"),
        pytest.param({"a/b": 1}, [{"op": "replace", "path": "/a~1b", "value": 2}], {"a/b": 2}, id="a slash in a key"),
        pytest.param({"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}, id="move"),
        pytest.param({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}, id="copy"),
        pytest.param({"a": 1}, [{"op": "test", "path": "/a", "value": 1}], {"a": 1}, id="a test that holds"),
    ],
)  # fmt: skip
def test_json_patch(target: Any, operations: Any, expected: Any) -> None:
    before = copy.deepcopy(target)
    assert patches.json_patch(target, operations) == expected
    assert target == before


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([{"op": "test", "path": "/a", "value": 2}], id="a test that fails"),
        pytest.param([{"op": "remove", "path": "/z"}], id="remove what is not there"),
        pytest.param([{"op": "replace", "path": "/l/7", "value": 2}], id="beyond a list"),
        pytest.param([{"op": "paint", "path": "/a"}], id="an unknown operation"),
        pytest.param([{"path": "/a"}], id="no operation"),
        pytest.param([{"op": "add", "path": "a", "value": 1}], id="a path without a slash"),
        pytest.param({"op": "add"}, id="not a list"),
    ],
)
def test_json_patch_is_refused(operations: Any) -> None:
    with pytest.raises(patches.PatchError):
        patches.json_patch({"a": 1, "l": [1]}, operations)
