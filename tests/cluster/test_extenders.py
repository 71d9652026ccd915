"""Calls to extenders over real HTTP: what comes back, and in which words it does not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedviz.cluster import extenders
from schedviz.cluster.extenders import Extenders
from schedviz.scheduler.config import from_object
from schedviz.scheduler.framework.steps import ExtenderAnswer, ExtenderCall
from tests.extending import FakeExtender, serving


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeExtender]:
    with serving(tmp_path_factory.mktemp("extender")) as one:
        yield one


@pytest.fixture
def extender(fake: FakeExtender) -> FakeExtender:
    for path in fake.folder.iterdir():
        path.unlink()
    return fake


def calling(url: str, body: bytes = b"{}", **fields: Any) -> ExtenderCall:
    raw = {"urlPrefix": url, "filterVerb": "filter", **fields}
    return ExtenderCall(from_object({"extenders": [raw]}).extenders[0], "filter", body)


async def call(url: str, **fields: Any) -> ExtenderAnswer:
    async with Extenders() as pools:
        return await pools.call(calling(url, **fields))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_the_body_goes_out_and_the_answer_comes_back(extender: FakeExtender) -> None:
    extender.says("filter", {"NodeNames": ["n1"]})
    answer = await call(f"{extender.url}/", body=b'{"Pod":null}')
    assert json.loads(answer.body) == {"NodeNames": ["n1"]}
    assert (answer.error, answer.seconds > 0) == ("", True)
    assert extender.asked() == [{"Pod": None}]


BROKEN = [
    pytest.param(
        {"status": 500},
        "failed filter with extender at URL {url}/filter, code 500",
        id="status 500",
    ),
    pytest.param(
        {"status": 302},
        "failed filter with extender at URL {url}/filter, code 302",
        id="a redirect is not followed",
    ),
    pytest.param(
        {"status": 201},
        "failed filter with extender at URL {url}/filter, code 201",
        id="any other success is none",
    ),
    pytest.param(
        {"seconds": 5},
        'Post "{url}/filter": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
        id="too slow",
    ),
    pytest.param({"raw": "half", "hang_up": True}, "unexpected EOF", id="closing in the middle"),
    pytest.param(
        {"raw": "0123456789abcdef" * 65536, "times": 40},
        "the answer is larger than 32 MiB",
        id="too large",
    ),
]


@pytest.mark.parametrize(("told", "said"), BROKEN)
async def test_what_a_broken_extender_does_is_told(
    extender: FakeExtender, told: dict[str, Any], said: str
) -> None:
    extender.says("filter", **told)
    answer = await call(extender.url, httpTimeout="700ms" if "seconds" in told else "20s")
    assert answer == ExtenderAnswer(b"", said.format(url=extender.url), answer.seconds)


async def test_a_port_where_nobody_listens() -> None:
    port = free_port()
    answer = await call(f"http://127.0.0.1:{port}")
    cause = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert answer.error == f'Post "http://127.0.0.1:{port}/filter": {cause}'


async def test_a_name_that_nobody_has() -> None:
    answer = await call("http://extender.invalid")
    cause = "dial tcp: lookup extender.invalid: no such host"
    assert answer.error == f'Post "http://extender.invalid/filter": {cause}'


async def test_credentials_are_sent_and_never_shown(extender: FakeExtender) -> None:
    extender.says("filter", {}, status=401)
    with_password = extender.url.replace("//", "//me:secret@")
    made = calling(with_password)
    answer = await call(with_password)
    assert answer.error == f"failed filter with extender at URL {extender.url}/filter, code 401"
    assert "secret" not in repr(made)
    (logged,) = (extender.folder / "asked.jsonl").read_text().splitlines()
    assert json.loads(logged)["authorization"].startswith("Basic ")


async def test_a_kept_connection_that_was_closed_is_no_failure() -> None:
    """The server closes each connection after its answer without having said so."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, seen = listening.getsockname()[1], []

        def serve() -> None:
            for _ in range(2):
                connection, _ = listening.accept()
                with connection:
                    seen.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve)
        thread.start()
        async with Extenders() as pools:
            made = calling(f"http://127.0.0.1:{port}")
            answers = [await pools.call(made) for _ in range(2)]
        thread.join(10)
    assert [one.error for one in answers] == ["", ""]


async def test_a_server_that_hangs_up_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = await call(f"http://127.0.0.1:{port}")
        thread.join(10)
    assert answer.error == f'Post "http://127.0.0.1:{port}/filter": EOF'


async def test_plain_http_behind_an_https_url(extender: FakeExtender) -> None:
    extender.says("filter", {})
    url = extender.url.replace("http://", "https://")
    answer = await call(url, enableHTTPS=True)
    said = "http: server gave HTTP response to HTTPS client"
    assert answer.error == f'Post "{url}/filter": {said}'


async def test_a_certificate_that_cannot_be_read(tmp_path: Path) -> None:
    url = "https://127.0.0.1:1"
    answer = await call(url, tlsConfig={"caFile": str(tmp_path / "none.pem")})
    assert answer.error == f'Post "{url}/filter": [Errno 2] No such file or directory'


def test_answers_have_room_for_thousands_of_whole_nodes() -> None:
    assert extenders.LARGEST_ANSWER >= 5000 * 6000
