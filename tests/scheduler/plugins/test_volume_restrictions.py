"""VolumeRestrictions: what only one pod can use is not given twice."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.plugins.volume_restrictions import (
    ERR_REASON_DISK,
    ERR_REASON_ONCE,
    VolumeRestrictions,
    collides,
)
from tests import make


def gce(name, read_only=False):
    return {"name": "v", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name, read_only=False):
    return {"name": "v", "awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn, read_only=False):
    return {"name": "v", "iscsi": {"iqn": iqn, "readOnly": read_only}}


def rbd(monitors, image="i", pool=None, read_only=False):
    made = {"monitors": monitors, "image": image, "readOnly": read_only}
    return {"name": "v", "rbd": {**made, "pool": pool} if pool else made}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(gce("a"), gce("a"), True, id="the same GCE disk"),
        pytest.param(gce("a"), gce("b"), False, id="another GCE disk"),
        pytest.param(gce("a", True), gce("a", True), False, id="both read-only"),
        pytest.param(gce("a", True), gce("a"), True, id="one read-only"),
        pytest.param(ebs("a", True), ebs("a", True), True, id="EBS, even read-only"),
        pytest.param(iscsi("q"), iscsi("q"), True, id="the same iSCSI name"),
        pytest.param(iscsi("q", True), iscsi("q", True), False, id="iSCSI read-only"),
        pytest.param(rbd(["m", "n"]), rbd(["n"], pool="rbd"), True, id="RBD shares a monitor"),
        pytest.param(rbd(["m"]), rbd(["n"]), False, id="RBD of another cluster"),
        pytest.param(rbd(["m"]), rbd(["m"], image="j"), False, id="another RBD image"),
        pytest.param(rbd(["m"], pool="p"), rbd(["m"]), False, id="another RBD pool"),
        pytest.param(gce("a"), ebs("a"), False, id="of different sorts"),
    ],
)
def test_collides(one, other, expected):
    assert collides(one, other) == collides(other, one) == expected


def test_only_the_node_of_the_other_pod_lacks_the_disk():
    nodes = make.snapshot(
        [make.node("a"), make.node("b")], [make.pod("u", node="a", volumes=[gce("d")])]
    )
    said = make.filtered(VolumeRestrictions(), make.pod(volumes=[gce("d")]), nodes)
    assert said == {"a": Unschedulable(ERR_REASON_DISK), "b": SUCCESS}


def once(name):
    return make.claim(name, accessModes=["ReadWriteOncePod"])


def test_a_claim_for_one_pod_that_is_in_use_refuses_every_node():
    nodes = make.snapshot(
        [make.node("a"), make.node("b")], [make.using("c", name="user", node="a")]
    )
    said = make.filtered(VolumeRestrictions(), make.using("c"), make.told(nodes, once("c")))
    assert set(said.values()) == {Unschedulable(ERR_REASON_ONCE)}


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(once("c"), id="nobody uses it"),
        pytest.param(make.claim("c", accessModes=["ReadWriteOnce"]), id="it may be shared"),
    ],
)
def test_pre_filter_skips_what_is_free(claim):
    nodes = make.told(make.snapshot([make.node("a")]), claim)
    _, said = make.pre_filtered(VolumeRestrictions(), make.using("c"), nodes)
    assert said.code is Code.SKIP


def test_a_claim_that_does_not_exist_is_told():
    _, said = make.pre_filtered(VolumeRestrictions(), make.using("c"), make.snapshot([]))
    assert said == UnschedulableAndUnresolvable('persistentvolumeclaim "c" not found')
