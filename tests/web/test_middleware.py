"""Who gets in without a login: nobody, save the demo's visitors from this machine."""

from __future__ import annotations

import pytest

from schedviz.web import auth
from schedviz.web.middleware import from_this_machine

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(settings):
    settings.DEMO = True
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "scheduling.example"]
    return auth.demo_operator()


def is_demo(client, **request):
    client.get("/accounts/password/", **request)
    return client.session.get("_auth_user_id") is not None


@pytest.mark.parametrize(
    ("request_", "gets_in"),
    [
        pytest.param({"HTTP_HOST": "localhost:8000"}, True, id="from loopback by name"),
        pytest.param({"HTTP_HOST": "127.0.0.1:8000"}, True, id="from loopback by address"),
        pytest.param(
            {"HTTP_HOST": "[::1]:8000", "REMOTE_ADDR": "::1"}, True, id="from IPv6 loopback"
        ),
        pytest.param(
            {"HTTP_HOST": "localhost", "REMOTE_ADDR": "10.0.0.7"}, False, id="from another machine"
        ),
        pytest.param({"HTTP_HOST": "scheduling.example"}, False, id="under another name"),
        pytest.param({"HTTP_HOST": "localhost", "REMOTE_ADDR": ""}, False, id="from nowhere"),
        pytest.param(
            {"HTTP_HOST": "localhost", "HTTP_X_FORWARDED_FOR": "10.0.0.7"},
            False,
            id="through a proxy on this machine",
        ),
    ],
)
def test_the_demo_logs_in(client, demo, request_, gets_in):
    assert is_demo(client, **request_) is gets_in


def test_no_demo_no_login(client):
    auth.demo_operator()
    assert not is_demo(client, HTTP_HOST="localhost")


def test_a_demo_operator_switched_off_stays_out(client, demo):
    demo.is_active = False
    demo.save()
    assert not is_demo(client, HTTP_HOST="localhost")


def test_a_host_that_is_not_ours_is_refused(client, demo):
    assert client.get("/accounts/login/", HTTP_HOST="evil.example").status_code == 400


@pytest.mark.parametrize("host", ["localhost.evil.example", "127.0.0.1.evil.example"])
def test_a_name_that_only_begins_like_ours_is_not_ours(rf, settings, host):
    settings.ALLOWED_HOSTS = ["*"]
    assert not from_this_machine(rf.get("/", HTTP_HOST=host))


def test_pages_ask_for_a_login(client):
    answer = client.get("/accounts/password/")
    assert answer.headers["Location"].startswith("/accounts/login/")


def test_a_part_of_a_page_leads_the_whole_page_to_the_login(client):
    answer = client.get("/accounts/password/", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == "/accounts/login/"


def test_headers_that_keep_browsers_safe(client):
    headers = client.get("/accounts/login/").headers
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
