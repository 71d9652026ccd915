"""The client: credentials from a kubeconfig, and words that say what is wrong and never a token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from schedviz.cluster.client import ClusterClient, ClusterError
from tests.cluster.faulty import FaultyServer, refuse

TOKEN = "very-secret"


def config(**changes: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    } | changes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"clusters": []}, "names no clusters", id="no clusters"),
        pytest.param({"current-context": ""}, "current-context is empty", id="no context chosen"),
        pytest.param({"current-context": "y"}, "it has: x", id="a context that is not there"),
        pytest.param({"users": []}, "no entry named 'u'", id="a user that is not there"),
        pytest.param(
            {"clusters": [{"name": "c", "cluster": {"server": "here"}}]},
            "is not the http(s) URL",
            id="a server that is no URL",
        ),
    ],
)
def test_a_wrong_kubeconfig_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config(**changes)))
    with pytest.raises(ClusterError) as caught:
        ClusterClient.from_kubeconfig(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(None, "can't be read", id="no such file"),
        pytest.param("a: [", "is not YAML, line", id="no YAML"),
        pytest.param("hello", "is it a kubeconfig?", id="something else"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ClusterError, match="kubeconfig") as caught:
        ClusterClient.from_kubeconfig(str(path))
    assert words in str(caught.value)


async def test_the_token_is_sent(client: ClusterClient, server: FaultyServer) -> None:
    await client.request("GET", "/api/v1/nodes")
    assert server.tokens == {"Bearer t0"}


async def test_a_new_token_is_taken_up(
    client: ClusterClient, server: FaultyServer, tmp_path: Path
) -> None:
    server.kubeconfig(tmp_path, token="t1")
    server.faults.append(refuse(401, "Unauthorized"))
    with pytest.raises(ClusterError, match="renew them"):
        await client.request("GET", "/api/v1/nodes")
    await client.request("GET", "/api/v1/nodes")
    assert server.tokens == {"Bearer t0", "Bearer t1"}


async def test_the_servers_own_words_are_kept(client: ClusterClient, server: FaultyServer) -> None:
    server.faults.append(refuse(409, "Conflict", Retry_After="3"))
    with pytest.raises(ClusterError) as caught:
        await client.request("GET", "/api/v1/nodes")
    error = caught.value
    assert (error.status, error.reason, error.retry_after) == (409, "Conflict", 3.0)
    assert "no: Conflict" in str(error)


async def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config()))
    async with ClusterClient.from_kubeconfig(str(path)) as client:
        with pytest.raises(ClusterError, match=r"http://127.0.0.1:1 does not answer") as caught:
            await client.request("GET", "/api/v1/nodes")
    assert caught.value.status == 0


async def test_a_secret_in_the_servers_path_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    made = config()
    made["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:1/with/secret"
    path.write_text(yaml.safe_dump(made))
    async with ClusterClient.from_kubeconfig(str(path)) as client:
        with pytest.raises(ClusterError) as caught:
            await client.request("GET", "/api/v1/nodes")
    assert "http://127.0.0.1:1 does not answer" in str(caught.value)
    assert "secret" not in str(caught.value)
