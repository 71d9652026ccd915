"""StatefulSets: pods with names and claims of their own, made, replaced and taken away in order.

Called by `controllers`. Mirrors pkg/controller/statefulset: OrderedReady and Parallel, rolling updates from the last
pod on, with a partition; OnDelete; claims stay when pods go.
"""

from __future__ import annotations

from typing import Any

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import resources
from schedviz.sandbox.controllers.world import (
    World,
    hash_of,
    is_leaving,
    is_ready,
    phase,
    template_of,
)
from schedviz.sandbox.storage import Object

REVISION = "controller-revision-hash"
POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


def sync(world: World, one: Object) -> None:
    template = template_of(one)
    if template is None:
        return
    name = one["metadata"]["name"]
    revision = f"{name}-{hash_of(template)}"
    pods = {_ordinal(pod): pod for pod in world.owned(one, "Pod")}
    if not is_leaving(one):
        _settle(world, one, template, revision, pods)
    _say(world, one, revision)


def _ordinal(pod: Object) -> int:
    last = pod["metadata"]["name"].rpartition("-")[2]
    return int(last) if last.isdecimal() else -1


def _settle(
    world: World, one: Object, template: dict[str, Any], revision: str, pods: dict[int, Object]
) -> None:
    spec = one["spec"]
    first = int((spec.get("ordinals") or {}).get("start") or 0)
    wanted = range(first, first + int(spec.get("replicas", 1)))
    in_order = spec.get("podManagementPolicy") != "Parallel"
    for number in wanted:
        pod = pods.get(number)
        if pod is None:
            _make(world, one, template, revision, number)
        elif phase(pod) in ("Succeeded", "Failed") and not is_leaving(pod):
            world.delete(pod)
        elif is_ready(pod) and not is_leaving(pod):
            continue
        if in_order:
            return
    for number in sorted(set(pods) - set(wanted), reverse=True):
        if not is_leaving(pods[number]):
            world.delete(pods[number])
        if in_order:
            return
    _update(world, one, revision, [pods[number] for number in wanted if number in pods])


def _make(world: World, one: Object, template: dict[str, Any], revision: str, number: int) -> None:
    name = f"{one['metadata']['name']}-{number}"
    labels = {POD_NAME: name, POD_INDEX: str(number), REVISION: revision}
    claims = []
    for claim in one["spec"].get("volumeClaimTemplates") or ():
        claim_name = f"{claim['metadata']['name']}-{name}"
        namespace = one["metadata"]["namespace"]
        claims.append((claim["metadata"]["name"], claim_name))
        if world.storage.get("PersistentVolumeClaim", f"{namespace}/{claim_name}") is None:
            own = claim["metadata"].get("labels") or {}
            chosen = (one["spec"].get("selector") or {}).get("matchLabels") or {}
            meta = {"name": claim_name, "labels": own | chosen}
            kind = KINDS["PersistentVolumeClaim"]
            body = {"metadata": meta, "spec": claim.get("spec") or {}}
            resources.create(world.storage, kind, namespace, body)
    spec = {**template["spec"], "hostname": name}
    if one["spec"].get("serviceName"):
        spec["subdomain"] = one["spec"]["serviceName"]
    if claims:
        named = {volume for volume, _ in claims}
        kept = [v for v in spec.get("volumes") or () if v.get("name") not in named]
        made = [{"name": v, "persistentVolumeClaim": {"claimName": c}} for v, c in claims]
        spec["volumes"] = [*kept, *made]
    world.make_pod(one, {**template, "spec": spec}, name=name, labels=labels, generateName=None)


def _update(world: World, one: Object, revision: str, pods: list[Object]) -> None:
    """All are ready: the last pod of an old revision is replaced."""
    strategy = one["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return
    partition = int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    for pod in reversed(pods):
        is_old = (pod["metadata"].get("labels") or {}).get(REVISION) != revision
        if is_leaving(pod) or not is_ready(pod):
            return
        if is_old and _ordinal(pod) >= partition:
            world.delete(pod)
            return


def _say(world: World, one: Object, revision: str) -> None:
    pods = [pod for pod in world.owned(one, "Pod") if not is_leaving(pod)]
    ready = sum(map(is_ready, pods))
    updated = sum((p["metadata"].get("labels") or {}).get(REVISION) == revision for p in pods)
    before = (one.get("status") or {}).get("currentRevision") or revision
    is_done = updated == len(pods) == ready == int(one["spec"].get("replicas", 1))
    current = revision if is_done else before
    world.set_status(
        one,
        {
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": updated,
            "currentReplicas": updated if current == revision else len(pods) - updated,
            "currentRevision": current,
            "updateRevision": revision,
        },
    )
