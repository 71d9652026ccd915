"""The official Kubernetes client for Python, with the sandbox's kubeconfig, finds a cluster as it knows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

from tests.sandbox.running import Running
from tests.sandbox.speaking import binding, node, pod


@pytest.fixture
def api(sandbox: Running) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as one:
        yield one
        one.rest_client.pool_manager.clear()


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def test_the_version(api: client.ApiClient) -> None:
    assert client.VersionApi(api).get_code().minor == "36"
    assert client.CoreV1Api(api).get_api_resources().group_version == "v1"
    assert "apps" in {group.name for group in client.ApisApi(api).get_api_versions().groups}


def test_kubia_is_made_bound_and_deleted(core: client.CoreV1Api) -> None:
    for name in ("ceph1", "ceph2", "ceph3"):
        core.create_node(node(name))
    assert [one.metadata.name for one in core.list_node().items] == ["ceph1", "ceph2", "ceph3"]
    port = client.V1ContainerPort(container_port=8080)
    container = client.V1Container(name="kubia", image="luksa/kubia", ports=[port])
    body = client.V1Pod(
        metadata=client.V1ObjectMeta(name="kubia"), spec=client.V1PodSpec(containers=[container])
    )
    made = core.create_namespaced_pod("default", body)
    assert (made.spec.scheduler_name, made.status.phase) == ("default-scheduler", "Pending")
    core.create_namespaced_pod_binding(
        "kubia", "default", binding("kubia", "ceph2"), _preload_content=False
    ).release_conn()
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_pod, "default", timeout_seconds=20):
        if event["object"].status.phase == "Running":
            stream.stop()
    bound = core.read_namespaced_pod("kubia", "default")
    assert (bound.spec.node_name, bound.status.phase) == ("ceph2", "Running")
    patched = core.patch_namespaced_pod("kubia", "default", {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"a": "b"}
    picked = core.list_pod_for_all_namespaces(
        label_selector="a=b", field_selector="spec.nodeName=ceph2"
    )
    assert [one.metadata.name for one in picked.items] == ["kubia"]
    core.delete_namespaced_pod("kubia", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_pod("kubia", "default")
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")


def test_a_node_is_cordoned_and_removed(core: client.CoreV1Api) -> None:
    core.create_node(node("n1"))
    cordoned = core.patch_node("n1", {"spec": {"unschedulable": True}})
    assert cordoned.spec.unschedulable is True
    status = {"conditions": [{"type": "Ready", "status": "False", "reason": "Off"}]}
    core.patch_node_status("n1", {"status": status})
    core.delete_node("n1")
    assert core.list_node().items == []


def test_pages(core: client.CoreV1Api) -> None:
    for n in range(5):
        core.create_namespaced_pod("default", pod(f"p-{n}"))
    page = core.list_namespaced_pod("default", limit=2)
    seen = [one.metadata.name for one in page.items]
    while page.metadata._continue:
        page = core.list_namespaced_pod("default", limit=2, _continue=page.metadata._continue)
        seen += [one.metadata.name for one in page.items]
    assert seen == [f"p-{n}" for n in range(5)]


def test_a_conflict_is_an_exception(core: client.CoreV1Api) -> None:
    core.create_node(node("n1"))
    first = core.read_node("n1")
    core.patch_node("n1", {"metadata": {"labels": {"a": "b"}}})
    first.metadata.labels = {"c": "d"}
    with pytest.raises(ApiException) as refused:
        core.replace_node("n1", first)
    assert refused.value.status == 409


def test_an_old_version_ends_a_watch_with_410(core: client.CoreV1Api) -> None:
    stream = watch.Watch()
    with pytest.raises(ApiException) as gone:
        for _ in stream.stream(
            core.list_namespaced_pod, "default", resource_version="1000000000", timeout_seconds=5
        ):
            pass
    assert gone.value.status == 410


def test_other_groups(api: client.ApiClient) -> None:
    scheduling = client.SchedulingV1Api(api)
    high: dict[str, Any] = {"metadata": {"name": "high"}, "value": 1000}
    scheduling.create_priority_class(high)
    assert scheduling.read_priority_class("high").value == 1000
    leases = client.CoordinationV1Api(api)
    leases.create_namespaced_lease("kube-system", {"metadata": {"name": "leader"}, "spec": {}})
    spec = {"spec": {"holderIdentity": "me"}}
    changed = leases.patch_namespaced_lease("leader", "kube-system", spec)
    assert changed.spec.holder_identity == "me"
    storage = client.StorageV1Api(api)
    storage.create_storage_class({"metadata": {"name": "fast"}, "provisioner": "example.com/x"})
    assert storage.delete_storage_class("fast").metadata.name == "fast"
    scheduling.delete_priority_class("high")
    assert "high" not in {one.metadata.name for one in scheduling.list_priority_class().items}
