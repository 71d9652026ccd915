"""What form the API gives to the fields that scheduling reads: text where text belongs, lists where lists do.

`check` is called by `objects.parse` before anything is read, so that nothing behind it need doubt a type. An API server
never lets such objects in; a watch of something else, a test or a hand-written file may. null stands for absent. Left
out on purpose: fields that nothing here reads, and what values mean (selectors, amounts and times are read by others).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from schedviz.kube import quantity
from schedviz.kube.pod_spec import FieldError

Form: TypeAlias = Callable[[Any], None]
"""Raises _Wrong for a value (never None) that has another form."""


class _Wrong(Exception):
    """path: from the inside out."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.path: list[str] = []

    def where(self) -> str:
        return "".join(reversed(self.path)).lstrip(".")


def check(kind: str, raw: Any) -> None:
    """Raises FieldError with the path of the first field that has another form."""
    try:
        _FORMS.get(kind, _ANY_OBJECT)(raw)
    except _Wrong as wrong:
        raise FieldError(wrong.where() or "metadata", wrong.message) from None


# ---- forms ---------------------------------------------------------------------------------------------------------


def text(value: Any) -> None:
    if type(value) is not str:
        raise _Wrong(f"is {_shown(value)}: write text")


def flag(value: Any) -> None:
    if type(value) is not bool:
        raise _Wrong(f"is {_shown(value)}: write true or false")


def whole(bits: int) -> Form:
    limit = 1 << (bits - 1)

    def form(value: Any) -> None:
        if type(value) is not int or not -limit <= value < limit:
            raise _Wrong(f"is {_shown(value)}: write a whole number of {bits} bits")

    return form


