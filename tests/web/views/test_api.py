"""The API: the same words as on the pages, refusals as JSON, and a description that is true."""

from __future__ import annotations

import json

import pytest

from schedviz.web import findings
from schedviz.web.models import Finding, PodState
from tests.web import people, sample

pytestmark = pytest.mark.django_db
EXPLAIN = "/api/v1/sessions/demo/namespaces/team-a/pods/{}/explain"
OPENAPI = "/api/v1/openapi.json"


@pytest.fixture
def sent(monkeypatch):
    """What a worker is asked."""
    asked = []
    monkeypatch.setattr(
        findings.producer, "send_task", lambda name, args, **how: asked.append((name, args))
    )
    return asked


def test_a_pending_pod_is_explained(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(9):
        answer = viewer.get(EXPLAIN.format("pod-9"))
    said = answer.json()
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert (said["version"], said["pod"], said["lane"]) == (1, "team-a/pod-9", "backoff")
    assert said["certainty"] == "observed"
    assert said["clauses"][-1]["n_left"] == 0
    assert said["wakers"][0]["plugin"] == "NodeResourcesFit"
    assert said["retry_at"] == sample.NOW + 9 + 2
    assert said["changes"] is None


def test_changes_are_asked_for_once_and_there_when_found(viewer, session, sent):
    url = EXPLAIN.format("pod-10") + "?changes"
    assert viewer.get(url).json()["changes"]["state"] == "asked"
    assert viewer.get(url).json()["changes"]["state"] == "asked"
    pod = PodState.objects.get(uid="uid-10")
    assert sent == [(findings.TASK, [session.pk, pod.uid])]
    content = {"n_nodes": 6, "n_tried": 9, "passing": [], "changes": [], "refusal": ""}
    Finding.objects.update(at=sample.NOW, content=content)
    said = viewer.get(url).json()["changes"]
    assert (said["state"], said["certainty"], said["n_tried"]) == ("found", "recomputed", 9)
    assert len(sent) == 1


def test_of_a_bound_pod_no_changes_are_asked_for(viewer, session, sent):
    assert viewer.get(EXPLAIN.format("pod-1") + "?changes").json()["changes"] is None
    assert sent == []


@pytest.mark.parametrize(
    ("who", "url", "status", "words"),
    [
        pytest.param(None, EXPLAIN.format("pod-9"), 401, "log in", id="a stranger"),
        pytest.param(people.nemo, EXPLAIN.format("pod-9"), 403, "viewer", id="without a role"),
        pytest.param(people.victor, EXPLAIN.format("nobody"), 404, "knows no pod", id="no pod"),
        pytest.param(
            people.victor,
            "/api/v1/sessions/nowhere/namespaces/a/pods/b/explain",
            404,
            "no session",
            id="no session",
        ),
        pytest.param(None, OPENAPI, 401, "log in", id="a stranger asks for the description"),
    ],
)
def test_refusals_are_json(client, session, who, url, status, words):
    if who is not None:
        client.force_login(who())
    answer = client.get(url)
    said = answer.json()
    assert (answer.status_code, said["status"]) == (status, status)
    assert words in said["message"]


@pytest.mark.parametrize("url", [EXPLAIN.format("pod-9"), OPENAPI])
def test_it_only_reads(viewer, session, url):
    answer = viewer.post(url)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def resolved(schema: dict, document: dict) -> dict:
    if "$ref" not in schema:
        return schema
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]


TYPES = {"string": str, "integer": int, "number": int | float, "boolean": bool}


def is_valid(value, schema: dict, document: dict) -> bool:
    """As much of JSON Schema as the description uses."""
    schema = resolved(schema, document)
    for word, judge in (("allOf", all), ("anyOf", any), ("oneOf", any)):
        if word in schema:
            return judge(is_valid(value, one, document) for one in schema[word])
    kind = schema["type"]
    if kind == "null":
        return value is None
    if kind == "array":
        return isinstance(value, list) and all(
            is_valid(one, schema["items"], document) for one in value
        )
    if kind == "object":
        return (
            isinstance(value, dict)
            and set(schema["required"]) <= value.keys()
            and all(
                is_valid(value[name], one, document)
                for name, one in schema["properties"].items()
                if name in value
            )
        )
    return isinstance(value, TYPES[kind]) and value == schema.get("const", value)


@pytest.mark.parametrize("pod", ["pod-1", "pod-9", "pod-10"])
def test_answers_are_as_described(viewer, session, pod):
    document = viewer.get(OPENAPI).json()
    said = viewer.get(EXPLAIN.format(pod)).json()
    schema = document["components"]["schemas"]["Explanation"]
    assert is_valid(said, schema, document)
    assert said.keys() == set(schema["properties"])
    assert not is_valid(said | {"n_nodes": "many"}, schema, document)


def test_every_reference_of_the_description_leads_somewhere(viewer, session):
    document = viewer.get(OPENAPI).json()
    text = json.dumps(document)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= document["components"]["schemas"].keys()
    (path,) = document["paths"]
    asked = path.format(session="demo", namespace="team-a", pod="pod-9")
    assert viewer.get(asked).status_code == 200
