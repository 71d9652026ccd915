"""The kubelets that the sandbox plays: pods run where they are bound, end when they should, and go when deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedviz.sandbox import annotations, kubelet
from tests.sandbox import speaking
from tests.sandbox.running import Running, running
from tests.sandbox.speaking import MERGE, NODES, PODS, binding, first, node, pod, until, until_gone


def is_running(one: dict[str, Any]) -> bool:
    return bool(one["status"]["phase"] == "Running")


def bound(sandbox: Running, name: str, node_name: str = "n1", **annotations: str) -> dict[str, Any]:
    body = pod(name)
    body["metadata"]["annotations"] = {
        f"sandbox.schedviz.io/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    made = sandbox.ok("POST", PODS, body)
    sandbox.ok("POST", f"{PODS}/{name}/binding", binding(name, node_name))
    return dict(made)


def test_a_bound_pod_runs(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    bound(sandbox, "a")
    status = until(sandbox, PODS, "a", is_running)["status"]
    assert status["podIP"] and status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["startTime"]
    ready = {c["type"]: c["status"] for c in status["conditions"]}
    assert ready["PodScheduled"] == ready["Ready"] == ready["ContainersReady"] == "True"
    container = status["containerStatuses"][0]
    assert (container["name"], container["ready"]) == ("main", True)
    assert container["state"]["running"]["startedAt"]


def test_a_pod_that_its_maker_placed_runs_too(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    sandbox.ok("POST", PODS, pod("a", nodeName="n1"))
    until(sandbox, PODS, "a", is_running)


def test_on_an_unknown_node_a_pod_waits_for_it(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    bound(sandbox, "lost", "n9")
    bound(sandbox, "found", "n1")
    until(sandbox, PODS, "found", is_running)
    assert sandbox.ok("GET", f"{PODS}/lost")["status"]["phase"] == "Pending"
    sandbox.ok("POST", NODES, node("n9"))
    until(sandbox, PODS, "lost", is_running)


@pytest.mark.parametrize(
    ("run", "every", "left"),
    [
        pytest.param("", "", None, id="it runs until it is deleted"),
        pytest.param("20", "", 20.0, id="it ends when its time is up"),
        pytest.param("20", "15", 30.0, id="its end waits for the next full quarter of a minute"),
        pytest.param("15", "15", 15.0, id="which is now"),
        pytest.param("20", "0", 20.0, id="no rounding by nothing"),
        pytest.param("20", "-3", 20.0, id="nor by less than nothing"),
        pytest.param("soon", "15", None, id="no number"),
    ],
)
def test_how_long_a_pod_has_to_run(run, every, left, monkeypatch) -> None:
    monkeypatch.setattr(kubelet.time, "time", lambda: 1_800_000_000.0)
    one = pod("a")
    said = {annotations.RUN_SECONDS: run, annotations.END_EVERY_SECONDS: every}
    one["metadata"]["annotations"] = {key: value for key, value in said.items() if value}
    one["status"] = {"startTime": None}
    assert kubelet.seconds_left(one) == left


def test_a_pod_with_a_run_time_succeeds(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    bound(sandbox, "a", run_seconds="0.2")
    done = until(sandbox, PODS, "a", lambda one: one["status"]["phase"] == "Succeeded")
    ready = next(c for c in done["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")
    assert "terminated" in done["status"]["containerStatuses"][0]["state"]


def test_a_deleted_pod_goes_after_a_short_grace(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    bound(sandbox, "a")
    until(sandbox, PODS, "a", is_running)
    version = sandbox.ok("GET", PODS)["metadata"]["resourceVersion"]
    with speaking.watching(sandbox, PODS, resourceVersion=version) as events:
        answer = sandbox.ok("DELETE", f"{PODS}/a")
        assert answer["metadata"]["deletionTimestamp"]
        assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
        assert next(events)["type"] == "MODIFIED"
        first(events, lambda e: e["type"] == "DELETED")
    assert sandbox.call("GET", f"{PODS}/a").status_code == 404


def test_an_unbound_pod_goes_at_once(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    sandbox.ok("DELETE", f"{PODS}/a")
    assert sandbox.call("GET", f"{PODS}/a").status_code == 404


def test_without_grace_a_bound_pod_goes_at_once(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    bound(sandbox, "a")
    sandbox.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert sandbox.call("GET", f"{PODS}/a").status_code == 404


def test_a_node_is_ready(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))

    def is_ready(one: dict[str, Any]) -> bool:
        conditions = one["status"].get("conditions") or ()
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    until(sandbox, NODES, "n1", is_ready)


def test_what_was_due_is_done_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as sandbox:
        sandbox.ok("POST", NODES, node("n1"))
        bound(sandbox, "starting")
        bound(sandbox, "ending")
        sandbox.ok("DELETE", f"{PODS}/ending")
    with running(tmp_path) as sandbox:
        until(sandbox, PODS, "starting", is_running)
        if sandbox.call("GET", f"{PODS}/ending").status_code == 200:
            until_gone(sandbox, PODS, "ending")


def test_an_odd_run_time_does_no_harm(sandbox: Running) -> None:
    sandbox.ok("POST", NODES, node("n1"))
    for name, text in (("a", "soon"), ("b", "nan"), ("c", "-5"), ("d", "inf")):
        bound(sandbox, name, run_seconds=text)
    bound(sandbox, "e")
    until(sandbox, PODS, "e", is_running)
    sandbox.ok("PATCH", f"{PODS}/e", {"metadata": {"labels": {"x": "y"}}}, form=MERGE)
