"""What Reserve takes of what Filter found, and when all of it is bound: the second half of volume binding.

Called by the plugin. Mirrors AssumePodVolumes, BindPodVolumes and checkBindings of
pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36); the updates and the waiting are the world's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedviz.kube import volumes
from schedviz.kube.objects import Node, Other
from schedviz.kube.volumes import Claim, Volume
from schedviz.scheduler.framework import SUCCESS, Error, Status
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.plugins.volume_binding.binder import PV, PVC, Found, PodClaims, Taken


def take(claims: PodClaims, found: Found, row: int, node_name: str) -> str:
    """Assume that the volumes found for the node are the claims' from now on. "", or what is not there any more."""
    for claim, volume in found.static_on(row):
        told = claims.listers.told(PV, volume.name)
        if told is None:
            return _lost(PV, volume.name)
        claims.static.append((claim, volume.name))
        _take(claims, told, volumes.binding_patch(volumes.read_volume(told.raw), claim))
    for claim, _ in found.provisions_on(row):
        told = claims.listers.told(PVC, claim.key)
        if told is None:
            return _lost(PVC, claim.key)
        claims.provisions.append(claim)
        selected = volumes.read_claim(told.raw).selected_node
        patch = {"metadata": {"annotations": {volumes.SELECTED_NODE: node_name}}}
        _take(claims, told, {} if selected == node_name else patch)
    return ""


def _take(claims: PodClaims, told: Other, patch: dict[str, Any]) -> None:
    claims.taken[told.kind, told.key] = Taken(told, patch)
    if patch:
        claims.listers.assume(replace(told, raw=_patched(told.raw, patch)))


def _patched(raw: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch that takes nothing away."""
    merged = dict(raw)
    for name, value in patch.items():
        old = merged.get(name)
        is_map = isinstance(value, Mapping) and isinstance(old, Mapping)
        merged[name] = _patched(old, value) if is_map and name != "claimRef" else value  # type: ignore[arg-type]
    return merged


def release(claims: PodClaims) -> None:
    """Assume nothing of it any more."""
    for kind, key in claims.taken:
        claims.listers.restore(kind, key)


def are_bound(
    claims: PodClaims, listers: Listers, node: Node | None, node_name: str
) -> Status | None:
    """SUCCESS when every claim has its volume, an error when that will not come to be, None while it may. It looks at
    what the watch told; what has been patched is only looked at once the watch has told of it."""
    if node is None:
        return _failed(f'failed to get node "{node_name}": node "{node_name}" not found')
    for claim, volume_name in claims.static:
        said = _static_is_bound(claims, listers, node, claim, volume_name)
        if said is not SUCCESS:
            return said
    for claim in claims.provisions:
        said = _provision_is_bound(claims, listers, node, claim)
        if said is not SUCCESS:
            return said
    return SUCCESS


def _static_is_bound(
    claims: PodClaims, listers: Listers, node: Node, claim: Claim, volume_name: str
) -> Status | None:
    thing, claim_now = listers.told(PV, volume_name), listers.told(PVC, claim.key)
    if thing is None:
        return _failed(f"failed to check binding: {_lost(PV, volume_name)}")
    if claim_now is None:
        return _failed(f"failed to check binding: {_lost(PVC, claim.key)}")
    if not _is_heard(claims, thing):
        return None
    volume = volumes.read_volume(thing.raw)
    if not _reaches(volume, node, listers):
        return _failed(_mismatch(volume, node))
    if volume.claim is None or not volume.claim[2]:
        return _failed(f'ClaimRef got reset for pv "{volume_name}"')
    return SUCCESS if volumes.read_claim(claim_now.raw).is_bound else None


def _provision_is_bound(
    claims: PodClaims, listers: Listers, node: Node, claim: Claim
) -> Status | None:
    thing = listers.told(PVC, claim.key)
    if thing is None:
        return _failed(f"failed to check provisioning pvc: {_lost(PVC, claim.key)}")
    if not _is_heard(claims, thing):
        return None
    now = volumes.read_claim(thing.raw)
    if not thing.raw["metadata"].get("annotations"):
        return _failed(f'selectedNode annotation reset for PVC "{claim.name}"')
    if now.selected_node != node.name:
        return _failed(f'provisioning failed for PVC "{claim.name}"')
    if now.volume_name:
        made = listers.told(PV, now.volume_name)
        if made is None:  # told later, or the claim will be unbound again
            return None
        volume = volumes.read_volume(made.raw)
        if not _reaches(volume, node, listers):
            return _failed(_mismatch(volume, node))
    return SUCCESS if now.is_bound else None


def _is_heard(claims: PodClaims, thing: Other) -> bool:
    """Whether the watch has told of our patch: nothing else can have changed the object before it."""
    taken = claims.taken[thing.kind, thing.key]
    return not taken.patch or thing.resource_version != taken.before.resource_version


def _reaches(volume: Volume, node: Node, listers: Listers) -> bool:
    is_migrated = volumes.is_migrated(volume.plugin, listers.get("CSINode", node.name))
    affinity = volume.migrated if volume.plugin and is_migrated else volume.affinity
    return affinity is None or affinity.matches(node.labels, "")


def _mismatch(volume: Volume, node: Node) -> str:
    return (
        f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
        "no matching NodeSelectorTerms"
    )


def _lost(kind: str, key: str) -> str:
    return f'could not find v1.{kind} "{key}"'


def _failed(words: str) -> Status:
    return Error(f"binding volumes: {words}")
