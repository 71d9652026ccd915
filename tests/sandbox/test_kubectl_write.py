"""kubectl changes things: its verbs on pods and nodes, and what the server says where it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.kubectl import Kubectl
from tests.sandbox.speaking import PODS, node, pod


def manifest(kind: str, body: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, **body}


def made_node(kubectl: Kubectl, name: str) -> None:
    kubectl("create", "-f", "-", stdin=manifest("Node", node(name)))


def running_pod(kubectl: Kubectl, name: str, on: str, **labels: str) -> None:
    body = pod(name, labels=labels, nodeName=on)
    kubectl("create", "-f", "-", stdin=manifest("Pod", body))
    kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=10s")


# ---- create, apply, replace, patch, delete -------------------------------------------------------------------------


def test_create_apply_replace_and_delete(kubectl: Kubectl) -> None:
    body = manifest("Pod", pod("kubia", labels={"app": "a"}))
    assert kubectl("apply", "-f", "-", stdin=body) == "pod/kubia created\n"
    assert kubectl("apply", "-f", "-", stdin=body) == "pod/kubia unchanged\n"
    body["metadata"]["labels"] = {"tier": "b"}
    assert kubectl("apply", "-f", "-", stdin=body) == "pod/kubia configured\n"
    assert kubectl.json("get", "pod", "kubia")["metadata"]["labels"] == {"tier": "b"}
    assert kubectl.refused("create", "-f", "-", stdin=body).endswith('pods "kubia" already exists')
    body["spec"]["containers"][0]["image"] = "other"
    assert kubectl("replace", "-f", "-", stdin=body) == "pod/kubia replaced\n"
    body["spec"]["nodeSelector"] = {"a": "b"}
    assert "pod updates may not change fields other than" in kubectl.refused(
        "replace", "-f", "-", stdin=body
    )
    assert 'pod "kubia" deleted' in kubectl("delete", "pod", "kubia")
    assert "NotFound" in kubectl.refused("delete", "pod", "kubia")


@pytest.mark.parametrize(
    ("form", "patch"),
    [
        ("strategic", '{"metadata":{"labels":{"p":"strategic"}}}'),
        ("merge", '{"metadata":{"labels":{"p":"merge"}}}'),
        ("json", '[{"op":"add","path":"/metadata/labels/p","value":"json"}]'),
    ],
)
def test_patch(kubectl: Kubectl, form: str, patch: str) -> None:
    kubectl("run", f"patched-{form}", "--image=i", "--labels=a=b")
    words = ("patch", "pod", f"patched-{form}", "--type", form, "-p", patch)
    assert kubectl(*words) == f"pod/patched-{form} patched\n"
    assert kubectl(*words) == f"pod/patched-{form} patched (no change)\n"
    assert kubectl.json("get", "pod", f"patched-{form}")["metadata"]["labels"]["p"] == form


def test_run_label_annotate(kubectl: Kubectl) -> None:
    assert kubectl("run", "r", "--image=nginx") == "pod/r created\n"
    assert kubectl("label", "pod", "r", "a=b") == "pod/r labeled\n"
    assert "already has a value (b)" in kubectl.refused("label", "pod", "r", "a=c")
    assert kubectl("label", "pod", "r", "a-") == "pod/r unlabeled\n"
    assert kubectl("annotate", "pod", "r", "x=y") == "pod/r annotated\n"
    kept = kubectl.json("get", "pod", "r")["metadata"]
    assert (kept["labels"], kept["annotations"]) == ({"run": "r"}, {"x": "y"})


def test_a_rehearsal_keeps_nothing(kubectl: Kubectl) -> None:
    body = manifest("Pod", pod("dry"))
    assert kubectl("apply", "--dry-run=server", "-f", "-", stdin=body) == (
        "pod/dry created (server dry run)\n"
    )
    assert "NotFound" in kubectl.refused("get", "pod", "dry")


def test_all_of_them_at_once_and_by_force(kubectl: Kubectl) -> None:
    made_node(kubectl, "f1")
    for name in ("x1", "x2"):
        running_pod(kubectl, name, "f1", set="x")
    assert 'pod "x1" force deleted' in kubectl("delete", "pod", "x1", "--force", "--grace-period=0")
    assert "NotFound" in kubectl.refused("get", "pod", "x1")
    kubectl("delete", "pods", "--all")
    assert "No resources found" in kubectl.run("get", "pods").err


def test_a_field_that_is_not_there_is_refused(kubectl: Kubectl) -> None:
    body = manifest("Pod", pod("strict", nodeSelectors={"a": "b"}))
    body["spec"]["containers"][0]["imagee"] = "x"
    fields = 'unknown field "spec.containers[0].imagee", unknown field "spec.nodeSelectors"'
    assert kubectl.refused("create", "-f", "-", stdin=body) == (
        'Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot be '
        f"handled as a Pod: strict decoding error: {fields}"
    )
    told = kubectl.run("create", "--validate=warn", "-f", "-", stdin=body)
    assert (told.code, told.out) == (0, "pod/strict created\n")
    assert 'Warning: unknown field "spec.nodeSelectors"' in told.err


def test_a_field_that_is_given_twice_is_refused(kubectl: Kubectl) -> None:
    text = '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"m","name":"n"}]}}'
    answer = kubectl.sandbox.raw("POST", PODS, text, fieldValidation="Strict")
    assert answer.status_code == 400
    assert answer.json()["message"].endswith(
        'strict decoding error: duplicate field "spec.containers[0].name"'
    )


# ---- nodes ---------------------------------------------------------------------------------------------------------


def test_taint_cordon_uncordon(kubectl: Kubectl) -> None:
    made_node(kubectl, "t1")
    assert kubectl("taint", "node", "t1", "k=v:NoSchedule") == "node/t1 tainted\n"
    assert kubectl("taint", "node", "t1", "k-") == "node/t1 untainted\n"
    assert kubectl("cordon", "t1") == "node/t1 cordoned\n"
    assert kubectl.table("get", "node", "t1")[1][1] == "Ready,SchedulingDisabled"
    assert kubectl("uncordon", "t1") == "node/t1 uncordoned\n"
    assert kubectl.table("get", "node", "t1")[1][1] == "Ready"


def test_describe(kubectl: Kubectl) -> None:
    made_node(kubectl, "d1")
    running_pod(kubectl, "described", "d1")
    node_text, pod_text = kubectl("describe", "node", "d1"), kubectl("describe", "pod", "described")
    assert "Non-terminated Pods:" in node_text and "described" in node_text
    assert "Status:           Running" in pod_text or "Status:       Running" in pod_text
    assert "Events:" in pod_text


# ---- schemas -------------------------------------------------------------------------------------------------------


def test_explain(kubectl: Kubectl) -> None:
    told = kubectl("explain", "pod.spec")
    assert "FIELD: spec <PodSpec>" in told and "containers\t<[]Container> -required-" in told
    told = kubectl("explain", "deployment.spec.strategy.rollingUpdate.maxSurge")
    assert "GROUP:      apps" in told and "FIELD: maxSurge <IntOrString>" in told
    assert "<map[string]Quantity>" in kubectl("explain", "node.status")
    assert "does not exist" in kubectl.refused("explain", "pod.spec.nothing")
