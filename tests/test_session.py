"""A session from the watch to the bind: a real sandbox over HTTP, the real scheduler, a sink that keeps all of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from schedviz.cluster.client import ClusterClient
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import Command, Lane, Outcome
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from schedviz.session import Batch, Fenced, RestoredPod, Session
from tests.sandbox.running import Running, running


class KeepingSink:
    """Keeps every batch; `until` waits for something to be true of them."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.fenced = False
        self._turn = threading.Condition()

    def commit(self, batch: Batch) -> None:
        if self.fenced:
            raise Fenced("the lease is another's")
        with self._turn:
            self.batches.append(batch)
            self._turn.notify_all()

    def until(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        with self._turn:
            assert self._turn.wait_for(holds, seconds), "it did not happen in time"

    def lane(self, name: str) -> str:
        views = [v for b in self.batches for v in b.pods.values() if v.name == name]
        return str(views[-1].lane) if views else ""

    def message(self, name: str) -> str:
        return [v for b in self.batches for v in b.pods.values() if v.name == name][-1].message


@contextlib.contextmanager
def session(
    sandbox: Running,
    sink: KeepingSink,
    restored: Iterable[RestoredPod] = (),
    profiles: dict[str, Framework] | None = None,
) -> Iterator[Session]:
    made = Session(
        client=ClusterClient.from_kubeconfig(str(sandbox.kubeconfig)),
        scheduler=Scheduler(profiles or {"default-scheduler": default_profile()}, seed=1),
        sink=sink,
        restored=restored,
    )
    stop = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            made.run(stop)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        thread.join(15)
        assert not thread.is_alive()
    made_failed = [error for error in raised if not isinstance(error, Fenced)]
    assert not made_failed, made_failed


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, scenario="ceph") as one:
        yield one