def amount(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Wrong(f"is {_shown(value)}: write a quantity")
    try:
        exact = quantity.parse(value)
    except quantity.QuantityError as error:
        raise _Wrong(str(error)) from None
    if exact < 0:
        raise _Wrong(f"is {_shown(value)}: write 0 or more")


def list_of(inner: Form) -> Form:
    def form(value: Any) -> None:
        if type(value) is not list:
            raise _Wrong(f"is {_shown(value)}: write a list")
        for number, one in enumerate(value):
            try:
                if one is None:
                    raise _Wrong("is null: leave it out")
                inner(one)
            except _Wrong as wrong:
                wrong.path.append(f"[{number}]")
                raise

    return form


def map_of(inner: Form) -> Form:
    def form(value: Any) -> None:
        if type(value) is not dict:
            raise _Wrong(f"is {_shown(value)}: write a map")
        for key, one in value.items():
            try:
                if type(key) is not str:
                    raise _Wrong("has a key that is no text")
                if one is not None:
                    inner(one)
            except _Wrong as wrong:
                wrong.path.append(f"[{key}]")
                raise

    return form


def record(**fields: Form) -> Form:
    entries = tuple(fields.items())

    def form(value: Any) -> None:
        if type(value) is not dict:
            raise _Wrong(f"is {_shown(value)}: write a map")
        for name, inner in entries:
            one = value.get(name)
            if one is None:
                continue
            try:
                inner(one)
            except _Wrong as wrong:
                wrong.path.append(f".{name}")
                raise

    return form


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


# ---- the API's ------------------------------------------------------------------------------------------------------

_INT32, _INT64 = whole(32), whole(64)
_TEXTS, _LABELS = list_of(text), map_of(text)
_AMOUNTS = map_of(amount)
_REQUIREMENTS = list_of(record(key=text, operator=text, values=_TEXTS))
_SELECTOR = record(matchLabels=_LABELS, matchExpressions=_REQUIREMENTS)
_META = record(
    name=text,
    namespace=text,
    uid=text,
    resourceVersion=text,
    labels=_LABELS,
    annotations=_LABELS,
    creationTimestamp=text,
    deletionTimestamp=text,
    ownerReferences=list_of(
        record(apiVersion=text, kind=text, name=text, uid=text, controller=flag)
    ),
)


def _object(**sections: Form) -> Form:
    return record(metadata=_META, **sections)


_ANY_OBJECT = _object()
_NODE_TERM = record(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_NODE_SELECTOR = record(nodeSelectorTerms=list_of(_NODE_TERM))
_POD_TERM = record(
    labelSelector=_SELECTOR,
    namespaceSelector=_SELECTOR,
    topologyKey=text,
    namespaces=_TEXTS,
    matchLabelKeys=_TEXTS,
    mismatchLabelKeys=_TEXTS,
)
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_POD_AFFINITY = record(
    **{
        _REQUIRED: list_of(_POD_TERM),
        _PREFERRED: list_of(record(weight=_INT32, podAffinityTerm=_POD_TERM)),
    }
)
_RESOURCES = record(requests=_AMOUNTS, limits=_AMOUNTS)
_CONTAINERS = list_of(
    record(
        name=text,
        image=text,
        restartPolicy=text,
        resources=_RESOURCES,
        ports=list_of(
            record(containerPort=_INT32, hostPort=_INT32, hostIP=text, protocol=text, name=text)
        ),
    )
)
_CLAIM_SPEC = record(
    accessModes=_TEXTS,
    storageClassName=text,
    volumeName=text,
    volumeMode=text,
    volumeAttributesClassName=text,
    selector=_SELECTOR,
    resources=record(requests=_AMOUNTS),
)
_VOLUMES = list_of(
    record(
        name=text,
        persistentVolumeClaim=record(claimName=text, readOnly=flag),
        ephemeral=record(volumeClaimTemplate=record(spec=_CLAIM_SPEC)),
        image=record(reference=text),
        csi=record(driver=text),
        gcePersistentDisk=record(pdName=text, readOnly=flag),
        awsElasticBlockStore=record(volumeID=text, readOnly=flag),
        azureDisk=record(diskURI=text),
        azureFile=record(shareName=text),
        cinder=record(volumeID=text),
        vsphereVolume=record(volumePath=text),
        portworxVolume=record(volumeID=text),
        rbd=record(monitors=_TEXTS, pool=text, image=text, readOnly=flag),
        iscsi=record(iqn=text, readOnly=flag),
    )
)
_CONDITIONS = list_of(record(type=text, status=text, reason=text, message=text))
_POD = _object(
    spec=record(
        schedulerName=text,
        nodeName=text,
        priority=_INT32,
        priorityClassName=text,
        preemptionPolicy=text,
        schedulingGates=list_of(record(name=text)),
        nodeSelector=_LABELS,
        hostNetwork=flag,
        containers=_CONTAINERS,
        initContainers=_CONTAINERS,
        resources=_RESOURCES,
        overhead=_AMOUNTS,
        volumes=_VOLUMES,
        tolerations=list_of(
            record(key=text, operator=text, value=text, effect=text, tolerationSeconds=_INT64)
        ),
        resourceClaims=list_of(
            record(name=text, resourceClaimName=text, resourceClaimTemplateName=text)
        ),
        topologySpreadConstraints=list_of(
            record(
                maxSkew=_INT32,
                minDomains=_INT32,
                topologyKey=text,
                whenUnsatisfiable=text,
                labelSelector=_SELECTOR,
                matchLabelKeys=_TEXTS,
                nodeAffinityPolicy=text,
                nodeTaintsPolicy=text,
            )
        ),
        affinity=record(
            nodeAffinity=record(
                **{
                    _REQUIRED: _NODE_SELECTOR,
                    _PREFERRED: list_of(record(weight=_INT32, preference=_NODE_TERM)),
                }
            ),
            podAffinity=_POD_AFFINITY,
            podAntiAffinity=_POD_AFFINITY,
        ),
    ),
    status=record(
        phase=text,
        nominatedNodeName=text,
        startTime=text,
        conditions=_CONDITIONS,
        resources=_RESOURCES,
        allocatedResources=_AMOUNTS,
        resourceClaimStatuses=list_of(record(name=text, resourceClaimName=text)),
        containerStatuses=list_of(
            record(name=text, resources=_RESOURCES, allocatedResources=_AMOUNTS)
        ),
        initContainerStatuses=list_of(
            record(name=text, resources=_RESOURCES, allocatedResources=_AMOUNTS)
        ),
    ),
)
_NODE = _object(
    spec=record(unschedulable=flag, taints=list_of(record(key=text, value=text, effect=text))),
    status=record(
        allocatable=_AMOUNTS,
        capacity=_AMOUNTS,
        conditions=_CONDITIONS,
        images=list_of(record(names=_TEXTS, sizeBytes=_INT64)),
        declaredFeatures=_TEXTS,
    ),
)
_SELECTING = _object(spec=record(selector=_SELECTOR))
_BY_LABELS = _object(spec=record(selector=_LABELS))
_FORMS: dict[str, Form] = {
    "Pod": _POD,
    "Node": _NODE,
    "Service": _BY_LABELS,
    "ReplicationController": _BY_LABELS,
    "ReplicaSet": _SELECTING,
    "StatefulSet": _SELECTING,
    "PodDisruptionBudget": _object(
        spec=record(selector=_SELECTOR),
        status=record(disruptionsAllowed=_INT32, disruptedPods=map_of(text)),
    ),
    "PersistentVolumeClaim": _object(spec=_CLAIM_SPEC, status=record(phase=text)),
    "PersistentVolume": _object(
        spec=record(
            capacity=_AMOUNTS,
            accessModes=_TEXTS,
            storageClassName=text,
            volumeMode=text,
            volumeAttributesClassName=text,
            claimRef=record(namespace=text, name=text, uid=text),
            nodeAffinity=record(required=_NODE_SELECTOR),
            csi=record(driver=text, volumeHandle=text),
            gcePersistentDisk=record(pdName=text),
            awsElasticBlockStore=record(volumeID=text),
            azureDisk=record(diskURI=text),
            azureFile=record(shareName=text),
            cinder=record(volumeID=text),
            vsphereVolume=record(volumePath=text),
            portworxVolume=record(volumeID=text),
        ),
        status=record(phase=text),
    ),
    "StorageClass": _object(
        provisioner=text,
        volumeBindingMode=text,
        allowedTopologies=list_of(
            record(matchLabelExpressions=list_of(record(key=text, values=_TEXTS)))
        ),
    ),
    "CSINode": _object(
        spec=record(
            drivers=list_of(
                record(name=text, topologyKeys=_TEXTS, allocatable=record(count=_INT32))
            )
        )
    ),
    "CSIDriver": _object(spec=record(storageCapacity=flag)),
    "CSIStorageCapacity": _object(
        storageClassName=text, capacity=amount, maximumVolumeSize=amount, nodeTopology=_SELECTOR
    ),
    "VolumeAttachment": _object(
        spec=record(
            nodeName=text,
            attacher=text,
            source=record(persistentVolumeName=text, inlineVolumeSpec=record()),
        )
    ),
    "PriorityClass": _object(value=_INT32, globalDefault=flag, preemptionPolicy=text),
}
