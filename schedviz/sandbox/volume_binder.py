"""Plays the controllers of volumes: claims and volumes find each other, new volumes are made, ephemeral claims too.

One for each sandbox, started by `server`. Volumes are made for classes whose provisioner is `schedviz.dev/sandbox`;
parameters of the class: `seconds` it takes, `topologyKey`: the label of the node that the volume can be used on (else
those of allowedTopologies, else the zone). Mirrors pkg/controller/volume/persistentvolume and ephemeral (v1.36) as far
as a scheduler notices; how a pod's own claims are bound is the scheduler's to begin.

    claim:  Pending --volume found, or made--> Bound --volume gone--> Lost
    volume: Available --> Bound --claim gone--> Released (or gone, when it was made here and is not to be kept)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from schedviz.kube import volumes
from schedviz.kube.kinds import KINDS
from schedviz.kube.volumes import Claim, Volume
from schedviz.sandbox import patches, resources
from schedviz.sandbox.status import ApiError
from schedviz.sandbox.storage import Event, Object, Storage

PROVISIONER = "schedviz.dev/sandbox"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
ZONE = "topology.kubernetes.io/zone"
MAKE_SECONDS = 0.3
PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
_HEARD = frozenset({PV, PVC, "StorageClass"})
_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)


class VolumeBinder:
    """Runs in the server's loop; each round looks at everything, so a restart resumes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._pods: dict[str, Object | None] = {}  # with ephemeral volumes; None: gone
        self._due: dict[str, float] = {}  # claim's uid -> when its volume is made
        self._read: dict[str, tuple[Object, Volume]] = {}
        self._sorted: list[Volume] | None = None  # until a volume changes
        self._stop_listening = storage.listen(self._heard)

    def start(self) -> None:
        for pod in self._storage.values("Pod"):
            self._note_pod(pod, is_there=True)
        self._awake.set()
        self._task = asyncio.create_task(self._run(), name=f"volumes {self._storage.name}")

    async def stop(self) -> None:
        self._stop_listening()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _heard(self, event: Event | None) -> None:
        if event is None:
            return
        if event.kind in _HEARD:
            self._sorted = None
            self._awake.set()
            if event.type == "DELETED":
                self._due.pop(event.object["metadata"]["uid"], None)
        elif event.kind == "Pod" and event.type != "MODIFIED":
            self._note_pod(event.object, is_there=event.type == "ADDED")

    def _note_pod(self, pod: Object, *, is_there: bool) -> None:
        if any(True for _ in _ephemeral(pod)):
            meta = pod["metadata"]
            self._pods[f"{meta['namespace']}/{meta['name']}"] = pod if is_there else None
            self._awake.set()

    async def _run(self) -> None:
        while True:
            await self._awake.wait()
            self._awake.clear()
            self._round()

    def _round(self) -> None:
        self._sorted = None
        pods, self._pods = self._pods, {}
        for key, pod in pods.items():
            if pod is None:
                self._drop_ephemeral(key)
            else:
                self._make_ephemeral(pod)
        for kind, look_at in ((PV, self._look_at_volume), (PVC, self._look_at_claim)):
            for raw in self._storage.values(kind):
                try:
                    look_at(raw)
                except _UNREADABLE:
                    continue  # whoever uses it is told what is wrong with it

    # ---- volumes ---------------------------------------------------------------------------------------------------

    def _look_at_volume(self, raw: Object) -> None:
        spec = raw.get("spec") or {}
        ref = spec.get("claimRef") or {}
        if not ref.get("uid"):
            self._say(PV, raw, "Available")
            return
        claim = self._storage.get(PVC, f"{ref.get('namespace')}/{ref.get('name')}")
        if claim is None or claim["metadata"]["uid"] != ref["uid"]:
            annotations = raw["metadata"].get("annotations") or {}
            is_ours = annotations.get(PROVISIONED_BY) == PROVISIONER
            if is_ours and spec.get("persistentVolumeReclaimPolicy") != "Retain":
                self._storage.remove(PV, raw["metadata"]["name"])
            else:
                self._say(PV, raw, "Released")
            return
        has = (claim.get("spec") or {}).get("volumeName")
        if has == raw["metadata"]["name"]:
            self._say(PV, raw, "Bound")
        elif has and volumes.BOUND_BY_CONTROLLER in (raw["metadata"].get("annotations") or {}):
            gone = {volumes.BOUND_BY_CONTROLLER: None}
            free = {"metadata": {"annotations": gone}, "spec": {"claimRef": None}}
            self._put(PV, raw, free | {"status": {"phase": "Available"}})

    def _readable(self) -> list[Volume]:
        """As they are now, the smallest first; read again only where they changed."""
        if self._sorted is not None:
            return self._sorted
        before, self._read = self._read, {}
        for raw in self._storage.values(PV):
            name = raw["metadata"]["name"]
            known = before.get(name)
            if known is None or known[0] is not raw:
                try:
                    known = (raw, volumes.read_volume(raw))
                except _UNREADABLE:
                    continue
            self._read[name] = known
        found = [volume for _, volume in self._read.values()]
        self._sorted = sorted(found, key=lambda volume: (volume.size, volume.name))
        return self._sorted

    # ---- claims ----------------------------------------------------------------------------------------------------

    def _look_at_claim(self, raw: Object) -> None:
        claim = volumes.read_claim(raw)
        if claim.is_bound:
            is_there = self._storage.get(PV, claim.volume_name) is not None
            self._say(PVC, raw, "Bound" if is_there else "Lost")
            return
        storage_class = self._storage.get("StorageClass", claim.class_name) or {}
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        found = self._find(claim, kept_only=waits)
        if found is not None:
            self._bind(raw, claim, found)
            return
        self._say(PVC, raw, "Pending")
        is_ours = storage_class.get("provisioner") == PROVISIONER and not claim.volume_name
        if is_ours and (claim.selected_node is not None or not waits):
            self._make(raw, claim, storage_class)

    def _find(self, claim: Claim, *, kept_only: bool) -> Volume | None:
        """The volume that the claim names, one that is kept for it, or the smallest that suits it."""
        there = self._readable()
        if claim.volume_name:
            named = [one for one in there if one.name == claim.volume_name]
            fits = [one for one in named if one.is_for(claim) or one.claim is None]
            return next((one for one in fits if one.could_hold(claim)), None)
        kept = [one for one in there if one.is_for(claim) and one.could_hold(claim)]
        suiting = [] if kept_only else [one for one in there if one.suits(claim)]
        return next(iter(kept + suiting), None)

    def _bind(self, raw: Object, claim: Claim, volume: Volume) -> None:
        """Both say so: the volume first, as upstream."""
        known = self._storage.get(PV, volume.name)
        if known is None:
            return
        bound = self._put(
            PV, known, volumes.binding_patch(volume, claim) | {"status": {"phase": "Bound"}}
        )
        annotations = {volumes.BIND_COMPLETED: "yes"}
        if not claim.volume_name:
            annotations[volumes.BOUND_BY_CONTROLLER] = "yes"
        status = {
            "phase": "Bound",
            "accessModes": bound["spec"].get("accessModes") or [],
            "capacity": bound["spec"].get("capacity") or {},
        }
        meta, spec = {"annotations": annotations}, {"volumeName": volume.name}
        self._put(PVC, raw, {"metadata": meta, "spec": spec, "status": status})

    def _make(self, raw: Object, claim: Claim, storage_class: Object) -> None:
        """A new volume, kept for the claim; the next round binds them."""
        loop = asyncio.get_running_loop()
        due = self._due.get(claim.uid)
        if due is None:
            seconds = _seconds(storage_class)
            self._due[claim.uid] = loop.time() + seconds
            loop.call_later(seconds, self._awake.set)
        elif due <= loop.time():
            del self._due[claim.uid]
            node = self._storage.get("Node", claim.selected_node or "")
            if claim.selected_node is not None and not _is_allowed(storage_class, node):
                # The scheduler is to choose again.
                gone = {"annotations": {volumes.SELECTED_NODE: None}}
                self._put(PVC, raw, {"metadata": gone})
            else:
                resources.create(
                    self._storage, KINDS[PV], "", _made(raw, claim, storage_class, node)
                )

    # ---- ephemeral volumes -----------------------------------------------------------------------------------------

    def _make_ephemeral(self, pod: Object) -> None:
        meta = pod["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        for name, template in _ephemeral(pod):
            said = template.get("metadata") or {}
            kept = {key: said[key] for key in ("labels", "annotations") if key in said}
            owners = [{**owner, "controller": True, "blockOwnerDeletion": True}]
            body = {
                "metadata": {"name": f"{meta['name']}-{name}", "ownerReferences": owners, **kept},
                "spec": template.get("spec") or {},
            }
            try:
                resources.create(self._storage, KINDS[PVC], meta["namespace"], body)
            except ApiError:
                continue  # there already, or refused: the pod waits and says so

    def _drop_ephemeral(self, key: str) -> None:
        """The pod is gone, its claims follow."""
        for raw in self._storage.values(PVC):
            meta = raw["metadata"]
            for owner in meta.get("ownerReferences") or ():
                named = f"{meta['namespace']}/{owner.get('name')}" == key
                if named and owner.get("kind") == "Pod" and self._storage.get("Pod", key) is None:
                    self._storage.remove(PVC, f"{meta['namespace']}/{meta['name']}")
                    break

    # ---- writing ---------------------------------------------------------------------------------------------------

    def _say(self, kind: str, raw: Object, phase: str) -> None:
        if (raw.get("status") or {}).get("phase") != phase:
            self._put(kind, raw, {"status": {"phase": phase}})

    def _put(self, kind: str, raw: Object, patch: Object) -> Object:
        meta = raw["metadata"]
        key = resources.key_of(KINDS[kind], meta.get("namespace", ""), meta["name"])
        self._sorted = None if kind == PV else self._sorted
        changed: Object = patches.merge(raw, patch)
        return self._storage.put(kind, key, {**changed, "metadata": dict(changed["metadata"])})


def _ephemeral(pod: Object) -> Iterator[tuple[str, Object]]:
    """(the volume's name, the template of its claim)."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        source = volume.get("ephemeral")
        if isinstance(source, dict):
            yield str(volume.get("name")), source.get("volumeClaimTemplate") or {}


def _parameter(storage_class: Object, name: str) -> str:
    return str((storage_class.get("parameters") or {}).get(name) or "")


def _seconds(storage_class: Object) -> float:
    try:
        return min(max(0.0, float(_parameter(storage_class, "seconds"))), 3600.0)
    except ValueError:
        return MAKE_SECONDS


def _labels(node: Object | None) -> dict[str, str]:
    return (node["metadata"].get("labels") or {}) if node is not None else {}


def _terms(storage_class: Object) -> list[list[Object]]:
    """allowedTopologies as node selector terms."""
    return [
        [
            {"key": one.get("key"), "operator": "In", "values": one.get("values") or []}
            for one in term.get("matchLabelExpressions") or ()
        ]
        for term in storage_class.get("allowedTopologies") or ()
    ]


def _is_allowed(storage_class: Object, node: Object | None) -> bool:
    terms, labels = _terms(storage_class), _labels(node)
    fits = [all(labels.get(one["key"]) in one["values"] for one in term) for term in terms]
    return node is not None and (any(fits) or not terms)


def _affinity(storage_class: Object, node: Object | None) -> dict[str, Any]:
    """The nodes that a new volume can be used on: those like the selected one, else those that the class allows."""
    terms = _terms(storage_class)
    if node is not None:
        named = _parameter(storage_class, "topologyKey")
        keys = [named] if named else [one["key"] for term in terms for one in term] or [ZONE]
        labels = _labels(node)
        like = [
            {"key": key, "operator": "In", "values": [labels[key]]}
            for key in dict.fromkeys(keys)
            if key in labels
        ]
        terms = [like] if like else []
    if not terms:
        return {}
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"required": selector}}


def _made(raw: Object, claim: Claim, storage_class: Object, node: Object | None) -> Object:
    said = raw["spec"]
    name = f"pvc-{claim.uid}"
    ref = {"apiVersion": "v1", "kind": PVC, "uid": claim.uid}
    spec = {
        "capacity": {"storage": said["resources"]["requests"]["storage"]},
        "accessModes": said.get("accessModes") or ["ReadWriteOnce"],
        "volumeMode": claim.mode,
        "storageClassName": claim.class_name,
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "claimRef": {**ref, "namespace": claim.namespace, "name": claim.name},
        "csi": {"driver": PROVISIONER, "volumeHandle": name},
        **_affinity(storage_class, node),
    }
    if claim.attributes_class:
        spec["volumeAttributesClassName"] = claim.attributes_class
    annotations = {PROVISIONED_BY: PROVISIONER}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}