def pod(name: str, **spec: object) -> dict[str, object]:
    container = {"name": "main", "image": "luksa/kubia", "resources": {"requests": {"cpu": "10m"}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


PODS = "/api/v1/namespaces/default/pods"


def test_pods_are_bound_once_and_their_record_is_first(sandbox: Running) -> None:
    sink = KeepingSink()
    with session(sandbox, sink):
        for n in range(100):
            sandbox.ok("POST", PODS, pod(f"p-{n}"))
        sink.until(
            lambda: sum(u.outcome is Outcome.BOUND for b in sink.batches for u in b.updates) == 100
        )
    pods = sandbox.ok("GET", PODS)["items"]
    assert {p["spec"].get("nodeName") for p in pods} <= {"ceph1", "ceph2", "ceph3"}
    recorded = [c for b in sink.batches for c in b.cycles]
    assert {c.pod.name: c.chosen for c in recorded} == {
        p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods
    }
    assert all(len(c.step_durations) == len(c.steps) for c in recorded)
    closed = [u for b in sink.batches for u in b.updates]
    assert all(len(u.binding_durations) == len(u.binding_steps) > 0 for u in closed)
    assert all(u.binding_durations[0] > 0 for u in closed)


def test_a_pod_that_fits_nowhere_says_why_and_is_bound_when_a_node_comes(sandbox: Running) -> None:
    sink = KeepingSink()
    with session(sandbox, sink):
        sandbox.ok("POST", PODS, pod("picky", nodeSelector={"disk": "ssd"}))
        sink.until(lambda: sink.lane("picky") == Lane.UNSCHEDULABLE)
        words = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
        assert sink.message("picky").startswith(f"{words} no new claims to deallocate")
        sandbox.ok(
            "PATCH",
            "/api/v1/nodes/ceph2",
            {"metadata": {"labels": {"disk": "ssd"}}},
            form="application/merge-patch+json",
        )
        sink.until(lambda: sink.lane("picky") == Lane.BOUND)
    events = sandbox.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    assert {"FailedScheduling", "Scheduled"} == {e["reason"] for e in events}
    assert sandbox.ok("GET", f"{PODS}/picky")["spec"]["nodeName"] == "ceph2"


def test_a_malformed_pod_is_shown_and_the_others_go_on(sandbox: Running) -> None:
    sink = KeepingSink()
    broken = pod("broken")
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"  # type: ignore[index]
    with session(sandbox, sink):
        sandbox.ok("POST", PODS, broken)
        sandbox.ok("POST", PODS, pod("good"))
        sink.until(lambda: sink.lane("good") == Lane.BOUND)
        sink.until(lambda: sink.lane("broken") == Lane.MALFORMED)
        views = [v for b in sink.batches for v in b.pods.values() if v.name == "broken"]
        assert "spec.containers[0].resources" in views[-1].message
        sandbox.ok("DELETE", f"{PODS}/broken")
        sink.until(lambda: sink.lane("broken") == Lane.GONE)


def test_an_operator_retries_a_waiting_pod(sandbox: Running) -> None:
    sink = KeepingSink()
    with session(sandbox, sink) as made:
        sandbox.ok("POST", PODS, pod("picky", nodeSelector={"disk": "ssd"}))
        sink.until(lambda: sink.lane("picky") == Lane.UNSCHEDULABLE)
        uid = sandbox.ok("GET", f"{PODS}/picky")["metadata"]["uid"]
        made.submit(Command(7, "retry", {"uid": uid}, "alice"))
        sink.until(lambda: any(r.command_id == 7 for b in sink.batches for r in b.results))
        sink.until(lambda: sum(len(b.cycles) for b in sink.batches) == 2)
    result = next(r for b in sink.batches for r in b.results)
    assert result.ok and result.before["lane"] == "unschedulable"
    assert any(m.cause == "Command/retry" for b in sink.batches for m in b.moves)


def test_a_lost_lease_ends_it_before_anything_is_bound(sandbox: Running) -> None:
    sink = KeepingSink()
    sink.fenced = True
    sandbox.ok("POST", PODS, pod("p"))
    with session(sandbox, sink):
        pass
    assert "nodeName" not in sandbox.ok("GET", f"{PODS}/p")["spec"]


def test_what_was_deleted_while_nobody_looked_is_gone_and_the_rest_stays(sandbox: Running) -> None:
    broken = pod("broken")
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"  # type: ignore[index]
    there = {
        body["metadata"]["name"]: sandbox.ok("POST", PODS, body)["metadata"]["uid"]  # type: ignore[index]
        for body in (
            pod("bound", nodeName="ceph1"),
            pod("gated", schedulingGates=[{"name": "g"}]),
            broken,
        )
    }
    lanes = {"bound": Lane.BOUND, "gated": Lane.GATED, "broken": Lane.MALFORMED}
    known = [RestoredPod(uid, "default", name, lanes[name]) for name, uid in there.items()]
    known += [RestoredPod(f"u-{lane}", "default", f"old-{lane}", lane) for lane in lanes.values()]
    sink = KeepingSink()
    with session(sandbox, sink, known):
        sink.until(lambda: all(sink.lane(f"old-{lane}") == Lane.GONE for lane in lanes.values()))
        sandbox.ok("POST", PODS, pod("last"))
        sink.until(lambda: sink.lane("last") == Lane.BOUND)
    assert {name: sink.lane(name) for name in ("gated", "broken")} == {
        "gated": Lane.GATED,
        "broken": Lane.MALFORMED,
    }
    moves = {m.pod.name: m for b in sink.batches for m in b.moves if m.target is Lane.GONE}
    assert sorted(moves) == sorted(f"old-{lane}" for lane in lanes.values())
    assert {(m.source, m.cause) for m in moves.values()} == {
        (lane, "DeletedUnseen") for lane in lanes.values()
    }
    assert sink.batches[-1].counters["bound"] == 2, "bound and last"


class MeddlingSink(KeepingSink):
    """Binds each recorded pod to another node before its own Bind may be sent."""

    def __init__(self, sandbox: Running, node_name: str) -> None:
        super().__init__()
        self._sandbox, self._node_name = sandbox, node_name

    def commit(self, batch: Batch) -> None:
        for cycle in batch.cycles:
            target = {"apiVersion": "v1", "kind": "Node", "name": self._node_name}
            body = {"metadata": {"name": cycle.pod.name}, "target": target}
            self._sandbox.ok("POST", f"{PODS}/{cycle.pod.name}/binding", body)
        super().commit(batch)


def test_a_pod_that_another_bound_first_is_left_where_it_is(sandbox: Running) -> None:
    sink = MeddlingSink(sandbox, "ceph3")
    with session(sandbox, sink):
        sandbox.ok("POST", PODS, pod("contested", nodeSelector={"kubernetes.io/hostname": "ceph1"}))
        sink.until(lambda: any(b.updates for b in sink.batches))
        sink.until(lambda: sink.lane("contested") == Lane.BOUND)
    (closed,) = [u for b in sink.batches for u in b.updates]
    assert (closed.chosen, closed.outcome) == ("ceph1", Outcome.BIND_FAILED)
    assert "contested" in closed.message
    assert sandbox.ok("GET", f"{PODS}/contested")["spec"]["nodeName"] == "ceph3"


def test_a_command_waits_until_the_cluster_is_read(sandbox: Running) -> None:
    sink = KeepingSink()
    sandbox.ok("POST", PODS, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    uid = sandbox.ok("GET", f"{PODS}/gated")["metadata"]["uid"]
    with session(sandbox, sink) as made:
        made.submit(Command(1, "retry", {"uid": uid}, "alice"))
        sink.until(lambda: any(b.results for b in sink.batches))
        assert made.is_synced
    (result,) = [r for b in sink.batches for r in b.results]
    assert result.before["lane"] == "gated"


def test_a_stop_hears_how_the_binds_under_way_end(sandbox: Running) -> None:
    sink = KeepingSink()
    for n in range(40):
        sandbox.ok("POST", PODS, pod(f"p-{n}"))
    with session(sandbox, sink):
        sink.until(lambda: any(b.cycles for b in sink.batches))
    recorded = {c.number for b in sink.batches for c in b.cycles}
    assert recorded == {u.number for b in sink.batches for u in b.updates}
    assert [b.at for b in sink.batches] == sorted(b.at for b in sink.batches)


def test_what_breaks_the_sink_is_raised_by_run(sandbox: Running) -> None:
    class BrokenSink(KeepingSink):
        def commit(self, batch: Batch) -> None:
            raise RuntimeError("the disk is gone")

    made = Session(
        client=ClusterClient.from_kubeconfig(str(sandbox.kubeconfig)),
        scheduler=Scheduler({"default-scheduler": default_profile()}, seed=1),
        sink=BrokenSink(),
    )
    with pytest.raises(RuntimeError, match="the disk is gone"):
        made.run(threading.Event())
    assert not [t for t in threading.enumerate() if t.name.endswith((" io", " writer"))]
