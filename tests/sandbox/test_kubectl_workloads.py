"""kubectl and the controllers: workloads get their pods, roll, scale, and go with all that is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox.kubectl import Kubectl
from tests.sandbox.speaking import node, pod, until

IMAGE = {"name": "main", "image": "luksa/kubia"}


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """Its pods are bound already: there is no scheduler here."""
    version = "batch/v1" if kind == "Job" else "apps/v1"
    meta = {"labels": {"app": name}}
    template = {"metadata": meta, "spec": {"nodeName": "n1", "containers": [IMAGE]}}
    chosen = {} if kind == "Job" else {"selector": {"matchLabels": {"app": name}}}
    held = {"template": template, **chosen, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": held}


def count(kubectl: Kubectl, what: str, app: str) -> int:
    return len(kubectl("get", what, "-l", f"app={app}", "-o", "name").split())


@pytest.fixture(autouse=True)
def nodes(kubectl: Kubectl) -> Iterator[None]:
    for name in ("n1", "n2"):
        if kubectl.sandbox.call("GET", f"/api/v1/nodes/{name}").status_code == 404:
            kubectl.sandbox.ok("POST", "/api/v1/nodes", node(name))
    yield


def test_a_deployment_rolls_scales_and_goes_back(kubectl: Kubectl) -> None:
    made = workload("Deployment", "web", replicas=3)
    assert kubectl("apply", "-f", "-", stdin=made) == "deployment.apps/web created\n"
    wait = ("rollout", "status", "deploy/web", "--timeout=15s")
    assert kubectl(*wait).endswith('deployment "web" successfully rolled out\n')
    assert kubectl.table("get", "deploy", "web")[1][:4] == ["web", "3/3", "3", "3"]
    assert kubectl("scale", "deploy", "web", "--replicas=4") == "deployment.apps/web scaled\n"
    kubectl(*wait)
    assert count(kubectl, "pods", "web") == 4
    kubectl("set", "image", "deploy/web", "main=other")
    kubectl(*wait)
    sets = kubectl.json("get", "rs", "-l", "app=web")["items"]
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]
    assert "rolled back" in kubectl("rollout", "undo", "deploy/web")
    kubectl(*wait)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec..image}") == "luksa/kubia"
    assert count(kubectl, "rs", "web") == 2, "the set of the template that was there before"
    history = kubectl.table("rollout", "history", "deploy/web")
    assert [row[0] for row in history[2:]] == ["2", "3"]
    kubectl("delete", "deploy", "web", "--cascade=foreground")
    assert count(kubectl, "rs,pods", "web") == 0


def test_create_deployment_and_expose(kubectl: Kubectl) -> None:
    words = ("create", "deployment", "shop", "--image=nginx", "--replicas=2", "--port=80")
    assert kubectl(*words) == "deployment.apps/shop created\n"
    assert kubectl("expose", "deployment", "shop", "--port=80") == "service/shop exposed\n"
    row = kubectl.table("get", "svc", "shop")[1]
    assert row[1] == "ClusterIP" and row[2].startswith("10.96.") and row[4] == "80/TCP"
    kubectl("delete", "deploy,svc", "shop")


def test_a_replica_set_keeps_its_number(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=workload("ReplicaSet", "keeps", replicas=2))
    path = "/apis/apps/v1/namespaces/default/replicasets"
    sandbox = kubectl.sandbox
    until(sandbox, path, "keeps", lambda one: one.get("status", {}).get("readyReplicas") == 2)
    first = kubectl("get", "pods", "-l", "app=keeps", "-o", "name").split()[0]
    kubectl("delete", first, "--force", "--grace-period=0")
    until(sandbox, path, "keeps", lambda one: one["status"].get("readyReplicas") == 2)
    assert count(kubectl, "pods", "keeps") == 2
    kubectl("delete", "rs", "keeps", "--cascade=orphan")
    assert count(kubectl, "pods", "keeps") == 2
    orphan = kubectl.json("get", "pods", "-l", "app=keeps")["items"][0]["metadata"]
    assert not orphan.get("ownerReferences")
    kubectl("delete", "pods", "-l", "app=keeps", "--force", "--grace-period=0")


def test_a_stateful_set_has_names_and_claims(kubectl: Kubectl) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": claim}]
    made = workload("StatefulSet", "db", replicas=2, serviceName="db", volumeClaimTemplates=claims)
    kubectl("create", "-f", "-", stdin=made)
    kubectl("rollout", "status", "sts/db", "--timeout=15s")
    pods = kubectl("get", "pods", "-l", "app=db", "-o", "name").split()
    assert pods == ["pod/db-0", "pod/db-1"]
    kept = kubectl("get", "pvc", "-l", "app=db", "-o", "name").split()
    assert [one.partition("/")[2] for one in kept] == ["data-db-0", "data-db-1"]
    kubectl("scale", "sts", "db", "--replicas=1")
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    until(kubectl.sandbox, path, "db", lambda one: one["status"]["replicas"] == 1)
    assert len(kubectl("get", "pvc", "-l", "app=db", "-o", "name").split()) == 2
    kubectl("delete", "sts", "db")


def test_a_daemon_set_has_a_pod_for_each_node_that_it_may_run_on(kubectl: Kubectl) -> None:
    made = workload("DaemonSet", "agent")
    del made["spec"]["template"]["spec"]["nodeName"]
    kubectl("taint", "node", "n2", "only=others:NoSchedule")
    kubectl("create", "-f", "-", stdin=made)
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    wanted = "desiredNumberScheduled"
    sandbox = kubectl.sandbox
    until(sandbox, path, "agent", lambda one: one.get("status", {}).get(wanted) == 1)
    kubectl("taint", "node", "n2", "only-")
    until(sandbox, path, "agent", lambda one: one["status"].get(wanted) == 2)
    pods = kubectl.json("get", "pods", "-l", "app=agent")["items"]
    terms = "requiredDuringSchedulingIgnoredDuringExecution"
    fields = [
        one["spec"]["affinity"]["nodeAffinity"][terms]["nodeSelectorTerms"][0]["matchFields"][0]
        for one in pods
    ]
    assert sorted(field["values"][0] for field in fields) == ["n1", "n2"]
    kubectl("delete", "ds", "agent")


def test_a_job_ends_when_its_pods_have_ended(kubectl: Kubectl) -> None:
    made = workload("Job", "sums", completions=2, parallelism=2)
    spec = made["spec"]["template"]
    spec["spec"]["restartPolicy"] = "Never"
    spec["metadata"]["annotations"] = {"sandbox.schedviz.io/run-seconds": "0.1"}
    kubectl("create", "-f", "-", stdin=made)
    assert "condition met" in kubectl(
        "wait", "--for=condition=complete", "job/sums", "--timeout=15s"
    )
    assert kubectl.table("get", "job", "sums")[1][:3] == ["sums", "Complete", "2/2"]
    kubectl("delete", "job", "sums")


CREATED = {
    "configmap c --from-literal=a=b": "configmap/c created",
    "job j --image=i": "job.batch/j created",
    "quota q --hard=cpu=1": "resourcequota/q created",
    "pdb p --selector=app=x --min-available=50%": "poddisruptionbudget.policy/p created",
    "priorityclass high --value=5": "priorityclass.scheduling.k8s.io/high created",
    "secret generic s --from-literal=a=b": "secret/s created",
    "serviceaccount me": "serviceaccount/me created",
    "service clusterip s --tcp=80": "service/s created",
}


def test_create_by_words(kubectl: Kubectl) -> None:
    """These go over the wire as protobuf."""
    for words, said in CREATED.items():
        assert kubectl("create", *words.split()) == said + "\n"
    assert kubectl("get", "cm", "c", "-o", "jsonpath={.data.a}") == "b"
    assert kubectl("get", "secret", "s", "-o", "jsonpath={.data.a}") == "Yg=="
    assert kubectl("get", "pdb", "p", "-o", "jsonpath={.spec.minAvailable}") == "50%"
    assert kubectl("get", "pc", "high", "-o", "jsonpath={.value}") == "5"
    assert kubectl("get", "quota", "q", "-o", "jsonpath={.spec.hard.cpu}") == "1"
    kubectl("delete", "job", "j")


def test_what_is_refused(kubectl: Kubectl) -> None:
    made = workload("Deployment", "bad")
    made["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    assert kubectl.refused("create", "-f", "-", stdin=made) == (
        'The Deployment "bad" is invalid: spec.template.metadata.labels: Invalid value: '
        '{"app":"bad"}: `selector` does not match template `labels`'
    )
    kubectl("create", "-f", "-", stdin=workload("ReplicaSet", "fixed", replicas=0))
    change = '{"spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}}}}}'
    assert "field is immutable" in kubectl.refused(
        "patch", "rs", "fixed", "--type=merge", "-p", change
    )
    assert "could not find the requested resource" in kubectl.refused(
        "scale", "node/n1", "--replicas=1"
    )


def test_a_namespace_goes_with_all_that_is_in_it(kubectl: Kubectl) -> None:
    assert kubectl("create", "namespace", "team") == "namespace/team created\n"
    kubectl("-n", "team", "create", "configmap", "c", "--from-literal=a=b")
    made = workload("Deployment", "web") | {"metadata": {"name": "web", "namespace": "team"}}
    kubectl("apply", "-f", "-", stdin=made)
    assert kubectl("delete", "namespace", "team", "--timeout=20s").startswith(
        'namespace "team" deleted'
    )
    assert "NotFound" in kubectl.refused("get", "ns", "team")
    assert "No resources found" in kubectl.run("get", "pods", "-n", "team").err


def test_a_drain_heeds_disruption_budgets(kubectl: Kubectl) -> None:
    sandbox = kubectl.sandbox
    sandbox.ok("POST", "/api/v1/nodes", node("drained"))
    for name in ("guarded", "free"):
        body = pod(name, labels={"app": name}, nodeName="drained")
        sandbox.ok("POST", "/api/v1/namespaces/default/pods", body)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    sandbox.ok("POST", budgets, {"metadata": {"name": "guard"}, "spec": spec})
    until(sandbox, budgets, "guard", lambda one: one.get("status", {}).get("currentHealthy") == 1)
    assert kubectl.table("get", "pdb", "guard")[1][:4] == ["guard", "1", "N/A", "0"]
    said = kubectl.refused("drain", "drained", "--force", "--timeout=3s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in said
    assert "NotFound" in kubectl.refused("get", "pod", "free")
    kubectl("delete", "pdb", "guard")
    assert kubectl("drain", "drained", "--force").endswith("node/drained drained\n")
    kubectl("delete", "node", "drained")
