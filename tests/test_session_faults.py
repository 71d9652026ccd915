"""A session whose API server loses answers and breaks streams: each pod is bound once, its record before its Bind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from schedviz.cluster import reflector
from schedviz.cluster.client import ClusterClient
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from schedviz.session import Batch, Fenced, Session
from tests.cluster.faulty import FaultyServer

PODS = "/api/v1/namespaces/default/pods"
BIG = {"allocatable": {"cpu": "400", "memory": "1Ti", "pods": "500"}}


class WatchingSink:
    """Keeps batches; notes each cycle for which the server had a Bind before the record was durable."""

    def __init__(self, server: FaultyServer) -> None:
        self.batches: list[Batch] = []
        self.too_early: list[str] = []
        self.fence_after: int | None = None
        self._server = server
        self._loop = asyncio.get_running_loop()

    def commit(self, batch: Batch) -> None:
        if self.fence_after is not None and len(self.recorded()) >= self.fence_after:
            raise Fenced("the lease is another's")
        bound = self.bound_on_server()
        self.too_early += [cycle.pod.name for cycle in batch.cycles if cycle.pod.name in bound]
        self.batches.append(batch)
        with contextlib.suppress(RuntimeError):  # the test's loop may have ended
            self._loop.call_soon_threadsafe(self._server.bell.ring)

    def bound_on_server(self) -> set[str]:
        posts = [one[1] for one in list(self._server.requests) if one[0] == "POST"]
        return {path.split("/")[-2] for path in posts if path.endswith("/binding")}

    def recorded(self) -> set[str]:
        return {cycle.pod.name for batch in self.batches for cycle in batch.cycles}

    def lanes(self) -> dict[str, Lane]:
        views = [view for batch in list(self.batches) for view in batch.pods.values()]
        return {view.name: view.lane for view in views}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultyServer]:
    monkeypatch.setattr(reflector, "FIRST_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(reflector, "LONGEST_WAIT_SECONDS", 0.1)
    async with FaultyServer() as one:
        for n in range(3):
            one.put(f"/api/v1/nodes/n{n}", status=BIG)
        yield one


@contextlib.asynccontextmanager
async def session(
    server: FaultyServer, sink: WatchingSink, folder: Path
) -> AsyncIterator[list[BaseException]]:
    """What it raised, once it is over."""
    made = Session(
        client=ClusterClient.from_kubeconfig(server.kubeconfig(folder)),
        scheduler=Scheduler({"default-scheduler": default_profile()}, seed=1),
        sink=sink,
    )
    stop, raised = threading.Event(), []

    def run() -> None:
        try:
            made.run(stop)
        except BaseException as error:
            raised.append(error)

    running = asyncio.create_task(asyncio.to_thread(run))
    try:
        yield raised
    finally:
        stop.set()
        await asyncio.wait_for(running, 20)


async def test_two_hundred_pods_are_bound_once_through_faults(
    server: FaultyServer, tmp_path: Path
) -> None:
    sink = WatchingSink(server)
    names = [f"p{n}" for n in range(200)]
    async with session(server, sink, tmp_path) as raised:
        await server.bell.until(lambda: server.watched("pods"), 20)
        server.lose_answers(10)
        for n, name in enumerate(names):
            server.put(f"{PODS}/{name}")
            if n % 50 == 25:
                server.break_watches()
                server.compact()
        await server.bell.until(
            lambda: [name for name in names if sink.lanes().get(name) == Lane.BOUND] == names, 30
        )
    assert raised == []
    assert sink.too_early == []
    posts = [one[1] for one in server.seen("POST", "/binding")]
    assert len(posts) == len(set(posts)) == 200
    chosen = {cycle.pod.name: cycle.chosen for batch in sink.batches for cycle in batch.cycles}
    assert {name: server.objects[f"{PODS}/{name}"]["spec"]["nodeName"] for name in names} == chosen


async def test_a_cluster_that_is_away_is_said_and_found_again(
    server: FaultyServer, tmp_path: Path
) -> None:
    def clusters() -> list[dict[str, object]]:
        return [batch.counters["cluster"] for batch in list(sink.batches)]

    sink = WatchingSink(server)
    async with session(server, sink, tmp_path) as raised:
        await server.bell.until(lambda: any(one["connected"] for one in clusters()), 20)
        server.is_down = True
        server.break_watches()
        await server.bell.until(lambda: not clusters()[-1]["connected"], 20)
        assert "no: Down" in str(clusters()[-1]["message"])
        server.is_down = False
        server.put(f"{PODS}/late")
        await server.bell.until(lambda: sink.lanes().get("late") == Lane.BOUND, 20)
        await server.bell.until(lambda: clusters()[-1]["connected"], 20)
    assert raised == []


async def test_a_lost_lease_stops_all_binding(server: FaultyServer, tmp_path: Path) -> None:
    sink = WatchingSink(server)
    sink.fence_after = 1
    async with session(server, sink, tmp_path) as raised:
        await server.bell.until(lambda: server.watched("pods"), 20)
        for n in range(50):
            server.put(f"{PODS}/p{n}")
        await server.bell.until(lambda: sink.recorded(), 20)
    assert [type(error) for error in raised] == [Fenced]
    assert sink.bound_on_server() <= sink.recorded()
