"""ImageLocality: what is already on a node need not be pulled."""

from __future__ import annotations

import pytest
from hypothesis import given

from schedviz.kube.pod_spec import normalized_image
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.plugins.image_locality import ImageLocality
from tests import make, strategies

MIB = 1 << 20


def scores(pod, **images_of):
    nodes = make.snapshot([make.node(name, images=images) for name, images in images_of.items()])
    return make.scored(ImageLocality(), pod, nodes)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param({}, {}, {"a": 0, "b": 0}, id="no images"),
        pytest.param({"app:v1": 20 * MIB}, {}, {"a": 0, "b": 0}, id="below the threshold"),
        pytest.param({"app:v1": 500 * MIB}, {}, {"a": 23, "b": 0}, id="half the nodes: half"),
        pytest.param(
            {"app:v1": 500 * MIB}, {"app:v1": 9 * MIB}, {"a": 48, "b": 48}, id="first size counts"
        ),
        pytest.param({"app:v1": 9000 * MIB}, {}, {"a": 100, "b": 0}, id="above the maximum"),
    ],
)
def test_score(a, b, expected):
    assert scores(make.pod(), a=a, b=b) == expected


@pytest.mark.parametrize(
    ("name", "full"),
    [
        pytest.param("app", "app:latest", id="no tag"),
        pytest.param("app:v1", "app:v1", id="a tag"),
        pytest.param("host:5000/app", "host:5000/app:latest", id="a port is no tag"),
    ],
)
def test_image_names_get_their_tag(name, full):
    assert normalized_image(name) == full


def test_every_container_raises_the_maximum():
    two = make.pod(containers=[make.container("a"), make.container("b", image="other")])
    assert scores(two, a={"app:v1": 2000 * MIB}) == {"a": 100}
    assert scores(two, a={"app:v1": 1000 * MIB}) == {"a": 49}


def one_by_one(pod, info: NodeInfo, infos: list[NodeInfo]) -> int:
    total = 0
    for image in pod.images:
        sizes = [
            size
            for one in infos
            for names, size in one.node.images
            if image in map(normalized_image, names)
        ]
        if any(image in map(normalized_image, names) for names, _ in info.node.images):
            total += int(sizes[0] * (len(sizes) / len(infos)))
    most = 1000 * MIB * pod.n_image_containers
    return 100 * (min(max(total, 23 * MIB), most) - 23 * MIB) // (most - 23 * MIB)


@given(strategies.clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    said = make.scored(ImageLocality(), pod, nodes)
    assert said == {info.name: one_by_one(pod, info, nodes.infos) for info in nodes.infos}
