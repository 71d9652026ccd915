"""Extenders that we serve: who may ask, who may change them, what the pages show."""

from __future__ import annotations

import base64
import json

import pytest
from django.test import Client

from schedviz.web import actions
from schedviz.web.extender_log import KEPT, LOG
from schedviz.web.models import Audit, ExtenderRules
from schedviz.web.permissions import Shell
from tests.web import people

pytestmark = pytest.mark.django_db
RULES = "filter:\n- {deny: n2, reason: kept free}\n"
ASKED = {
    "Pod": {"metadata": {"name": "kubia", "namespace": "default"}},
    "Nodes": None,
    "NodeNames": ["n1", "n2"],
}


@pytest.fixture
def mine():
    actions.extender_save(Shell(), "mine", RULES)
    LOG.forget("mine")


def ask(client, verb="filter", body=ASKED, **headers):
    more = {"content_type": "application/json", "headers": headers, "REMOTE_ADDR": "127.0.0.1"}
    return client.post(f"/extender/mine/{verb}", body, **(more | {"HTTP_HOST": "localhost"}))


def test_it_works(client, mine, django_assert_max_num_queries):
    with django_assert_max_num_queries(1):
        answer = ask(client)
    assert answer.json()["NodeNames"] == ["n1"]
    assert answer.json()["FailedNodes"] == {"n2": "kept free"}
    client.force_login(people.victor())
    html = client.get("/extenders/mine/").content.decode()
    assert "default/kubia" in html and "kept free" in html and "n2" in html
    assert b"mine" in client.get("/extenders/").content


def test_asking_logs_nobody_in(client, mine, settings):
    settings.DEMO = True
    assert "schedviz_session" not in ask(client).cookies


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
def test_what_is_not_json_is_said(client, mine, verb):
    for body in ("{", "[]", '{"NodeNames": 5, "NodeNameToVictims": 5}'):
        answer = ask(client, verb, body)
        assert answer.status_code == (400 if body == "{" or verb == "prioritize" else 200)
        assert answer.json()["Error"].startswith("the request ")
    more = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost"}
    assert client.post(f"/extender/mine/{verb}", {"a": "b"}, **more).status_code == 415


def test_only_post_and_only_those_that_are_there(client, mine):
    assert client.get("/extender/mine/filter").status_code == 405
    assert ask(client, "other").status_code == 404
    more = {"content_type": "application/json", "HTTP_HOST": "localhost"}
    missing = client.post("/extender/none/filter", ASKED, **more)
    assert missing.status_code == 404


def elsewhere(client, **headers):
    more = {"REMOTE_ADDR": "10.1.2.3", "HTTP_HOST": "localhost", "headers": headers}
    return client.post("/extender/mine/filter", ASKED, content_type="application/json", **more)


def test_other_machines_need_the_token(client, mine, settings):
    assert elsewhere(client).status_code == 403
    assert elsewhere(client, Authorization="Bearer ").status_code == 403
    settings.EXTENDER_TOKEN = "long-secret"
    assert elsewhere(client).status_code == 403
    assert elsewhere(client, Authorization="Bearer wrong").status_code == 403
    assert elsewhere(client, Authorization="Bearer long-secret").status_code == 200
    pair = base64.b64encode(b"x:long-secret").decode()
    assert elsewhere(client, Authorization=f"Basic {pair}").status_code == 200
    assert elsewhere(client, Authorization="Basic ???").status_code == 403


def test_a_proxied_request_is_from_another_machine(client, mine):
    assert ask(client, **{"X-Forwarded-For": "10.1.2.3"}).status_code == 403


def test_admins_change_rules_and_others_see_them(client, mine):
    client.force_login(people.olga())
    assert "<textarea" not in client.get("/extenders/mine/").content.decode()
    assert client.post("/extenders/mine/save", {"text": ""}).status_code == 403
    assert client.post("/extenders/mine/delete").status_code == 403
    assert ExtenderRules.objects.get().text == RULES
    client.force_login(people.alice())
    assert client.post("/extenders/mine/save", {"text": "filter: []"}).status_code == 302
    assert ExtenderRules.objects.get().text == "filter: []"
    assert Audit.objects.filter(action="extender.edit", outcome="ok").count() == 2
    assert client.post("/extenders/new", {"name": "other"}).status_code == 302
    assert client.post("/extenders/other/delete").status_code == 302
    assert [one.name for one in ExtenderRules.objects.all()] == ["mine"]


def test_wrong_rules_are_kept_on_the_page_with_what_is_wrong(client, mine):
    client.force_login(people.alice())
    answer = client.post("/extenders/mine/save", {"text": "filter: [{deni: <b>}]"})
    assert answer.status_code == 422
    html = answer.content.decode()
    assert "filter[0].deni: not known here" in html
    assert "deni: &lt;b&gt;" in html
    assert client.post("/extenders/new", {"name": "No Name"}).status_code == 422
    assert ExtenderRules.objects.get().text == RULES


def test_the_page_is_sent_anew_only_when_somebody_asked(client, mine):
    client.force_login(people.victor())
    version = client.get("/extenders/mine/").context["version"]
    assert client.get(f"/extenders/mine/?known={version}").status_code == 204
    ask(Client())
    assert client.get(f"/extenders/mine/?known={version}").status_code == 200


def test_only_the_last_requests_are_kept_and_only_their_beginnings(client, mine):
    many = {**ASKED, "NodeNames": [f"node-{n}" for n in range(2000)]}
    for _ in range(KEPT + 5):
        ask(client, body=json.dumps(many))
    kept = LOG.of("mine")
    assert len(kept) == KEPT
    assert max(len(one.request) for one in kept) < 5000
