"""Who may speak to which sandbox, and that they know nothing of each other."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import requests

from tests.sandbox.running import make, running, serving
from tests.sandbox.speaking import PODS, names, pod


def test_two_sandboxes_share_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        one, two = make(server, "one"), make(server, "two")
        one.ok("POST", PODS, pod("a"))
        two.ok("POST", PODS, pod("b"))
        assert names(one.ok("GET", PODS)) == ["a"]
        assert names(two.ok("GET", PODS)) == ["b"]
        one.token, two.token = two.token, one.token
        assert one.call("GET", PODS).status_code == 401
        assert two.call("POST", PODS, pod("c")).status_code == 401


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic Zm9vOmJhcg=="])
def test_without_the_token_nothing_is_told(tmp_path: Path, given: str) -> None:
    with running(tmp_path) as sandbox:
        for path in ("/api/v1/pods", "/version", "/api"):
            answer = requests.get(
                sandbox.url + path, headers={"Authorization": given} if given else {}, timeout=10
            )
            assert answer.status_code == 401
            assert answer.json()["reason"] == "Unauthorized"


def test_the_token_may_stand_in_the_path_and_opens_its_own_sandbox_only(tmp_path: Path) -> None:
    """kubectl sends no credentials without TLS: its kubeconfig has them in the server's path."""
    with serving(tmp_path) as server:
        one, two = make(server, "one"), make(server, "two")
        for sandbox, token, code in (
            (one, one.token, 200),
            (one, two.token, 401),
            (two, one.token, 401),
            (one, "", 401),
            (one, one.token[:-1], 401),
        ):
            answer = requests.get(f"{sandbox.url}/with/{token}{PODS}", timeout=10)
            assert answer.status_code == code
        headers = {"Authorization": f"Bearer {one.token}"}
        both = requests.get(f"{one.url}/with/wrong{PODS}", headers=headers, timeout=10)
        assert both.status_code == 401


def test_a_sandbox_token_makes_no_sandboxes(tmp_path: Path) -> None:
    with running(tmp_path) as sandbox:
        headers = {"Authorization": f"Bearer {sandbox.token}"}
        base = sandbox.url.rpartition("/")[0]
        answer = requests.put(f"{base}/other", json={}, headers=headers, timeout=10)
        assert answer.status_code == 401
        assert requests.delete(sandbox.url, headers=headers, timeout=10).status_code == 401


def test_secrets_are_the_users_own(tmp_path: Path) -> None:
    with running(tmp_path) as sandbox:
        for path in (sandbox.kubeconfig, tmp_path / "admin.token"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_making_a_sandbox_twice_is_making_it_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first = make(server)
        first.ok("POST", PODS, pod("a"))
        second = make(server)
        assert second.token == first.token
        assert names(second.ok("GET", PODS)) == ["a"]


def test_a_sandbox_is_removed(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        sandbox = make(server)
        sandbox.ok("POST", PODS, pod("a"))
        token = (tmp_path / "admin.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        assert requests.delete(sandbox.url, headers=headers, timeout=10).status_code == 200
        assert sandbox.call("GET", PODS).status_code == 404
        assert not sandbox.kubeconfig.exists()
        assert names(make(server).ok("GET", PODS)) == []


@pytest.mark.parametrize("name", ["a.b", "a%20b", "-a", "x" * 64])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with serving(tmp_path) as server:
        token = (tmp_path / "admin.token").read_text().strip()
        answer = requests.put(
            f"{server.url}/sandboxes/{name}",
            json={},
            headers={"Authorization": f"Bearer {token}"},
            timeout=10,
        )
        assert answer.status_code == 400


def test_an_unknown_scenario_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        token = (tmp_path / "admin.token").read_text().strip()
        answer = requests.put(
            f"{server.url}/sandboxes/a",
            json={"scenario": "nowhere"},
            headers={"Authorization": f"Bearer {token}"},
            timeout=10,
        )
        assert answer.status_code == 400
        assert "steady" in answer.json()["message"], "it names those that there are"


def test_health_needs_no_token(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert requests.get(f"{server.url}/healthz", timeout=10).text == "ok"
