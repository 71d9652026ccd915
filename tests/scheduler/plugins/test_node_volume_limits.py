"""NodeVolumeLimits: a node holds so many volumes of a driver."""

from __future__ import annotations

import pytest

from schedviz.kube import volumes
from schedviz.scheduler.framework import Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from tests import make

FULL = Unschedulable("node(s) exceed max volume count")


def csi_node(count, driver="d", **meta):
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return make.other(
        "CSINode", "n", spec={"drivers": [{"name": driver, **allocatable}]}, meta=meta
    )


def volume(name, handle=None, driver="d"):
    csi = {"driver": driver, "volumeHandle": handle or name}
    return make.other("PersistentVolume", name, spec={"csi": csi})


def attachment(name):
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": name}}
    return make.other("VolumeAttachment", f"at-{name}", spec=spec)


WORLD = [
    *(volume(name) for name in "abcd"),
    *(make.claim(name, volume=name) for name in "abcd"),
    volume("e", driver="other"),
    make.claim("e", volume="e"),
    volume("twin", handle="a"),
    make.claim("twin", volume="twin"),
    make.other("StorageClass", "later", provisioner="d"),
    make.claim("new", storage_class="later"),
    make.claim("vague"),
]
STANDING = [make.using("a", name="x", node="n"), make.using("b", name="y", node="n")]


@pytest.mark.parametrize(
    ("count", "pod", "others", "expected"),
    [
        pytest.param(3, make.using("c"), [], SUCCESS, id="room for one more"),
        pytest.param(2, make.using("c"), [], FULL, id="no room"),
        pytest.param(3, make.using("c", "d"), [], FULL, id="not for two"),
        pytest.param(2, make.using("a"), [], SUCCESS, id="what is there costs nothing"),
        pytest.param(2, make.using("twin"), [], SUCCESS, id="the same volume by another name"),
        pytest.param(2, make.using("e"), [], SUCCESS, id="another driver has no limit"),
        pytest.param(None, make.using("c"), [], SUCCESS, id="no count is no limit"),
        pytest.param(2, make.using("new"), [], FULL, id="one to be provisioned counts"),
        pytest.param(2, make.using("vague"), [], SUCCESS, id="a claim of no known driver"),
        pytest.param(3, make.using("c"), [attachment("d")], FULL, id="an attachment counts"),
        pytest.param(3, make.using("c"), [attachment("a")], SUCCESS, id="but once"),
        pytest.param(
            2,
            make.using("lost"),
            [],
            UnschedulableAndUnresolvable(
                'looking up PVC default/lost: persistentvolumeclaim "lost" not found'
            ),
            id="no such claim",
        ),
    ],
)
def test_filter(count, pod, others, expected):
    nodes = make.told(make.snapshot([make.node("n")], STANDING), *WORLD, *others, csi_node(count))
    assert make.filtered(NodeVolumeLimits(), pod, nodes) == {"n": expected}


def test_a_node_without_csi_node_has_no_limit():
    nodes = make.told(make.snapshot([make.node("n")], STANDING), *WORLD)
    assert make.filtered(NodeVolumeLimits(), make.using("c"), nodes) == {"n": SUCCESS}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param("kubernetes.io/aws-ebs", FULL, id="taken over by the driver"),
        pytest.param("", SUCCESS, id="not taken over"),
    ],
)
def test_in_tree_volumes_count_where_a_driver_took_them_over(annotation, expected):
    pod = make.pod(volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "x"}}])
    limits = csi_node(0, "ebs.csi.aws.com", annotations={volumes.MIGRATED: annotation})
    nodes = make.told(make.snapshot([make.node("n")]), limits)
    assert make.filtered(NodeVolumeLimits(), pod, nodes) == {"n": expected}


def test_a_driver_that_must_be_there_needs_its_gate():
    must = make.other("CSIDriver", "d", spec={"preventPodSchedulingIfMissing": True})
    nodes = make.told(make.snapshot([make.node("n")]), *WORLD, csi_node(9, "other"), must)
    plugin = NodeVolumeLimits()
    assert make.filtered(plugin, make.using("c"), nodes) == {"n": SUCCESS}
    plugin.features = frozenset({"VolumeLimitScaling"})
    assert make.filtered(plugin, make.using("c"), nodes) == {
        "n": Unschedulable("d CSI driver is not installed on the node")
    }


def test_what_was_remembered_follows_pods_and_volumes():
    nodes = make.told(make.snapshot([make.node("n")], STANDING), *WORLD, csi_node(2))
    plugin = NodeVolumeLimits()
    assert make.filtered(plugin, make.using("c"), nodes) == {"n": FULL}
    nodes.update([make.node_info(make.node("n"), STANDING[:1])])
    assert make.filtered(plugin, make.using("c"), nodes) == {"n": SUCCESS}


@pytest.mark.parametrize(
    ("volumes", "code"),
    [
        pytest.param([], Code.SKIP, id="no volumes"),
        pytest.param([{"name": "v", "emptyDir": {}}], Code.SKIP, id="none that is attached"),
        pytest.param([{"name": "v", "ephemeral": {}}], Code.SUCCESS, id="an ephemeral claim"),
    ],
)
def test_pre_filter(volumes, code):
    _, said = make.pre_filtered(NodeVolumeLimits(), make.pod(volumes=volumes), make.snapshot([]))
    assert said.code is code
