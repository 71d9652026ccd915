"""Binding a pod to a node, and evicting it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.running import Running
from tests.sandbox.speaking import NODES, PODS, binding, node, pod

BINDING = f"{PODS}/a/binding"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def test_a_bound_pod_has_its_node_and_condition(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    answer = sandbox.ok("POST", BINDING, binding("a", "n1", annotations={"by": "test"}))
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    bound = sandbox.ok("GET", f"{PODS}/a")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"by": "test"}
    condition = next(c for c in bound["status"]["conditions"] if c["type"] == "PodScheduled")
    assert condition["status"] == "True"
    assert not condition.get("reason") and not condition.get("message")


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        pytest.param("3600", 400, id="denied while it is young"),
        pytest.param("0", 201, id="not denied"),
        pytest.param("long", 201, id="no number denies nothing"),
    ],
)
def test_a_binding_is_denied_as_a_webhook_would(sandbox: Running, seconds: str, status: int):
    young = pod("a")
    young["metadata"]["annotations"] = {"sandbox.schedviz.io/deny-binding-seconds": seconds}
    sandbox.ok("POST", PODS, young)
    answer = sandbox.call("POST", BINDING, binding("a", "n1"))
    assert answer.status_code == status
    assert ("denied the request" in answer.text) == (status == 400)


def test_the_condition_of_a_failed_attempt_is_replaced(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    failed = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available",
    }
    form = "application/strategic-merge-patch+json"
    sandbox.ok("PATCH", f"{PODS}/a/status", {"status": {"conditions": [failed]}}, form=form)
    sandbox.ok("POST", BINDING, binding("a", "n1"))
    conditions = sandbox.ok("GET", f"{PODS}/a")["status"]["conditions"]
    scheduled = [c for c in conditions if c["type"] == "PodScheduled"]
    assert [c["status"] for c in scheduled] == ["True"]
    assert not scheduled[0].get("reason")


def test_the_older_way_to_bind(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    sandbox.ok("POST", "/api/v1/namespaces/default/bindings", binding("a", "n1"))
    assert sandbox.ok("GET", f"{PODS}/a")["spec"]["nodeName"] == "n1"


def test_a_pod_is_bound_once(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    sandbox.ok("POST", BINDING, binding("a", "n1"))
    answer = sandbox.call("POST", BINDING, binding("a", "n2"))
    status = answer.json()
    assert (answer.status_code, status["reason"]) == (409, "Conflict")
    assert status["message"] == (
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"'
    )
    assert sandbox.ok("GET", f"{PODS}/a")["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("spec", "body", "code"),
    [
        pytest.param({}, binding("a", "n1", uid="somebody-else"), 409, id="another pod's uid"),
        pytest.param({}, binding("a", ""), 422, id="no node named"),
        pytest.param({}, {"metadata": {"name": "a"}}, 422, id="no target"),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/x"}]}, binding("a", "n1"), 409, id="gated"
        ),
        pytest.param({"nodeName": "n9"}, binding("a", "n1"), 409, id="placed by its maker"),
    ],
)
def test_a_binding_is_refused(sandbox: Running, spec: Any, body: Any, code: int) -> None:
    sandbox.ok("POST", PODS, pod("a", **spec))
    assert sandbox.call("POST", BINDING, body).status_code == code


def test_no_such_pod(sandbox: Running) -> None:
    assert sandbox.call("POST", BINDING, binding("a", "n1")).status_code == 404


def test_a_pod_on_its_way_out_is_not_bound(sandbox: Running) -> None:
    made = pod("a")
    made["metadata"]["finalizers"] = ["example.com/wait"]
    sandbox.ok("POST", PODS, made)
    sandbox.ok("DELETE", f"{PODS}/a")
    answer = sandbox.call("POST", BINDING, binding("a", "n1"))
    assert answer.status_code == 409
    assert "pod a is being deleted, cannot be assigned to a host" in answer.json()["message"]


def test_an_eviction_deletes(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    sandbox.ok("POST", f"{PODS}/a/eviction", eviction)
    assert sandbox.call("GET", f"{PODS}/a").status_code == 404


def test_a_disruption_budget_that_is_used_up_stops_an_eviction(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    sandbox.ok("POST", PODS, pod("a", labels={"app": "web"}))
    budget = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1},
    }
    made = sandbox.ok("POST", BUDGETS, budget)
    status = {"disruptionsAllowed": 0}
    sandbox.ok("PUT", f"{BUDGETS}/web/status", made | {"status": status})
    answer = sandbox.call("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    assert (answer.status_code, answer.json()["reason"]) == (429, "TooManyRequests")
    assert sandbox.ok("GET", f"{PODS}/a")["metadata"]["name"] == "a"
