"""What the sandbox's tests say to it: small objects, and watches that are read line by line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import requests

from tests.sandbox.running import Running

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
SECONDS = 20.0


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "luksa/kubia"}]
    meta = {"name": name, "labels": labels or {}}
    return {"metadata": meta, "spec": {"containers": containers} | spec}


def node(name: str, **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": amounts}}


def binding(name: str, node_name: str, **meta: Any) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": node_name}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name} | meta,
        "target": target,
    }


def names(answer: dict[str, Any]) -> list[str]:
    return [one["metadata"]["name"] for one in answer["items"]]


@contextlib.contextmanager
def watching(sandbox: Running, path: str, **params: Any) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a watch, as they come; waiting longer than SECONDS for one is an error."""
    with requests.get(
        sandbox.url + path,
        params={"watch": "1", **params},
        headers={"Authorization": f"Bearer {sandbox.token}"},
        stream=True,
        timeout=SECONDS,
    ) as answer:
        assert answer.status_code == 200, answer.text
        yield events_of(answer)


def events_of(answer: requests.Response) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in answer.iter_lines(chunk_size=1) if line)


def first(
    events: Iterator[dict[str, Any]], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The first event for which it holds; all before it are dropped."""
    return next(event for event in events if holds(event))


def until(
    sandbox: Running, path: str, name: str, holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The object, as soon as it is so."""
    with watching(sandbox, path, fieldSelector=f"metadata.name={name}") as events:
        found = first(events, lambda e: e["type"] != "DELETED" and holds(e["object"]))
        return dict(found["object"])


def until_gone(sandbox: Running, path: str, name: str) -> None:
    with watching(sandbox, path, fieldSelector=f"metadata.name={name}") as events:
        first(events, lambda e: e["type"] == "DELETED")
