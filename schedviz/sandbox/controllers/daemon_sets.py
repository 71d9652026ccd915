"""DaemonSets: one pod for each node that the template may run on; the scheduler binds them.

Called by `controllers`. Mirrors pkg/controller/daemon: each pod is bound to its node by node affinity on metadata.name
and tolerates what daemons tolerate.
"""

from __future__ import annotations

import copy
from typing import Any

from schedviz.kube import matching
from schedviz.kube.matching import Taint
from schedviz.sandbox.controllers.world import (
    World,
    hash_of,
    is_leaving,
    is_ready,
    phase,
    share,
    template_of,
)
from schedviz.sandbox.storage import Object

REVISION = "controller-revision-hash"
_EVERYWHERE = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def sync(world: World, one: Object) -> None:
    template = template_of(one)
    if template is None:
        return
    revision = hash_of(template)
    template = _tolerating(template)
    nodes = {n["metadata"]["name"]: n for n in world.storage.values("Node")}
    fitting = {name for name, node in nodes.items() if _runs_on(template["spec"], node)}
    held: dict[str, list[Object]] = {}
    for pod in world.owned(one, "Pod"):
        held.setdefault(_node_of(pod), []).append(pod)
    if not is_leaving(one):
        for name in sorted(fitting):
            if not held.get(name):
                labels = {REVISION: revision}
                world.make_pod(one, _bound_to(template, name), labels=labels)
        _take_away(world, held, fitting)
        _update(world, one, revision, [p for name in sorted(fitting) for p in held.get(name, ())])
    _say(world, one, revision, fitting)


def _tolerating(template: dict[str, Any]) -> dict[str, Any]:
    spec = template["spec"]
    usual = [{"key": k, "operator": "Exists", "effect": effect} for k, effect in _EVERYWHERE]
    known = spec.get("tolerations") or []
    return {
        **template,
        "spec": {**spec, "tolerations": [*known, *(t for t in usual if t not in known)]},
    }


def _bound_to(template: dict[str, Any], node: str) -> dict[str, Any]:
    """Its node affinity asks for this node, in place of every other that it had."""
    made = copy.deepcopy(template)
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = made["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity[REQUIRED] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return made


def _node_of(pod: Object) -> str:
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    for term in (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return ""


def _runs_on(spec: dict[str, Any], node: Object) -> bool:
    labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    if required and not matching.node_selector(required).matches(labels, name):
        return False
    tolerated = [matching.toleration(raw) for raw in spec.get("tolerations") or ()]
    for raw in (node.get("spec") or {}).get("taints") or ():
        taint = Taint(raw.get("key", ""), raw.get("value", ""), raw.get("effect", ""))
        forbids = taint.effect in ("NoSchedule", "NoExecute")
        if forbids and not any(one.tolerates(taint) for one in tolerated):
            return False
    return True


def _take_away(world: World, held: dict[str, list[Object]], fitting: set[str]) -> None:
    for name, pods in held.items():
        over = [pod for pod in pods if phase(pod) in ("Succeeded", "Failed")]
        spare = pods if name not in fitting else [*over, *[p for p in pods if p not in over][1:]]
        for pod in spare:
            if not is_leaving(pod):
                world.delete(pod)


def _is_old(pod: Object, revision: str) -> bool:
    return (pod["metadata"].get("labels") or {}).get(REVISION) != revision


def _update(world: World, one: Object, revision: str, pods: list[Object]) -> None:
    """Old pods go, as many at once as may be missing."""
    strategy = one["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return
    most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    missing = sum(1 for pod in pods if is_leaving(pod) or not is_ready(pod))
    room = max(1, share(most, len(pods), up=True)) - missing
    old = [pod for pod in pods if _is_old(pod, revision) and not is_leaving(pod)]
    for pod in sorted(old, key=is_ready):
        if not is_ready(pod):
            world.delete(pod)
        elif room > 0:
            room -= 1
            world.delete(pod)


def _say(world: World, one: Object, revision: str, fitting: set[str]) -> None:
    pods = [p for p in world.owned(one, "Pod") if not is_leaving(p)]
    there = {_node_of(pod): pod for pod in pods}
    ready = sum(is_ready(pod) for name, pod in there.items() if name in fitting)
    status = {
        "currentNumberScheduled": len(fitting & set(there)),
        "desiredNumberScheduled": len(fitting),
        "numberMisscheduled": len(set(there) - fitting),
        "numberReady": ready,
    }
    updated = sum(not _is_old(pod, revision) for pod in there.values())
    more = {"numberAvailable": ready, "updatedNumberScheduled": updated}
    more["numberUnavailable"] = len(fitting) - ready
    generation = one["metadata"].get("generation", 1)
    shown = {name: value or None for name, value in more.items()}
    world.patch(one, {"status": {**status, **shown, "observedGeneration": generation}})
