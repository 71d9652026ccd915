"""What scheduling reads of volumes: the claims that a pod names, and the parts of claims, volumes and classes.

Used by the volume plugins and by the sandbox's volume controller; which volume suits which claim is said here for
both. Mirrors component-helpers/storage and, of csi-translation-lib, what becomes of a volume's zone (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from schedviz.kube import matching, quantity
from schedviz.kube.matching import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from schedviz.kube.objects import KubeObject, Other, Pod

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
# In-tree sources whose volumes have a zone: the plugin's name, and the node's label for it once CSI has taken over.
ZONED_SOURCES = {
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
    "azureDisk": ("kubernetes.io/azure-disk", "topology.disk.csi.azure.com/zone"),
    "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
}

Raw = Mapping[str, Any]
Size = int | Fraction


@dataclass(frozen=True, slots=True)
class ClaimName:
    """A claim that a pod uses. is_ephemeral: it is made for the pod and must belong to it."""

    name: str
    is_ephemeral: bool

    def key(self, pod: Pod) -> str:
        return f"{pod.namespace}/{self.name}"


def claim_names(pod: Pod) -> Iterator[ClaimName]:
    """In the order of the pod's volumes."""
    for volume in pod.volumes:
        if volume.get("persistentVolumeClaim") is not None:
            yield ClaimName(volume["persistentVolumeClaim"].get("claimName") or "", False)
        elif volume.get("ephemeral") is not None:
            yield ClaimName(f"{pod.name}-{volume.get('name')}", True)


