"""How we prove who we are, and who the server is: certificates and exec plugins, over real TLS."""

from __future__ import annotations

import asyncio
import base64
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import trustme

from schedviz.cluster.client import ClusterClient, ClusterError
from schedviz.cluster.reflector import Reflector
from schedviz.kube.kinds import WATCHED
from schedviz.kube.objects import Node
from schedviz.scheduler.framework.steps import Change
from tests.cluster.faulty import FaultyServer, refuse

NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def server(authority: trustme.CA) -> AsyncIterator[FaultyServer]:
    """One that shows a certificate of the authority and wants one from its clients."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    async with FaultyServer(context) as one:
        yield one


def data(pem: trustme.Blob) -> str:
    return base64.b64encode(pem.bytes()).decode()


def certificate(authority: trustme.CA, name: str = "scheduler") -> dict[str, str]:
    """A user of a kubeconfig, with key and certificate in it."""
    issued = authority.issue_cert("user.example.org", common_name=name)
    return {
        "client-certificate-data": data(issued.cert_chain_pems[0]),
        "client-key-data": data(issued.private_key_pem),
    }


async def ask(path: str) -> Any:
    async with ClusterClient.from_kubeconfig(path) as client:
        return await client.request("GET", NODES)


async def test_a_client_certificate_is_shown_and_the_server_is_checked(
    server: FaultyServer, authority: trustme.CA, tmp_path: Path
) -> None:
    ca = {"certificate-authority-data": data(authority.cert_pem)}
    path = server.kubeconfig(tmp_path, user=certificate(authority), **ca)
    assert (await ask(path))["items"] == []
    assert server.callers == {"scheduler"}


async def test_certificates_may_lie_in_files(
    server: FaultyServer, authority: trustme.CA, tmp_path: Path
) -> None:
    issued = authority.issue_cert("user.example.org", common_name="from-files")
    files = {"ca.crt": authority.cert_pem, "u.crt": issued.cert_chain_pems[0]}
    for name, pem in {**files, "u.key": issued.private_key_pem}.items():
        pem.write_to_path(tmp_path / name)
    user = {"client-certificate": "u.crt", "client-key": "u.key"}
    path = server.kubeconfig(tmp_path, user=user, **{"certificate-authority": "ca.crt"})
    await ask(path)
    assert server.callers == {"from-files"}


async def test_the_informers_run_over_tls(
    server: FaultyServer, authority: trustme.CA, tmp_path: Path
) -> None:
    server.put(f"{NODES}/n1")
    ca = {"certificate-authority-data": data(authority.cert_pem)}
    path = server.kubeconfig(tmp_path, user=certificate(authority), **ca)
    seen: list[str] = []

    def emit(changes: list[Change]) -> None:
        seen.extend(one.new.name for one in changes if isinstance(one.new, Node))
        server.bell.ring()

    kind = next(one for one in WATCHED if one.kind == "Node")
    async with ClusterClient.from_kubeconfig(path) as client:
        task = asyncio.create_task(Reflector(client, kind, emit=emit).run())
        await server.bell.until(lambda: server.watched("nodes"))
        server.put(f"{NODES}/n2")
        await server.bell.until(lambda: seen == ["n1", "n2"])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert server.callers == {"scheduler"}


@pytest.mark.parametrize(
    ("trusts", "shows", "words"),
    [
        pytest.param("another", "own", "certificate verify failed", id="a server of another CA"),
        pytest.param("own", "another", "does not answer", id="a client of another CA"),
        pytest.param("own", "none", "does not answer", id="no client certificate"),
    ],
)
async def test_who_cannot_prove_it_is_not_spoken_to(
    server: FaultyServer, authority: trustme.CA, tmp_path: Path, trusts: str, shows: str, words: str
) -> None:
    other = trustme.CA()
    ca = {
        "certificate-authority-data": data((other if trusts == "another" else authority).cert_pem)
    }
    user = {"token": "t0"} if shows == "none" else None
    user = user or certificate(other if shows == "another" else authority)
    with pytest.raises(ClusterError, match=words) as caught:
        await ask(server.kubeconfig(tmp_path, user=user, **ca))
    assert caught.value.status == 0
    assert server.requests == []


# ---- exec plugins --------------------------------------------------------------------------------------------------


def exec_plugin(folder: Path, *, tokens: list[str], expires: str = "") -> dict[str, Any]:
    """A program that gives the next of the tokens each time, the last one for ever."""
    (folder / "tokens").write_bytes(orjson.dumps(tokens))
    status = {"token": "TOKEN"} | ({"expirationTimestamp": expires} if expires else {})
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": status,
    }
    program = folder / "plugin"
    program.write_text(
        f"#!{sys.executable}\nimport json, pathlib\n"
        f"kept = pathlib.Path({str(folder / 'tokens')!r})\n"
        "tokens = json.loads(kept.read_text())\n"
        "kept.write_text(json.dumps(tokens[1:] or tokens))\n"
        f"print({orjson.dumps(answer).decode()!r}.replace('TOKEN', tokens[0]))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(program),
            "interactiveMode": "Never",
        }
    }


async def test_an_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        await ask(server.kubeconfig(tmp_path, user=exec_plugin(tmp_path, tokens=["e1"])))
        assert server.tokens == {"Bearer e1"}


async def test_a_token_that_is_refused_is_fetched_anew(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        user = exec_plugin(tmp_path, tokens=["old", "new"])
        async with ClusterClient.from_kubeconfig(server.kubeconfig(tmp_path, user=user)) as client:
            server.faults.append(refuse(401, "Unauthorized"))
            with pytest.raises(ClusterError):
                await client.request("GET", NODES)
            await client.request("GET", NODES)
        assert server.tokens == {"Bearer old", "Bearer new"}


async def test_a_token_that_ran_out_is_fetched_before_it_is_used(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        user = exec_plugin(tmp_path, tokens=["old", "new"], expires="2020-01-01T00:00:00Z")
        await ask(server.kubeconfig(tmp_path, user=user))
        assert server.tokens == {"Bearer new"}


async def test_a_plugin_that_fails_is_named_and_its_output_is_not_repeated(tmp_path: Path) -> None:
    program = tmp_path / "plugin"
    program.write_text("#!/bin/sh\necho very-secret >&2\nexit 3\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(program),
            "interactiveMode": "Never",
        }
    }
    async with FaultyServer() as server:
        with pytest.raises(ClusterError, match="exec plugin gave no credentials") as caught:
            await ask(server.kubeconfig(tmp_path, user=user))
    assert "very-secret" not in str(caught.value)
