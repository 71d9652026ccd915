"""VolumeZone: nodes outside the zones of the pod's volumes are refused."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import CycleState, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.volume_zone import REGION, ZONE, VolumeZone, places_of
from tests import make

OUTSIDE = UnschedulableAndUnresolvable("node(s) had no available volume zone")
BETA = "failure-domain.beta.kubernetes.io/zone"
NODES = [
    make.node("a", labels={ZONE: "za"}),
    make.node("b", labels={ZONE: "zb", REGION: "r"}),
    make.node("old", labels={BETA: "za"}),
    make.node("none"),
]


def world(labels, **claim):
    volume = make.other("PersistentVolume", "v", meta={"labels": labels})
    return make.told(make.snapshot(NODES), volume, make.claim("c", volume="v", **claim))


@pytest.mark.parametrize(
    ("labels", "fitting"),
    [
        pytest.param({}, ["a", "b", "old", "none"], id="a volume without zone"),
        pytest.param({ZONE: "za"}, ["a", "none"], id="one zone; unzoned nodes pass"),
        pytest.param({ZONE: "za__zb"}, ["a", "b", "none"], id="a set of zones"),
        pytest.param({BETA: "za"}, ["a", "old", "none"], id="the old key finds both"),
        pytest.param({ZONE: "zb", REGION: "r"}, ["b", "none"], id="zone and region"),
    ],
)
def test_filter(labels, fitting):
    nodes = world(labels)
    said = make.filtered(VolumeZone(), make.using("c"), nodes)
    assert [name for name, status in said.items() if status.is_success] == fitting
    for info in nodes.infos:
        one_by_one = info.name == "none" or all(
            place.allows(info.labels)
            for place in places_of(nodes.listers.get("PersistentVolume", "v"))
        )
        assert said[info.name].is_success == one_by_one
        assert said[info.name].is_success or said[info.name] == OUTSIDE


def test_without_pre_filter_the_filter_looks_itself():
    nodes = world({ZONE: "za"})
    said = VolumeZone().filter_nodes(CycleState(), make.using("c"), nodes)
    assert said.passed.tolist() == [True, False, False, True]
    said = VolumeZone().filter_nodes(CycleState(), make.using("lost"), nodes)
    assert said.status(0).reasons == ('persistentvolumeclaim "lost" not found',)


CLASSES = [
    make.other("StorageClass", "later", volumeBindingMode="WaitForFirstConsumer"),
    make.other("StorageClass", "now"),
]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param(make.claim("c", storage_class="later"), None, id="waits for its consumer"),
        pytest.param(
            make.claim("c", volume="gone"), 'persistentvolume "gone" not found', id="no such volume"
        ),
        pytest.param(
            make.claim("c"),
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            make.claim("c", storage_class="x"),
            'storageclass.storage.k8s.io "x" not found',
            id="no such class",
        ),
        pytest.param(
            make.claim("c", storage_class="now"), "PersistentVolume had no name", id="not bound yet"
        ),
    ],
)
def test_pre_filter(claim, reason):
    nodes = make.told(make.snapshot(NODES), claim, *CLASSES)
    _, said = make.pre_filtered(VolumeZone(), make.using("c"), nodes)
    assert said == (UnschedulableAndUnresolvable(reason) if reason else said)
    assert (said.code is Code.SKIP) == (reason is None)
