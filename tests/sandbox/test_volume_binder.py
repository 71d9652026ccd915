"""The volume controllers that the sandbox plays: claims get volumes, volumes are made, and what is lost is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.running import Running
from tests.sandbox.speaking import MERGE, NODES, PODS, node, pod, until, until_gone

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
SELECTED = "volume.kubernetes.io/selected-node"
ZONE = "topology.kubernetes.io/zone"


def volume(name: str, size: str = "5Gi", **spec: Any) -> dict[str, Any]:
    made = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"metadata": {"name": name}, "spec": {"storageClassName": "slow", **made}}


def claim(name: str, size: str = "5Gi", **spec: Any) -> dict[str, Any]:
    made = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"metadata": {"name": name}, "spec": {"storageClassName": "slow", **made}}


def storage_class(name: str, **fields: Any) -> dict[str, Any]:
    made = {"provisioner": "schedviz.dev/sandbox", "parameters": {"seconds": "0"}, **fields}
    return {"metadata": {"name": name}, **made}


def phase(sandbox: Running, path: str, name: str, wanted: str) -> dict[str, Any]:
    """The object, as soon as it is in this phase."""
    return until(sandbox, path, name, lambda o: o.get("status", {}).get("phase") == wanted)


def until_there_is_none(sandbox: Running, path: str, name: str) -> None:
    if sandbox.call("GET", f"{path}/{name}").status_code == 200:
        until_gone(sandbox, path, name)


def select(sandbox: Running, name: str, node_name: str | None) -> None:
    patch = {"metadata": {"annotations": {SELECTED: node_name}}}
    sandbox.ok("PATCH", f"{CLAIMS}/{name}", patch, form=MERGE)


def test_a_claim_gets_the_smallest_volume_that_suits_it(sandbox: Running) -> None:
    for name, size in (("v9", "9Gi"), ("v1", "1Gi"), ("v6", "6Gi")):
        sandbox.ok("POST", VOLUMES, volume(name, size))
        phase(sandbox, VOLUMES, name, "Available")
    sandbox.ok("POST", CLAIMS, claim("c"))
    bound = phase(sandbox, CLAIMS, "c", "Bound")
    assert bound["spec"]["volumeName"] == "v6"
    assert bound["status"]["capacity"] == {"storage": "6Gi"}
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    taken = phase(sandbox, VOLUMES, "v6", "Bound")
    assert taken["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    sandbox.ok("POST", CLAIMS, claim("d", "7Gi"))
    assert phase(sandbox, CLAIMS, "d", "Bound")["spec"]["volumeName"] == "v9"
    assert sandbox.ok("GET", f"{VOLUMES}/v1")["status"]["phase"] == "Available"


def test_a_claim_that_waits_for_its_pod_is_bound_when_a_volume_is_kept_for_it(
    sandbox: Running,
) -> None:
    waiting = storage_class("slow", volumeBindingMode="WaitForFirstConsumer")
    sandbox.ok("POST", CLASSES, waiting)
    sandbox.ok("POST", VOLUMES, volume("v"))
    made = sandbox.ok("POST", CLAIMS, claim("c"))
    phase(sandbox, VOLUMES, "v", "Available")
    assert sandbox.ok("GET", f"{CLAIMS}/c")["status"]["phase"] == "Pending"
    ref = {"namespace": "default", "name": "c", "uid": made["metadata"]["uid"]}
    sandbox.ok("PATCH", f"{VOLUMES}/v", {"spec": {"claimRef": ref}}, form=MERGE)
    assert phase(sandbox, CLAIMS, "c", "Bound")["spec"]["volumeName"] == "v"


def test_a_volume_is_made_for_the_selected_node(sandbox: Running) -> None:
    made = node("n1")
    made["metadata"]["labels"] = {ZONE: "z1"}
    sandbox.ok("POST", NODES, made)
    sandbox.ok("POST", CLAIMS, claim("c", storageClassName=None))
    select(sandbox, "c", "n1")
    bound = phase(sandbox, CLAIMS, "c", "Bound")
    assert bound["spec"]["storageClassName"] == "standard"  # every sandbox has it
    spec = sandbox.ok("GET", f"{VOLUMES}/{bound['spec']['volumeName']}")["spec"]
    assert spec["capacity"] == {"storage": "5Gi"}
    terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}]


IN_B = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}]


def test_a_volume_is_made_at_once_where_its_class_allows(sandbox: Running) -> None:
    sandbox.ok("POST", CLASSES, storage_class("slow", allowedTopologies=IN_B))
    sandbox.ok("POST", CLAIMS, claim("c"))
    bound = phase(sandbox, CLAIMS, "c", "Bound")
    spec = sandbox.ok("GET", f"{VOLUMES}/{bound['spec']['volumeName']}")["spec"]
    terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["b", "c"]


@pytest.mark.parametrize("labels", [{ZONE: "a"}, None], ids=["not allowed there", "no such node"])
def test_where_a_volume_cannot_be_made_the_scheduler_is_to_choose_again(
    sandbox: Running, labels: dict[str, str] | None
) -> None:
    mode = {"volumeBindingMode": "WaitForFirstConsumer"}
    sandbox.ok("POST", CLASSES, storage_class("slow", allowedTopologies=IN_B, **mode))
    if labels:
        made = node("n1")
        made["metadata"]["labels"] = labels
        sandbox.ok("POST", NODES, made)
    sandbox.ok("POST", CLAIMS, claim("c"))
    select(sandbox, "c", "n1")
    until(sandbox, CLAIMS, "c", lambda o: SELECTED not in o["metadata"].get("annotations", {}))
    assert sandbox.ok("GET", f"{CLAIMS}/c")["status"]["phase"] == "Pending"


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_volume_whose_claim_is_deleted(sandbox: Running, policy: str) -> None:
    sandbox.ok("POST", CLASSES, storage_class("slow", reclaimPolicy=policy))
    sandbox.ok("POST", CLAIMS, claim("c"))
    name = phase(sandbox, CLAIMS, "c", "Bound")["spec"]["volumeName"]
    phase(sandbox, VOLUMES, name, "Bound")
    sandbox.ok("DELETE", f"{CLAIMS}/c")
    if policy == "Retain":
        phase(sandbox, VOLUMES, name, "Released")
    else:
        until_there_is_none(sandbox, VOLUMES, name)


def test_a_claim_whose_volume_is_deleted_is_lost(sandbox: Running) -> None:
    sandbox.ok("POST", VOLUMES, volume("v"))
    sandbox.ok("POST", CLAIMS, claim("c", volumeName="v"))
    phase(sandbox, CLAIMS, "c", "Bound")
    sandbox.ok("DELETE", f"{VOLUMES}/v")
    phase(sandbox, CLAIMS, "c", "Lost")


def test_a_volume_kept_for_a_claim_that_took_another_is_free_again(sandbox: Running) -> None:
    sandbox.ok("POST", VOLUMES, volume("v"))
    made = sandbox.ok("POST", CLAIMS, claim("c"))
    phase(sandbox, CLAIMS, "c", "Bound")
    ref = {"namespace": "default", "name": "c", "uid": made["metadata"]["uid"]}
    other = volume("w", claimRef=ref)
    other["metadata"]["annotations"] = {"pv.kubernetes.io/bound-by-controller": "yes"}
    sandbox.ok("POST", VOLUMES, other)
    until(sandbox, VOLUMES, "w", lambda o: "claimRef" not in o["spec"])
    phase(sandbox, VOLUMES, "w", "Available")


def test_an_ephemeral_volume_has_a_claim_that_goes_with_its_pod(sandbox: Running) -> None:
    template = {"spec": claim("")["spec"] | {"storageClassName": "standard"}}
    scratch = [{"name": "s", "ephemeral": {"volumeClaimTemplate": template}}]
    made = sandbox.ok("POST", PODS, pod("p", volumes=scratch))
    owned = phase(sandbox, CLAIMS, "p-s", "Pending")
    (owner,) = owned["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (made["metadata"]["uid"], True)
    sandbox.ok("DELETE", f"{PODS}/p")
    until_there_is_none(sandbox, CLAIMS, "p-s")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(volume("v", capacity={"storage": "lots"}), id="a size that is none"),
        pytest.param(volume("v", claimRef="c"), id="a reference that is none"),
        pytest.param(volume("v", capacity="5Gi"), id="a capacity that is none"),
    ],
)
def test_what_cannot_be_read_stops_nothing(sandbox: Running, broken: dict[str, Any]) -> None:
    sandbox.call("POST", VOLUMES, broken)
    sandbox.call("POST", CLAIMS, claim("b", resources="none"))
    sandbox.ok("POST", VOLUMES, volume("w"))
    sandbox.ok("POST", CLAIMS, claim("c"))
    assert phase(sandbox, CLAIMS, "c", "Bound")["spec"]["volumeName"] == "w"
