"""What scheduling reads of volumes: the claims that a pod names, and the parts of claims, volumes and classes.

Used by the volume plugins; the objects are `Other`s, read where they are needed. Mirrors
component-helpers/storage (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schedviz.kube.objects import Other, Pod

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


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


def spec(thing: Other) -> Mapping[str, Any]:
    return thing.raw.get("spec") or {}


def class_name(claim: Other) -> str:
    """The claim's storage class: the annotation of old comes first."""
    annotations = claim.raw["metadata"].get("annotations") or {}
    return annotations.get(BETA_CLASS) or spec(claim).get("storageClassName") or ""


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
