"""The bodies of requests to extenders, and their answers as data.

Used by `asking`. Mirrors staging/src/k8s.io/kube-scheduler/extender/v1 types.go (v1.36): field names are Go's, those of
Kubernetes' objects inside are the API's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.extender.go_json import (
    Place,
    int64,
    list_of,
    map_of,
    pointer,
    struct,
    text,
)
from schedviz.scheduler.framework.extending import VictimsByNode

_META = struct("v1.ObjectMeta", {"name": text})
_NODE = struct("v1.Node", {"metadata": _META})


def _node_name(value: Any, place: Place) -> str:
    """All that counts of a node. Thousands of them come at once: the usual form is read at once."""
    try:
        name = value["metadata"]["name"]
        if isinstance(name, str) and name.isascii() and "\0" not in name:
            return name
    except (KeyError, TypeError):
        pass  # not as Go writes it: see what it is
    return str(_NODE(value, place)["metadata"]["name"])


_NODE_LIST = struct("v1.NodeList", {"items": list_of(_node_name, "[]v1.Node")})
_FAILED = map_of(text, "v1.FailedNodesMap")
FILTER_RESULT = struct(
    "v1.ExtenderFilterResult",
    {
        "Nodes": pointer(_NODE_LIST),
        "NodeNames": list_of(text, "[]string"),
        "FailedNodes": _FAILED,
        "FailedAndUnresolvableNodes": _FAILED,
        "Error": text,
    },
)
_HOST_PRIORITY = struct("v1.HostPriority", {"Host": text, "Score": int64})
HOST_PRIORITY_LIST = list_of(_HOST_PRIORITY, "v1.HostPriorityList")
_META_POD = struct("v1.MetaPod", {"UID": text})
_META_VICTIMS = struct(
    "v1.MetaVictims",
    {"Pods": list_of(pointer(_META_POD), "[]*v1.MetaPod"), "NumPDBViolations": int64},
)
PREEMPTION_RESULT = struct(
    "v1.ExtenderPreemptionResult",
    {"NodeNameToMetaVictims": map_of(pointer(_META_VICTIMS), "map[string]*v1.MetaVictims")},
)
BINDING_RESULT = struct("v1.ExtenderBindingResult", {"Error": text})


def extender_args(pod: Pod, nodes: Iterable[Node | None], *, by_name: bool) -> bytes:
    """ExtenderArgs: the nodes by name only, or whole."""
    there = [node for node in nodes if node is not None]
    if by_name:
        names = orjson.dumps([node.name for node in there])
        return b'{"Pod":%b,"Nodes":null,"NodeNames":%b}' % (_object(pod), names)
    items = b",".join([_object(node) for node in there])
    return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (
        _object(pod),
        items,
    )


def preemption_args(pod: Pod, victims: VictimsByNode, *, by_name: bool) -> bytes:
    """ExtenderPreemptionArgs: the victims by uid only, or whole."""
    if by_name:
        meta = {
            name: {
                "Pods": [{"UID": one.uid} for one in there.pods],
                "NumPDBViolations": there.n_pdb_violations,
            }
            for name, there in victims.items()
        }
        told = b'"NodeNameToVictims":null,"NodeNameToMetaVictims":%b' % orjson.dumps(meta)
    else:
        told = b'"NodeNameToVictims":{%b},"NodeNameToMetaVictims":null' % _whole(victims)
    return b'{"Pod":%b,%b}' % (_object(pod), told)


def binding_args(pod: Pod, node_name: str) -> bytes:
    """ExtenderBindingArgs."""
    return orjson.dumps(
        {
            "PodName": pod.name,
            "PodNamespace": pod.namespace,
            "PodUID": pod.uid,
            "Node": node_name,
        }
    )


def _whole(victims: VictimsByNode) -> bytes:
    return b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}'
        % (orjson.dumps(name), b",".join([_object(one) for one in there.pods]), there[1])
        for name, there in victims.items()
    )


def _object(one: KubeObject) -> bytes:
    """As it came; an object that was made here has its metadata only."""
    return one.wire or orjson.dumps({"metadata": _meta(one)})


def _meta(one: KubeObject) -> Mapping[str, object]:
    place = {"namespace": one.namespace} if one.namespace else {}
    return {"name": one.name, **place, "uid": one.uid, "labels": one.labels}
