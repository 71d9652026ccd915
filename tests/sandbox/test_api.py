"""Reading and writing objects over HTTP: what the server adds, what it refuses and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from schedviz.kube.kinds import KINDS, Kind
from tests.sandbox.running import Running
from tests.sandbox.speaking import (
    JSON_PATCH,
    MERGE,
    NODES,
    PODS,
    STRATEGIC,
    first,
    names,
    node,
    pod,
    watching,
)

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
CORE_EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def refused(answer: Any) -> tuple[int, str, str]:
    status = answer.json()
    assert status["kind"] == "Status" and status["status"] == "Failure", status
    assert status["code"] == answer.status_code
    return answer.status_code, status["reason"], status["message"]


# ---- every kind ----------------------------------------------------------------------------------------------------


CHANGING = (
    "Namespace",
    "PersistentVolume",
    "PodDisruptionBudget",
)  # the sandbox has more to say of them at once


@pytest.mark.parametrize("kind", [k for k in KINDS.values() if k.kind not in CHANGING], ids=str)
def test_a_kind_is_kept_and_read_back(sandbox: Running, kind: Kind) -> None:
    namespace = "default" if kind.namespaced else ""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}}
    made = sandbox.ok("POST", kind.path(namespace), body)
    assert (made["kind"], made["apiVersion"]) == (kind.kind, kind.api_version)
    assert made["metadata"]["uid"] and made["metadata"]["creationTimestamp"]
    assert sandbox.ok("GET", kind.path(namespace, "one")) == made
    listed = sandbox.ok("GET", kind.path())
    assert listed["kind"] == f"{kind.kind}List"
    assert "one" in names(listed)
    sandbox.ok("DELETE", kind.path(namespace, "one"))
    assert "one" not in names(sandbox.ok("GET", kind.path()))


def test_the_usual_namespaces_are_there(sandbox: Running) -> None:
    have = set(names(sandbox.ok("GET", "/api/v1/namespaces")))
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= have


# ---- create --------------------------------------------------------------------------------------------------------


def test_a_new_pod_gets_its_defaults(sandbox: Running) -> None:
    made = sandbox.ok("POST", PODS, pod("a") | {"status": {"phase": "Running"}})
    spec, status = made["spec"], made["status"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"
    assert spec["priority"] == 0
    assert status == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="asks for nothing"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="asks for cpu"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits only"),
        pytest.param(
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
            "Burstable",
            id="limits above requests",
        ),
    ],
)
def test_quality_of_service(sandbox: Running, resources: Any, expected: str) -> None:
    body = pod("a", containers=[{"name": "main", "resources": resources}])
    assert sandbox.ok("POST", PODS, body)["status"]["qosClass"] == expected


def test_priority_comes_from_the_class(sandbox: Running) -> None:
    sandbox.ok("POST", CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    body = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
    sandbox.ok("POST", CLASSES, body | {"preemptionPolicy": "Never"})
    high = sandbox.ok("POST", PODS, pod("a", priorityClassName="high"))["spec"]
    usual = sandbox.ok("POST", PODS, pod("b"))["spec"]
    system = sandbox.ok("POST", PODS, pod("c", priorityClassName="system-node-critical"))["spec"]
    assert (high["priority"], system["priority"]) == (1000, 2_000_001_000)
    assert (usual["priority"], usual["preemptionPolicy"]) == (7, "Never")
    assert usual["priorityClassName"] == "usual"


def test_an_unknown_priority_class_is_forbidden(sandbox: Running) -> None:
    answer = sandbox.call("POST", PODS, pod("a", priorityClassName="nobody"))
    expected = 'pods "a" is forbidden: no PriorityClass with name nobody was found'
    assert refused(answer) == (403, "Forbidden", expected)


def test_a_gated_pod_says_so(sandbox: Running) -> None:
    made = sandbox.ok("POST", PODS, pod("a", schedulingGates=[{"name": "example.com/wait"}]))
    condition = made["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"


def test_a_name_is_made_up_from_its_beginning(sandbox: Running) -> None:
    body = pod("") | {"metadata": {"generateName": "web-"}}
    made = [sandbox.ok("POST", PODS, body)["metadata"]["name"] for _ in range(20)]
    assert len(set(made)) == 20
    assert all(name.startswith("web-") and len(name) == 9 for name in made)


def test_a_malformed_quantity_may_enter(sandbox: Running) -> None:
    bad = [{"name": "main", "resources": {"requests": {"cpu": "plenty"}}}]
    assert sandbox.ok("POST", PODS, pod("a", containers=bad))["spec"]["containers"] == bad


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        pytest.param(PODS, {"metadata": {}}, (422, "Invalid"), id="no name"),
        pytest.param(PODS, {"metadata": {"name": "A_b"}}, (422, "Invalid"), id="no DNS name"),
        pytest.param(PODS, {"spec": {}}, (400, "BadRequest"), id="no metadata"),
        pytest.param(PODS, [1], (400, "BadRequest"), id="a list"),
        pytest.param(PODS, pod("a") | {"spec": [1]}, (400, "BadRequest"), id="spec is a list"),
        pytest.param(PODS, pod("a") | {"kind": "Node"}, (400, "BadRequest"), id="another kind"),
        pytest.param(PODS, pod("a", containers=3), (400, "BadRequest"), id="containers a number"),
        pytest.param(PODS, pod("a", labels={"a": 1}), (400, "BadRequest"), id="a number as label"),
        pytest.param(
            PODS, {"metadata": {"name": "a", "namespace": "b"}}, (400, "BadRequest"), id="elsewhere"
        ),
        pytest.param(
            "/api/v1/namespaces/nowhere/pods", pod("a"), (404, "NotFound"), id="no such namespace"
        ),
        pytest.param("/api/v1/things", {}, (404, "NotFound"), id="no such resource"),
        pytest.param("/apis/example.com/v1/things", {}, (404, "NotFound"), id="no such group"),
    ],
)  # fmt: skip
def test_what_can_not_be_created(
    sandbox: Running, path: str, body: Any, expected: tuple[int, str]
) -> None:
    assert refused(sandbox.call("POST", path, body))[:2] == expected


def test_a_name_is_taken(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    answer = sandbox.call("POST", PODS, pod("a"))
    assert refused(answer) == (409, "AlreadyExists", 'pods "a" already exists')


# ---- update and patch ----------------------------------------------------------------------------------------------


def test_versions_and_generations_grow(sandbox: Running) -> None:
    first = sandbox.ok("POST", NODES, node("n1"))
    changed = sandbox.ok("PUT", f"{NODES}/n1", first | {"spec": {"unschedulable": True}})
    version = int(changed["metadata"]["resourceVersion"])
    assert version > int(first["metadata"]["resourceVersion"])
    assert changed["metadata"]["uid"] == first["metadata"]["uid"]
    again = sandbox.ok("PUT", f"{NODES}/n1", changed)
    assert int(again["metadata"]["resourceVersion"]) == version, "nothing changed"


def test_an_old_version_can_not_be_written(sandbox: Running) -> None:
    first = sandbox.ok("POST", NODES, node("n1"))
    sandbox.ok("PUT", f"{NODES}/n1", first | {"spec": {"unschedulable": True}})
    answer = sandbox.call("PUT", f"{NODES}/n1", first | {"spec": {}})
    expected = (
        'Operation cannot be fulfilled on nodes "n1": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    assert refused(answer) == (409, "Conflict", expected)


def test_status_and_spec_are_written_apart(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    both = {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}, "status": {"phase": "x"}}
    spec_only = sandbox.ok("PATCH", f"{NODES}/n1", both, form=MERGE)
    assert spec_only["spec"] == {"unschedulable": True}
    assert "phase" not in spec_only["status"]
    both["spec"] = {"unschedulable": False}
    status_only = sandbox.ok("PATCH", f"{NODES}/n1/status", both, form=MERGE)
    assert status_only["spec"] == {"unschedulable": True}
    assert status_only["status"]["phase"] == "x"


def test_the_three_forms_of_a_patch(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a", labels={"a": "1", "b": "2"}))
    change = {"metadata": {"labels": {"a": None, "c": "3"}}}
    merged = sandbox.ok("PATCH", f"{PODS}/a", change, form=MERGE)
    assert merged["metadata"]["labels"] == {"b": "2", "c": "3"}
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    strategic = sandbox.ok("PATCH", f"{PODS}/a", image, form=STRATEGIC)
    assert strategic["spec"]["containers"] == [{"name": "main", "image": "other"}]
    steps = [{"op": "remove", "path": "/metadata/labels/b"}]
    stepwise = sandbox.ok("PATCH", f"{PODS}/a", steps, form=JSON_PATCH)
    assert stepwise["metadata"]["labels"] == {"c": "3"}
    assert refused(sandbox.call("PATCH", f"{PODS}/a", steps, form=JSON_PATCH))[:2] == (
        422,
        "Invalid",
    )
    unknown = sandbox.call("PATCH", f"{PODS}/a", change, form="text/plain")
    assert refused(unknown)[:2] == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    ("have", "change"),
    [
        pytest.param({}, {"nodeName": "n1"}, id="its node"),
        pytest.param({}, {"schedulerName": "mine"}, id="its scheduler"),
        pytest.param({}, {"nodeSelector": {"disk": "ssd"}}, id="its node selector"),
        pytest.param({}, {"schedulingGates": [{"name": "example.com/x"}]}, id="a new gate"),
        pytest.param({"tolerations": [{"key": "a"}]}, {"tolerations": []}, id="fewer tolerations"),
    ],
)
def test_a_pod_may_not_change(
    sandbox: Running, have: dict[str, Any], change: dict[str, Any]
) -> None:
    made = sandbox.ok("POST", PODS, pod("a", **have))
    answer = sandbox.call("PUT", f"{PODS}/a", made | {"spec": made["spec"] | change})
    assert refused(answer)[:2] == (422, "Invalid")


@pytest.mark.parametrize(
    ("have", "change"),
    [
        pytest.param({}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, id="a toleration"),
        pytest.param({}, {"activeDeadlineSeconds": 5}, id="its deadline"),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/x"}]}, {"schedulingGates": []}, id="no gate"
        ),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/x"}]},
            {"nodeSelector": {"disk": "ssd"}},
            id="its node selector while gated",
        ),
    ],
)
def test_a_pod_may_change(sandbox: Running, have: dict[str, Any], change: dict[str, Any]) -> None:
    made = sandbox.ok("POST", PODS, pod("a", **have))
    changed = sandbox.ok("PUT", f"{PODS}/a", made | {"spec": made["spec"] | change})
    for field, value in change.items():
        assert (changed["spec"].get(field) or []) == value
    assert changed["metadata"]["generation"] == 2


# ---- delete --------------------------------------------------------------------------------------------------------


def test_preconditions_of_a_delete(sandbox: Running) -> None:
    made = sandbox.ok("POST", PODS, pod("a"))
    wrong = {"preconditions": {"uid": "somebody-else"}}
    assert refused(sandbox.call("DELETE", f"{PODS}/a", wrong))[:2] == (409, "Conflict")
    old = {"preconditions": {"resourceVersion": "1"}}
    assert refused(sandbox.call("DELETE", f"{PODS}/a", old))[:2] == (409, "Conflict")
    right = {"preconditions": {"uid": made["metadata"]["uid"]}, "propagationPolicy": "Background"}
    sandbox.ok("DELETE", f"{PODS}/a", right)
    answer = sandbox.call("GET", f"{PODS}/a")
    assert refused(answer) == (404, "NotFound", 'pods "a" not found')


def test_a_finalizer_holds_an_object_back(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, {"metadata": {"name": "n1", "finalizers": ["example.com/wait"]}})
    sandbox.ok("DELETE", f"{NODES}/n1")
    assert sandbox.ok("GET", f"{NODES}/n1")["metadata"]["deletionTimestamp"]
    sandbox.ok("PATCH", f"{NODES}/n1", {"metadata": {"finalizers": None}}, form=MERGE)
    assert sandbox.call("GET", f"{NODES}/n1").status_code == 404


def test_a_collection_is_deleted_by_selector(sandbox: Running) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        sandbox.ok("POST", PODS, pod(name, labels={"app": app}))
    sandbox.ok("DELETE", PODS, labelSelector="app=web")
    assert names(sandbox.ok("GET", PODS)) == ["b"]


def test_a_namespace_takes_its_objects_along(sandbox: Running) -> None:
    sandbox.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    kept = pod("a")
    kept["metadata"]["finalizers"] = ["example.com/wait"]
    sandbox.ok("POST", "/api/v1/namespaces/shop/pods", kept)
    with watching(sandbox, "/api/v1/namespaces", fieldSelector="metadata.name=shop") as events:
        going = sandbox.ok("DELETE", "/api/v1/namespaces/shop")
        assert going["status"]["phase"] == "Terminating"
        late = sandbox.call("POST", "/api/v1/namespaces/shop/pods", pod("b"))
        why = "unable to create new content in namespace shop because it is being terminated"
        assert refused(late) == (403, "Forbidden", f'pods "b" is forbidden: {why}')
        gone = {"metadata": {"finalizers": None}}
        sandbox.ok("PATCH", "/api/v1/namespaces/shop/pods/a", gone, form=MERGE)
        first(events, lambda event: event["type"] == "DELETED")
    assert names(sandbox.ok("GET", "/api/v1/pods")) == []


def test_a_dry_run_keeps_nothing(sandbox: Running) -> None:
    made = sandbox.ok("POST", PODS, pod("a"), dryRun="All")
    assert made["spec"]["schedulerName"] == "default-scheduler"
    assert names(sandbox.ok("GET", PODS)) == []
    sandbox.ok("POST", PODS, pod("a"))
    sandbox.ok("DELETE", f"{PODS}/a", dryRun="All")
    assert names(sandbox.ok("GET", PODS)) == ["a"]


# ---- list ----------------------------------------------------------------------------------------------------------


def test_pages_of_one_list(sandbox: Running) -> None:
    for n in range(7):
        sandbox.ok("POST", PODS, pod(f"p-{n}"))
    seen: list[str] = []
    versions = set()
    query: dict[str, Any] = {"limit": 3}
    while True:
        page = sandbox.ok("GET", PODS, **query)
        seen += names(page)
        versions.add(page["metadata"]["resourceVersion"])
        if not page["metadata"].get("continue"):
            break
        query["continue"] = page["metadata"]["continue"]
    assert seen == [f"p-{n}" for n in range(7)]
    assert len(versions) == 1


def test_a_broken_continue_is_refused(sandbox: Running) -> None:
    answer = sandbox.call("GET", PODS, limit=3, **{"continue": "nonsense"})
    assert refused(answer)[:2] == (400, "BadRequest")


def test_a_list_of_one_namespace(sandbox: Running) -> None:
    sandbox.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    sandbox.ok("POST", "/api/v1/namespaces/shop/pods", pod("a", labels={"app": "web"}))
    sandbox.ok("POST", PODS, pod("b", labels={"app": "web"}))
    assert names(sandbox.ok("GET", PODS)) == ["b"]
    assert names(sandbox.ok("GET", "/api/v1/pods", labelSelector="app in (web)")) == ["b", "a"]
    only = sandbox.ok("GET", "/api/v1/pods", fieldSelector="metadata.namespace=shop")
    assert names(only) == ["a"]


# ---- events and discovery ------------------------------------------------------------------------------------------


def test_an_event_is_seen_through_both_apis(sandbox: Running) -> None:
    new = {
        "metadata": {"name": "e1"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "one",
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned default/a to n1",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "a"},
    }
    sandbox.ok("POST", NEW_EVENTS, new)
    core = sandbox.ok("GET", f"{CORE_EVENTS}/e1")
    assert core["apiVersion"] == "v1"
    assert core["message"] == new["note"]
    assert core["involvedObject"] == new["regarding"]
    assert core["reportingComponent"] == "default-scheduler"
    old = {
        "metadata": {"name": "e2"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/1 nodes are available",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "b"},
        "source": {"component": "somebody"},
    }
    sandbox.ok("POST", CORE_EVENTS, old)
    seen = sandbox.ok("GET", f"{NEW_EVENTS}/e2")
    assert seen["apiVersion"] == "events.k8s.io/v1"
    assert (seen["note"], seen["regarding"]) == (old["message"], old["involvedObject"])
    picked = sandbox.ok("GET", CORE_EVENTS, fieldSelector="involvedObject.name=b")
    assert names(picked) == ["e2"]
    assert names(sandbox.ok("GET", NEW_EVENTS, fieldSelector="regarding.name=a")) == ["e1"]


def test_discovery(sandbox: Running) -> None:
    assert sandbox.ok("GET", "/version")["minor"] == "36"
    assert sandbox.ok("GET", "/api")["versions"] == ["v1"]
    groups = {group["name"] for group in sandbox.ok("GET", "/apis")["groups"]}
    assert groups == {kind.group for kind in KINDS.values()} - {""}
    for kind in KINDS.values():
        path = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        listed = {one["name"]: one for one in sandbox.ok("GET", path)["resources"]}
        assert listed[kind.plural]["namespaced"] is kind.namespaced
        assert {"list", "watch", "create", "patch"} <= set(listed[kind.plural]["verbs"])
    core = {one["name"] for one in sandbox.ok("GET", "/api/v1")["resources"]}
    assert {"pods/status", "pods/binding", "pods/eviction"} <= core
