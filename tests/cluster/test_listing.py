"""A cluster read once, over real HTTP."""

from __future__ import annotations

import pytest

from schedviz.cluster import listing
from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.kube.kinds import KINDS, Kind
from tests.sandbox.running import running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def box(tmp_path):
    with running(tmp_path) as sandbox:
        yield sandbox


async def names(box, *kinds: Kind) -> list[str]:
    async with ClusterClient.from_kubeconfig(str(box.kubeconfig)) as client:
        return [one.name for one in await listing.everything(client, kinds)]


async def test_all_pages_are_read(box, monkeypatch):
    monkeypatch.setattr(listing, "PAGE", 2)
    for number in range(5):
        box.ok("POST", CONFIG_MAPS, {"metadata": {"name": f"c{number}"}})
    assert await names(box, KINDS["ConfigMap"]) == [f"c{number}" for number in range(5)]


async def test_a_kind_that_is_not_served_has_no_objects(box):
    unknown = Kind("Gadget", "example.com", "v1", "gadgets", True)
    assert await names(box, unknown) == []


async def test_without_pods_there_is_no_answer(box):
    misplaced = Kind("Pod", "example.com", "v1", "pods", True)
    with pytest.raises(ClusterError) as refused:
        await names(box, misplaced)
    assert refused.value.status == 404
