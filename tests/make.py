"""Builders for tests: pods, nodes and snapshots from a few words, and one plugin run on them.

`raw_*` give manifests as the API has them, the others what the core sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from schedviz.kube import objects
from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.framework import CycleState, Plugin, Snapshot, Status
from schedviz.scheduler.framework.interface import PreFilterResult
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.status import SUCCESS, Code


def toleration(text: str) -> dict[str, str]:
    """ "key=value:Effect", "key:Effect", "key=value" or "key"; without a value it is Exists."""
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    made = {"key": key, "operator": "Equal" if equals else "Exists", "effect": effect}
    return {**made, "value": value} if equals else made


def taint(text: str) -> dict[str, str]:
    """ "key=value:Effect" or "key:Effect"."""
    rest, _, effect = text.partition(":")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    """requests and limits stand for resources.requests and resources.limits."""
    resources = {key: fields.pop(key) for key in ("requests", "limits") if key in fields}
    made = {"name": name, "image": "app:v1", **fields}
    return {**made, "resources": resources} if resources else made


def raw_pod(
    name: str = "p",
    *,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    node: str = "",
    requests: dict[str, str] | None = None,
    tolerations: Iterable[str | dict[str, str]] = (),
    status: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    made: dict[str, Any] = {"containers": [container(requests=requests or {})], **spec}
    if node:
        made["nodeName"] = node
    if tolerations:
        made["tolerations"] = [toleration(t) if isinstance(t, str) else t for t in tolerations]
    named = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**named, "labels": labels or {}, **(meta or {})},
        "spec": made,
        "status": status or {},
    }


def raw_node(
    name: str = "n",
    *,
    labels: dict[str, str] | None = None,
    taints: Iterable[str] = (),
    allocatable: dict[str, str] | None = None,
    images: dict[str, int] | None = None,
    declared_features: Iterable[str] = (),
    **spec: Any,
) -> dict[str, Any]:
    rooms = {"cpu": "4", "memory": "8Gi", "pods": "110", **(allocatable or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [taint(t) for t in taints], **spec},
        "status": {
            "allocatable": rooms,
            "images": [{"names": [n], "sizeBytes": size} for n, size in (images or {}).items()],
            "declaredFeatures": list(declared_features),
        },
    }


def raw(kind: str, name: str, *, namespace: str = "", **fields: Any) -> dict[str, Any]:
    """Any other object: its fields beside metadata."""
    meta = {"name": name, "uid": f"{namespace}/{name}", **fields.pop("meta", {})}
    return {
        "kind": kind,
        "metadata": {**meta, "namespace": namespace} if namespace else meta,
    } | fields


def pod(name: str = "p", **words: Any) -> Pod:
    made = objects.parse("Pod", raw_pod(name, **words))
    assert isinstance(made, Pod)
    return made


def node(name: str = "n", **words: Any) -> Node:
    made = objects.parse("Node", raw_node(name, **words))
    assert isinstance(made, Node)
    return made


def other(kind: str, name: str, **words: Any) -> KubeObject:
    return objects.parse(kind, raw(kind, name, **words))


def node_info(its_node: Node, pods: Iterable[Pod] = ()) -> NodeInfo:
    info = NodeInfo(its_node.name, its_node)
    for one in pods:
        info.add_pod(one)
    return info


def snapshot(nodes: Iterable[Node], pods: Iterable[Pod] = ()) -> Snapshot:
    """Pods stand on the node that they name."""
    placed = list(pods)
    return Snapshot.of(
        node_info(one, [p for p in placed if p.node_name == one.name]) for one in nodes
    )


def pre_filtered(plugin: Plugin, a_pod: Pod, nodes: Snapshot) -> tuple[CycleState, Any]:
    """The state that PreFilter leaves, and what it says (SUCCESS for None)."""
    state = CycleState()
    said = plugin.pre_filter(state, a_pod, nodes) if hasattr(plugin, "pre_filter") else None
    return state, SUCCESS if said is None else said


def filtered(plugin: Plugin, a_pod: Pod, nodes: Snapshot) -> dict[str, Status]:
    """Each node's verdict; all succeed when PreFilter skips."""
    state, said = pre_filtered(plugin, a_pod, nodes)
    if isinstance(said, Status) and said.code is Code.SKIP:
        return dict.fromkeys(nodes.names, SUCCESS)
    assert isinstance(said, PreFilterResult) or said.is_success
    statuses = plugin.filter_nodes(state, a_pod, nodes)  # type: ignore[attr-defined]
    return {name: statuses.status(row) for row, name in enumerate(nodes.names)}


def scored(
    plugin: Plugin, a_pod: Pod, nodes: Snapshot, *, normalize: bool = False
) -> dict[str, int] | None:
    """Each node's score, raw unless said otherwise; None when PreScore skips."""
    state, rows = CycleState(), np.arange(len(nodes))
    if hasattr(plugin, "pre_score"):
        said = plugin.pre_score(state, a_pod, nodes, rows)
        if said is not None and said.code is Code.SKIP:
            return None
    scores = plugin.score_nodes(state, a_pod, nodes, rows)  # type: ignore[attr-defined]
    if normalize and hasattr(plugin, "normalize_score"):
        scores = plugin.normalize_score(state, a_pod, scores)
    return dict(zip(nodes.names, scores.tolist(), strict=True))


def claim(name: str, *, volume: str = "", storage_class: str = "", **words: Any) -> KubeObject:
    """A PersistentVolumeClaim in namespace default; words go to its spec."""
    made = {"volumeName": volume, "storageClassName": storage_class, **words}
    return other("PersistentVolumeClaim", name, namespace="default", spec=made)


def using(*claims: str, name: str = "p", node: str = "", **words: Any) -> Pod:
    """A pod with these claims."""
    made = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, node=node, volumes=made, **words)


def told(nodes: Snapshot, *others: KubeObject) -> Snapshot:
    """The snapshot, with these objects in its listers."""
    for one in others:
        nodes.listers.replace(None, one)
    return nodes
