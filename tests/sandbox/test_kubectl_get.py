"""kubectl asks: what there is, and the tables that the server prints for it."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.sandbox.kubectl import Kubectl, binary
from tests.sandbox.speaking import PODS, node, pod


@pytest.fixture(scope="module")
def there(kubectl: Kubectl) -> Kubectl:
    sandbox = kubectl.sandbox
    labels = {"node-role.kubernetes.io/worker": ""}
    made = node("n1") | {"metadata": {"name": "n1", "labels": labels}}
    sandbox.ok("POST", "/api/v1/nodes", made)
    sandbox.ok("POST", "/api/v1/nodes", node("n2", unschedulable=True))
    for name, app in (("b", "web"), ("a", "web"), ("c", "db")):
        sandbox.ok("POST", PODS, pod(name, labels={"app": app}))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    sandbox.ok("POST", path, {"metadata": {"name": "data"}, "spec": claim})
    event = {
        "metadata": {"name": "a.1"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
        "reason": "FailedScheduling",
        "type": "Warning",
        "message": "0/2 nodes are available",
        "source": {"component": "default-scheduler"},
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    sandbox.ok("POST", "/api/v1/namespaces/default/events", event)
    return kubectl


def test_what_there_is(there: Kubectl) -> None:
    assert "Server Version: v1.36" in there("version")
    assert "Kubernetes control plane is running at http://127.0.0.1" in there("cluster-info")
    rows = {row[0]: row[1:] for row in there.table("api-resources")}
    assert rows["pods"] == ["po", "v1", "true", "Pod"]
    assert rows["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert rows["runtimeclasses"] == ["node.k8s.io/v1", "false", "RuntimeClass"]
    assert rows["events"][1] == "events.k8s.io/v1"
    scaled = there("api-resources", "--api-group", "apps", "-o", "name").split()
    assert scaled == [
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
    ]


def test_what_there_is_not(there: Kubectl) -> None:
    assert there.refused("get", "widgets") == (
        'error: the server doesn\'t have a resource type "widgets"'
    )
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert 'no matches for kind "Widget" in version "example.com/v1"' in there.refused(
        "apply", "-f", "-", stdin=widget
    )
    assert there.refused("get", "pod", "nobody") == (
        'Error from server (NotFound): pods "nobody" not found'
    )


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        ("pods", "NAME READY STATUS RESTARTS AGE"),
        ("pods -o wide", "NAME READY STATUS RESTARTS AGE IP NODE|NOMINATED NODE|READINESS GATES"),
        ("nodes", "NAME STATUS ROLES AGE VERSION"),
        ("namespaces", "NAME STATUS AGE"),
        ("priorityclasses", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY"),
        ("events", "LAST SEEN|TYPE REASON OBJECT MESSAGE"),
        (
            "pvc",
            "NAME STATUS VOLUME CAPACITY ACCESS MODES|STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
        ),
        (
            "storageclasses",
            "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE",
        ),
    ],
)
def test_the_columns_of(there: Kubectl, words: str, columns: str) -> None:
    head = there("get", *words.split()).splitlines()[0]
    assert head.split() == columns.replace("|", " ").split()


def test_the_rows(there: Kubectl) -> None:
    rows = there.table("get", "pods", "--sort-by=.metadata.name")
    assert [row[:4] for row in rows[1:]] == [[n, "0/1", "Pending", "0"] for n in "abc"]
    assert [row[:3] for row in there.table("get", "nodes")[1:]] == [
        ["n1", "Ready", "worker"],
        ["n2", "Ready,SchedulingDisabled", "<none>"],
    ]
    claim = there.table("get", "pvc", "data")[1]
    assert claim[:4] == ["data", "Pending", "standard", "<unset>"]
    assert there.table("get", "sc")[1][0] == "standard (default)"
    assert there.table("get", "events")[1][1:] == [
        "Warning",
        "FailedScheduling",
        "pod/a",
        "0/2 nodes are available",
    ]


def test_one_asks_by_label_field_and_form(there: Kubectl) -> None:
    assert there("get", "pods", "-l", "app=web", "-o", "name").split() == ["pod/a", "pod/b"]
    assert there("get", "po", "--field-selector", "metadata.name=c", "-o", "name") == "pod/c\n"
    assert len(there.table("get", "pods", "-A")) == 4
    assert there.table("get", "pods", "-A")[1][:2] == ["default", "a"]
    path = "{.items[*].metadata.name}"
    assert there("get", "pods", "-o", f"jsonpath={path}") == "a b c"
    assert json.loads(there("get", "pod", "a", "-o", "json"))["kind"] == "Pod"
    assert "schedulerName: default-scheduler" in there("get", "pod", "a", "-o", "yaml")
    assert there.table("get", "pods", "-L", "app")[1][-1] == "web"
    assert len(there.table("get", "pods", "--chunk-size=1")) == 4
    assert there.table("get", "pods", "--show-labels")[1][-1] == "app=web"
    columns = "-o=custom-columns=N:.metadata.name,S:.spec.schedulerName"
    assert there.table("get", "pods", columns)[1] == ["a", "default-scheduler"]


def test_a_watch_prints_a_line_for_each_change(there: Kubectl) -> None:
    command = [str(binary()), "get", "pods", "-w", "--output-watch-events"]
    with subprocess.Popen(command, env=there.env(), stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        lines = [watch.stdout.readline().split() for _ in range(4)]
        there.sandbox.ok("POST", PODS, pod("later"))
        lines.append(watch.stdout.readline().split())
        there.sandbox.ok("DELETE", f"{PODS}/later")
        lines.append(watch.stdout.readline().split())
        watch.kill()
    assert lines[0][:4] == ["EVENT", "NAME", "READY", "STATUS"]
    assert [line[:2] for line in lines[4:]] == [["ADDED", "later"], ["DELETED", "later"]]
