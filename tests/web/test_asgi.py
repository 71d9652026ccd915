"""Whose websocket is let in: from our own pages, under a name that is ours, by who is logged in and may look."""

from __future__ import annotations

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.layers import get_channel_layer
from django.conf import settings
from django.test import Client

from schedviz.asgi import application
from tests.web import people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cookie(valkey):
    """Victor's login."""
    people.session()
    client = Client()
    client.force_login(people.victor())
    return f"{settings.SESSION_COOKIE_NAME}={client.session.session_key}".encode()


async def is_let_in(
    cookie: bytes, origin: bytes | None, path: str = "/ws/sessions/demo/board"
) -> bool:
    headers = [(b"host", b"localhost:8000"), (b"cookie", cookie)]
    if origin is not None:
        headers.append((b"origin", origin))
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers}
    link = ApplicationCommunicator(application, scope)
    await link.send_input({"type": "websocket.connect"})
    answer = await link.receive_output(20)
    await link.send_input({"type": "websocket.disconnect", "code": 1000})
    await link.wait(20)
    await get_channel_layer().flush()
    return answer["type"] == "websocket.accept"


@pytest.mark.parametrize(
    ("origin", "comes_in"),
    [
        pytest.param(b"http://localhost:8000", True, id="our own page"),
        pytest.param(b"http://evil.example", False, id="another site"),
        pytest.param(b"http://localhost.evil.example", False, id="a name that begins like ours"),
        pytest.param(b"null", False, id="a page without an origin"),
        pytest.param(None, False, id="no origin at all"),
    ],
)
async def test_origin(cookie, origin, comes_in):
    assert await is_let_in(cookie, origin) is comes_in


@pytest.mark.parametrize("cookie_", [b"", b"schedviz_session=made-up"])
async def test_a_stranger_stays_out(cookie, cookie_):
    assert not await is_let_in(cookie_, b"http://localhost:8000")


@pytest.mark.parametrize(
    "path", ["/ws/", "/ws/other", "/ws/sessions/nix/board", "/ws/sessions/demo\0/board", "/"]
)
async def test_at_other_addresses_there_is_nobody(cookie, path):
    assert not await is_let_in(cookie, b"http://localhost:8000", path)