def is_of_claim(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """A hint: a claim that the pod uses came or changed."""
    claim = new or old
    if claim is None or claim.namespace != pod.namespace:
        return False
    return any(one.name == claim.name for one in claim_names(pod))


def spec(thing: Other) -> Mapping[str, Any]:
    return thing.raw.get("spec") or {}


def class_name(claim: Other) -> str:
    """The claim's storage class."""
    return _class_name(claim.raw)


def volume_name(claim: Other) -> str:
    return spec(claim).get("volumeName") or ""


def binding_mode(storage_class: Other) -> str:
    return storage_class.raw.get("volumeBindingMode") or "Immediate"


def belongs_to(claim: Other, pod: Pod) -> bool:
    """Whether the pod is the claim's controller, as for ephemeral volumes."""
    owners = claim.raw["metadata"].get("ownerReferences") or ()
    return any(one.get("controller") and one.get("uid") == pod.uid for one in owners)


def not_found(kind: str, name: str) -> str:
    """As the API's errors say it."""
    resource = {
        "PersistentVolumeClaim": "persistentvolumeclaim",
        "PersistentVolume": "persistentvolume",
        "StorageClass": "storageclass.storage.k8s.io",
    }[kind]
    return f'{resource} "{name}" not found'


# ---- which volume for which claim ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim. is_bound: volume and claim have found each other, and both say so. selected_node: where
    its volume is to be made, None when nothing was said."""

    namespace: str
    name: str
    uid: str
    size: Size
    class_name: str
    attributes_class: str
    mode: str
    access_modes: frozenset[str]
    selector: LabelSelector | None
    volume_name: str
    is_bound: bool
    selected_node: str | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume. claim: (namespace, name, uid or "") of the claim that it is kept for. affinity None: every
    node can reach it; plugin, migrated: the in-tree plugin that it is of, and its affinity on nodes where a CSI driver
    has taken that over."""

    name: str
    labels: Mapping[str, str]
    size: Size
    class_name: str
    attributes_class: str
    mode: str
    access_modes: frozenset[str]
    phase: str
    claim: tuple[str, str, str] | None
    affinity: NodeSelector | None
    is_going: bool
    plugin: str = ""
    migrated: NodeSelector | None = None

    def is_for(self, claim: Claim) -> bool:
        """Whether it is kept for this claim."""
        if self.claim is None:
            return False
        namespace, name, uid = self.claim
        return (namespace, name) == (claim.namespace, claim.name) and uid in ("", claim.uid)

    def could_hold(self, claim: Claim) -> bool:
        """What must hold even of a volume that is kept for the claim."""
        return (
            self.size >= claim.size
            and self.mode == claim.mode
            and self.attributes_class == claim.attributes_class
            and not self.is_going
        )

    def suits(self, claim: Claim) -> bool:
        """Whether it is free and the claim may take it."""
        return (
            self.claim is None
            and self.could_hold(claim)
            and self.phase == "Available"
            and self.class_name == claim.class_name
            and (claim.selector is None or claim.selector.matches(self.labels))
            and claim.access_modes <= self.access_modes
        )


def read_claim(raw: Raw) -> Claim:
    """Raises ValueError for a size or a selector that can't be read."""
    meta, said = raw["metadata"], raw.get("spec") or {}
    annotations = meta.get("annotations") or {}
    volume = said.get("volumeName") or ""
    return Claim(
        meta.get("namespace") or "",
        meta["name"],
        meta.get("uid") or f"{meta.get('namespace')}/{meta['name']}",
        _size((said.get("resources") or {}).get("requests")),
        _class_name(raw),
        said.get("volumeAttributesClassName") or "",
        said.get("volumeMode") or "Filesystem",
        frozenset(said.get("accessModes") or ()),
        matching.label_selector(said.get("selector")),
        volume,
        bool(volume) and BIND_COMPLETED in annotations,
        annotations.get(SELECTED_NODE),
    )


def read_volume(raw: Raw) -> Volume:
    """Raises ValueError for a size that can't be read; an affinity that can't be read matches no node."""
    meta, said = raw["metadata"], raw.get("spec") or {}
    ref = said.get("claimRef")
    required = (said.get("nodeAffinity") or {}).get("required")
    try:
        affinity = None if required is None else matching.node_selector(required)
    except matching.SelectorError:
        affinity = NodeSelector(())
    return Volume(
        meta["name"],
        meta.get("labels") or {},
        _size(said.get("capacity")),
        _class_name(raw),
        said.get("volumeAttributesClassName") or "",
        said.get("volumeMode") or "Filesystem",
        frozenset(said.get("accessModes") or ()),
        (raw.get("status") or {}).get("phase") or "",
        ref and (ref.get("namespace") or "", ref.get("name") or "", ref.get("uid") or ""),
        affinity,
        bool(meta.get("deletionTimestamp")),
        *_migrated(said, affinity, meta.get("labels") or {}),
    )


def is_migrated(plugin: str, csi_node: Other | None) -> bool:
    """Whether a CSI driver has taken over from this in-tree plugin on the node."""
    if csi_node is None:
        return False
    annotations = csi_node.raw["metadata"].get("annotations") or {}
    return plugin in (annotations.get(MIGRATED) or "").split(",")


def _migrated(
    said: Raw, affinity: NodeSelector | None, labels: Mapping[str, str]
) -> tuple[str, NodeSelector | None]:
    """The in-tree plugin of a volume, and its affinity after migration: the driver's own label stands for the zone."""
    source = next((one for one in ZONED_SOURCES if said.get(one) is not None), None)
    if source is None:
        return "", None
    plugin, key = ZONED_SOURCES[source]
    terms = affinity.terms if affinity is not None else ()
    if any(one.key in ZONES for term in terms for one in term.expressions):
        return plugin, NodeSelector(tuple(_renamed(term, key) for term in terms))
    zones = next((labels[label] for label in ZONES if labels.get(label)), "")
    if not zones:
        return plugin, affinity
    zone = Requirement(key, "In", tuple(zones.split("__")))
    added = [NodeSelectorTerm((*one.expressions, zone), one.fields) for one in terms]
    return plugin, NodeSelector(tuple(added) or (NodeSelectorTerm((zone,)),))


def _renamed(term: NodeSelectorTerm, key: str) -> NodeSelectorTerm:
    expressions = tuple(
        Requirement(key, one.operator, one.values) if one.key in ZONES else one
        for one in term.expressions
    )
    return NodeSelectorTerm(expressions, term.fields)


def binding_patch(volume: Volume, claim: Claim) -> dict[str, Any]:
    """What to change of a volume so that it is kept for the claim; empty when it is already."""
    wanted = (claim.namespace, claim.name, claim.uid)
    patch: dict[str, Any] = {}
    if not volume.is_for(claim):
        patch["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    if volume.claim != wanted:
        ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        ref |= {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
        patch["spec"] = {"claimRef": ref}
    return patch


def allowed_topologies(storage_class: Other) -> tuple[NodeSelectorTerm, ...]:
    """Where a class lets volumes be made: one of the terms must match; none: everywhere."""
    return tuple(
        NodeSelectorTerm(
            tuple(
                Requirement(one["key"], "In", tuple(one.get("values") or ()))
                for one in term.get("matchLabelExpressions") or ()
            )
        )
        for term in storage_class.raw.get("allowedTopologies") or ()
    )


def capacity_limit(capacity: Other) -> int | None:
    """The largest volume, in bytes, that can be made from a CSIStorageCapacity; None when it does not say."""
    said = capacity.raw.get("maximumVolumeSize")
    said = capacity.raw.get("capacity") if said is None else said
    return None if said is None else quantity.value(said)


def capacity_bytes(capacity: Other) -> int:
    """What a CSIStorageCapacity has left."""
    return quantity.value(capacity.raw.get("capacity") or 0)


def _class_name(raw: Raw) -> str:
    """The annotation of old comes first."""
    annotations = raw["metadata"].get("annotations") or {}
    said = annotations.get(BETA_CLASS)
    return (raw.get("spec") or {}).get("storageClassName") or "" if said is None else said


def _size(amounts: Mapping[str, Any] | None) -> Size:
    return _exact((amounts or {}).get("storage") or 0)


def _exact(text: Any) -> Size:
    number = quantity.parse(text)
    return number.numerator if number.denominator == 1 else number
