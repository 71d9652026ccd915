"""Claims, volumes and classes, as far as scheduling reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from schedviz.kube import volumes
from tests import make


def test_claims_of_a_pod_in_its_order():
    pod = make.pod(
        "p",
        volumes=[
            {"name": "scratch", "ephemeral": {}},
            {"name": "config", "configMap": {"name": "c"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "d"}},
        ],
    )
    found = list(volumes.claim_names(pod))
    assert [(one.name, one.is_ephemeral) for one in found] == [("p-scratch", True), ("d", False)]
    assert found[1].key(pod) == "default/d"


@pytest.mark.parametrize(
    ("annotations", "named", "expected"),
    [
        pytest.param({}, "fast", "fast", id="the field"),
        pytest.param({volumes.BETA_CLASS: "old"}, "fast", "old", id="the annotation comes first"),
        pytest.param({}, None, "", id="none"),
    ],
)
def test_class_name(annotations, named, expected):
    claim = make.other(
        "PersistentVolumeClaim",
        "c",
        namespace="a",
        spec={"storageClassName": named},
        meta={"annotations": annotations},
    )
    assert volumes.class_name(claim) == expected


def test_immediate_is_the_default_binding_mode():
    assert volumes.binding_mode(make.other("StorageClass", "s")) == "Immediate"


def test_an_ephemeral_claim_belongs_to_its_pod():
    owner = {"controller": True, "uid": "default/p"}
    mine = make.other(
        "PersistentVolumeClaim", "c", namespace="default", meta={"ownerReferences": [owner]}
    )
    assert volumes.belongs_to(mine, make.pod("p"))
    assert not volumes.belongs_to(mine, make.pod("q"))


def test_not_found_is_said_as_the_api_says_it():
    assert volumes.not_found("StorageClass", "s") == 'storageclass.storage.k8s.io "s" not found'


def read_volume(**spec):
    return volumes.read_volume(make.raw("PersistentVolume", "v", spec=spec))


def test_sizes_are_exact():
    assert read_volume(capacity={"storage": "1500m"}).size == Fraction(3, 2)
    assert read_volume(capacity={"storage": "1Gi"}).size == 1 << 30
    assert read_volume().size == 0
    with pytest.raises(ValueError, match="not a quantity"):
        read_volume(capacity={"storage": "lots"})


def test_an_affinity_that_cannot_be_read_reaches_no_node():
    term = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
    volume = read_volume(nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    assert volume.affinity is not None
    assert not volume.affinity.matches({"zone": "a"}, "n")


def test_an_empty_class_annotation_hides_the_field():
    meta = {"annotations": {volumes.BETA_CLASS: ""}}
    raw = make.raw("PersistentVolume", "v", spec={"storageClassName": "fast"}, meta=meta)
    assert volumes.read_volume(raw).class_name == ""


def test_a_volume_that_was_promised_gets_the_claims_uid_only():
    claim = volumes.read_claim(make.raw("PersistentVolumeClaim", "c", namespace="default"))
    promised = read_volume(claimRef={"namespace": "default", "name": "c"})
    patch = volumes.binding_patch(promised, claim)
    assert patch["spec"]["claimRef"]["uid"] == claim.uid
    assert "metadata" not in patch
    bound = read_volume(claimRef=patch["spec"]["claimRef"])
    assert volumes.binding_patch(bound, claim) == {}


GCE = {"gcePersistentDisk": {"pdName": "d"}}
BETA, GA, CSI = (*reversed(volumes.ZONES), "topology.gke.io/zone")


def wants(*keys, values=("a",)):
    made = [{"key": key, "operator": "In", "values": list(values)} for key in keys]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": made}]}}}


@pytest.mark.parametrize(
    ("labels", "spec", "expected"),
    [
        pytest.param({BETA: "a"}, {}, {CSI: ("a",)}, id="from the label"),
        pytest.param({GA: "a__b"}, {}, {CSI: ("a", "b")}, id="from a label with two zones"),
        pytest.param({GA: "b"}, wants(GA), {CSI: ("a",)}, id="from the affinity"),
        pytest.param({GA: "a"}, wants("x"), {"x": ("a",), CSI: ("a",)}, id="beside the affinity"),
        pytest.param({}, wants("x"), {"x": ("a",)}, id="no zone"),
        pytest.param({}, {}, None, id="nothing said"),
    ],
)
def test_a_zone_is_asked_for_by_the_drivers_own_label_after_migration(labels, spec, expected):
    raw = make.raw("PersistentVolume", "v", spec=GCE | spec, meta={"labels": labels})
    volume = volumes.read_volume(raw)
    assert volume.plugin == "kubernetes.io/gce-pd"
    terms = volume.migrated.terms if volume.migrated else ()
    asked = {one.key: one.values for term in terms for one in term.expressions}
    assert (asked or None) == expected
