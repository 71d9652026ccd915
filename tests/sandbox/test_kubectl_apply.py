"""kubectl apply --server-side: each field has an owner, and whoever takes another's is told so."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kubectl import Kubectl
from tests.sandbox.speaking import MERGE

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def applied(kubectl: Kubectl, body: dict[str, Any], *words: str) -> str:
    return kubectl("apply", "--server-side", "-f", "-", *words, stdin=body)


def owners(kubectl: Kubectl, path: str) -> list[tuple[str, str]]:
    meta = kubectl.sandbox.ok("GET", path)["metadata"]
    return [(one["manager"], one["operation"]) for one in meta["managedFields"]]


def test_what_one_applies_is_ones_own_and_goes_when_it_is_said_no_more(kubectl: Kubectl) -> None:
    assert applied(kubectl, config_map("own", a="1", b="2")) == "configmap/own serverside-applied\n"
    kept = kubectl.sandbox.ok("GET", f"{MAPS}/own")
    entry = kept["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("kubectl", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}
    assert "managedFields" not in kubectl("get", "cm", "own", "-o", "yaml")
    assert "managedFields" in kubectl("get", "cm", "own", "-o", "yaml", "--show-managed-fields")
    applied(kubectl, config_map("own", a="1", b="2"))
    version = kubectl.sandbox.ok("GET", f"{MAPS}/own")["metadata"]["resourceVersion"]
    assert version == kept["metadata"]["resourceVersion"], "nothing changed, nothing is written"
    applied(kubectl, config_map("own", b="3"))
    assert kubectl.sandbox.ok("GET", f"{MAPS}/own")["data"] == {"b": "3"}


def test_two_appliers_and_a_conflict(kubectl: Kubectl) -> None:
    applied(kubectl, config_map("two", a="1"), "--field-manager=one")
    applied(kubectl, config_map("two", b="1"), "--field-manager=other")
    assert kubectl.sandbox.ok("GET", f"{MAPS}/two")["data"] == {"a": "1", "b": "1"}
    words = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl.refused(*words, stdin=config_map("two", a="2", b="1"))
    said = 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert refused.splitlines()[0] == f"error: {said}"
    applied(kubectl, config_map("two", a="2", b="1"), "--field-manager=other", "--force-conflicts")
    assert owners(kubectl, f"{MAPS}/two") == [("other", "Apply")]
    applied(kubectl, config_map("two", a="2"), "--field-manager=one")
    assert owners(kubectl, f"{MAPS}/two") == [("other", "Apply"), ("one", "Apply")], "shared"
    applied(kubectl, config_map("two", b="1"), "--field-manager=other")
    assert kubectl.sandbox.ok("GET", f"{MAPS}/two")["data"] == {"a": "2", "b": "1"}


def test_an_update_takes_what_it_changes(kubectl: Kubectl) -> None:
    applied(kubectl, config_map("taken", a="1", b="1"))
    change = {"data": {"a": "9"}}
    kubectl.sandbox.ok("PATCH", f"{MAPS}/taken", change, form=MERGE, fieldManager="editor")
    assert owners(kubectl, f"{MAPS}/taken") == [("kubectl", "Apply"), ("editor", "Update")]
    refused = kubectl.refused(
        "apply", "--server-side", "-f", "-", stdin=config_map("taken", a="1", b="1")
    )
    assert 'Apply failed with 1 conflict: conflict with "editor" using v1' in refused
    applied(kubectl, config_map("taken", a="9", b="1"))


def test_what_was_there_before_anybody_applied(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "old", "--from-literal=a=1")
    words = ("apply", "--server-side", "-f", "-")
    refused = kubectl.refused(*words, stdin=config_map("old", a="2"))
    assert 'conflict with "before-first-apply" using v1' in refused


def test_lists_are_owned_item_by_item(kubectl: Kubectl) -> None:
    meta = {"labels": {"app": "a"}}
    containers = [{"name": "one", "image": "i"}, {"name": "two", "image": "i"}]
    template = {"metadata": meta, "spec": {"containers": containers}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    applied(kubectl, body)
    side = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    image = {"containers": [{"name": "two", "image": "j"}]}
    side["spec"] = {"template": {"spec": image}}
    refused = kubectl.refused(
        "apply", "--server-side", "--field-manager=x", "--validate=false", "-f", "-", stdin=side
    )
    assert '.spec.template.spec.containers[name="two"].image' in refused
    del containers[1]
    applied(kubectl, body)
    images = kubectl(
        "get", "deploy", "a", "-o", "jsonpath={.spec.template.spec.containers[*].name}"
    )
    assert images == "one"
    assert kubectl("scale", "deploy", "a", "--replicas=2") == "deployment.apps/a scaled\n"
    assert ".spec.replicas" in kubectl.refused("apply", "--server-side", "-f", "-", stdin=body)


def test_what_an_apply_must_say(kubectl: Kubectl) -> None:
    sandbox, form = kubectl.sandbox, "application/apply-patch+yaml"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: said}\ndata: {day: '2026-01-01'}\n"
    refused = sandbox.raw("PATCH", f"{MAPS}/said", text, form=form)
    assert (refused.status_code, refused.json()["reason"]) == (422, "Invalid")
    made = sandbox.raw("PATCH", f"{MAPS}/said", text, form=form, fieldManager="m")
    assert (made.status_code, made.json()["data"]) == (201, {"day": "2026-01-01"})
    other = text.replace("said", "other")
    assert (
        sandbox.raw("PATCH", f"{MAPS}/said", other, form=form, fieldManager="m").status_code == 400
    )
    unknown = text + "extra: 1\n"
    answer = sandbox.raw("PATCH", f"{MAPS}/said", unknown, form=form, fieldManager="m")
    assert answer.json()["message"] == (
        "failed to create typed patch object (/said; /v1, Kind=ConfigMap): "
        ".extra: field not declared in schema"
    )
    assert sandbox.raw("PATCH", f"{MAPS}/said", "{", form=form, fieldManager="m").status_code == 400
