"""ONE running session: a cluster, a scheduler, and what both say, brought together.

Made by the worker's runner, which gives it a thread (`run`). Changes, Commands and Replies come through one inbox, in
one order; what the scheduler answers is committed by the sink on a writer thread; a cycle's Bind is sent only after its
record is durable. This is the only place where I/O meets the core.

    I/O thread (asyncio)          core thread (`run`)                       writer thread
    reflectors --Changes--> inbox --> apply, tick, one cycle --> batch ---> sink.commit, then
    effects    --Replies--> inbox                                              `--> effects (I/O thread)
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.effects import Effects
from schedviz.cluster.reflector import Reflector
from schedviz.kube.kinds import WATCHED
from schedviz.scheduler.framework.steps import (
    Change,
    Command,
    CommandResult,
    CycleRecord,
    Effect,
    Lane,
    Move,
    Reply,
    Step,
)
from schedviz.scheduler.scheduler import Output, Scheduler
from schedviz.scheduler.views import NodeView, PodView

HEARTBEAT_SECONDS = 1.0
MAX_OPEN_CYCLES = 400
"""Cycles not yet durable: the core waits for the writer beyond."""
INBOX_TURN = 500
RATE_SECONDS = 3.0
STOP_SECONDS = 5.0


class Fenced(Exception):
    """The lease is another's: nothing may be written or bound any more."""


@dataclass(frozen=True, slots=True)
class RestoredPod:
    """What the record knows of a pod that was waiting when the last holder ended."""

    uid: str
    attempts: int = 0
    rank: float | None = None
    namespace: str = ""
    name: str = ""


@dataclass(slots=True)
class Batch:
    """What happened since the last one; the newest view of each pod and node. nodes: None = gone."""

    seq: int = 0
    at: float = 0.0
    cycles: list[CycleRecord] = field(default_factory=list)
    updates: list[CycleRecord] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    results: list[CommandResult] = field(default_factory=list)
    pods: dict[str, PodView] = field(default_factory=dict)
    nodes: dict[str, NodeView | None] = field(default_factory=dict)
    counters: dict[str, Any] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (
            self.cycles
            or self.updates
            or self.moves
            or self.results
            or self.pods
            or self.nodes
            or self.effects
        )


class Sink(Protocol):
    """Where batches become durable. `commit` returns when they are; it raises Fenced when the lease is lost."""

    def commit(self, batch: Batch) -> None: ...


class Session:
    """may_act: asked before every Bind, from the I/O thread. now: seconds since the epoch."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        scheduler: Scheduler,
        sink: Sink,
        restored: Iterable[RestoredPod] = (),
        may_act: Callable[[], bool] = lambda: True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._scheduler = scheduler
        self._sink = sink
        self._may_act = may_act
        self._now = now
        self._inbox: queue.SimpleQueue[Change | Command | Reply | None] = queue.SimpleQueue()
        self._restored = {pod.uid: pod for pod in restored}
        for pod in self._restored.values():
            scheduler.restore(pod.uid, attempts=pod.attempts, rank=pod.rank)
        self._stop: threading.Event = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._io = _IoThread(self, client)
        self._open = Batch()
        self._turn = threading.Condition()
        self._is_synced = False
        self._n_cycles = 0
        self._last_cycle = 0
        self._n_bound = 0
        self._recent: deque[tuple[float, int]] = deque()

    def submit(self, command: Command) -> None:
        """From any thread."""
        self._inbox.put(command)

    @property
    def is_synced(self) -> bool:
        """The scheduler has taken in all that the first lists said."""
        return self._is_synced

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set. Raises Fenced when the lease is lost, and whatever broke one of the threads."""
        self._stop = stop
        self._io.start()
        writer = threading.Thread(
            target=self._write, name=f"{threading.current_thread().name} writer", daemon=True
        )
        writer.start()
        try:
            while not stop.is_set() and self._failure is None:
                self._work()
        except BaseException as error:
            self._fail(error)
        finally:
            self._ended.set()
            with self._turn:
                self._turn.notify_all()
            writer.join(STOP_SECONDS)
            self._io.stop()
        if self._failure is not None:
            raise self._failure

    # ---- core thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """One turn: what arrived, what is due, one cycle."""
        n_read = self._read()
        now = self._now()
        outputs = self._scheduler.tick(now)
        if not self._is_synced and self._io.is_synced and not n_read:
            self._is_synced = True
            self._say_missing(now)
        ran = False
        if self._is_synced and self._has_room():
            cycle = self._scheduler.start_cycle(now)
            if cycle is not None:
                ran = True
                self._keep(outputs)
                outputs = self._drain(cycle)
        self._keep(outputs)
        if not ran and not n_read:
            self._idle(now)

    def _read(self) -> int:
        for n in range(INBOX_TURN):
            try:
                entry = self._inbox.get_nowait()
            except queue.Empty:
                return n
            if entry is not None:
                self._keep(self._scheduler.apply(entry, self._now()))
        return INBOX_TURN

    def _idle(self, now: float) -> None:
        """Sleep until something arrives or is due."""
        due = self._scheduler.next_due()
        seconds = 0.2 if due is None else min(0.2, max(0.0, due - now))
        try:
            entry = self._inbox.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return
        if entry is not None:
            self._keep(self._scheduler.apply(entry, self._now()))

    def _drain(self, cycle: Generator[Step, None, list[Output]]) -> list[Output]:
        """Run the cycle to its end; how long each step took is measured here, outside of the core."""
        seconds: list[float] = []
        began = before = time.perf_counter()
        while True:
            try:
                next(cycle)
            except StopIteration as end:
                outputs: list[Output] = end.value
                break
            now = time.perf_counter()
            seconds.append(now - before)
            before = now
        record = next((output for output in outputs if isinstance(output, CycleRecord)), None)
        if record is not None:
            n = len(record.steps)
            record.step_durations, record.binding_durations = seconds[:n], seconds[n:]
            record.duration = time.perf_counter() - began
        self._n_cycles += 1
        return outputs

    def _keep(self, outputs: list[Output]) -> None:
        """Into the open batch, with the views of what was touched."""
        pods, nodes = self._scheduler.drain_touched()
        if not outputs and not pods and not nodes:
            return
        with self._turn:
            batch = self._open
            for output in outputs:
                self._sort_in(batch, output)
            for uid in pods:
                view = self._scheduler.pod_view(uid)
                if view is not None:
                    batch.pods[uid] = view
            for name in nodes:
                batch.nodes[name] = self._scheduler.node_view(name)
            self._turn.notify_all()

    def _sort_in(self, batch: Batch, output: Output) -> None:
        if isinstance(output, CycleRecord):
            if output.number > self._last_cycle:
                self._last_cycle = output.number
                batch.cycles.append(output)
            elif not any(output is one for one in batch.cycles):
                batch.updates.append(output)
        elif isinstance(output, Move):
            batch.moves.append(output)
            self._n_bound += output.target is Lane.BOUND
        elif isinstance(output, CommandResult):
            batch.results.append(output)
        else:
            batch.effects.append(output)

    def _has_room(self) -> bool:
        with self._turn:
            if len(self._open.cycles) >= MAX_OPEN_CYCLES:
                self._turn.wait(0.05)
            return len(self._open.cycles) < MAX_OPEN_CYCLES

    def _say_missing(self, now: float) -> None:
        """Pods that were waiting once and are not in the cluster any more."""
        with self._turn:
            for uid in self._scheduler.missing():
                pod = self._restored[uid]
                self._open.pods[uid] = PodView(uid, pod.namespace, pod.name, Lane.GONE, since=now)

    # ---- writer thread ---------------------------------------------------------------------------------------------

    def _write(self) -> None:
        try:
            while self._failure is None:
                batch = self._next_batch()
                if batch is None:
                    return
                self._sink.commit(batch)
                self._io.submit(batch.effects)
        except BaseException as error:
            self._fail(error)

    def _next_batch(self) -> Batch | None:
        """The open batch, as soon as there is something in it; an empty one each second; None at the end."""
        with self._turn:
            self._turn.wait_for(
                lambda: not self._open.is_empty or self._ended.is_set(), HEARTBEAT_SECONDS
            )
            if self._ended.is_set() and self._open.is_empty:
                return None
            batch, self._open = self._open, Batch()
            self._turn.notify_all()
        batch.at = self._now()
        batch.counters = self._counters(batch.at)
        return batch

    def _counters(self, at: float) -> dict[str, Any]:
        self._recent.append((at, self._n_cycles))
        while len(self._recent) > 2 and at - self._recent[0][0] > RATE_SECONDS:
            self._recent.popleft()
        (since, before), seconds = self._recent[0], max(at - self._recent[0][0], 1e-3)
        rate = (self._n_cycles - before) / seconds if at > since else 0.0
        counters: dict[str, Any] = {str(lane): n for lane, n in self._scheduler.counts().items()}
        counters |= {
            "bound": self._n_bound,
            "cycles": self._n_cycles,
            "cycles_per_s": round(rate, 1),
            "cluster": self._io.cluster(),
        }
        return counters

    def _fail(self, error: BaseException) -> None:
        if self._failure is None or isinstance(error, Fenced):
            self._failure = error
        self._inbox.put(None)

    # ---- I/O thread ------------------------------------------------------------------------------------------------

    def receive(self, entries: Iterable[Change | Reply]) -> None:
        for entry in entries:
            self._inbox.put(entry)

    def io_failed(self, error: BaseException) -> None:
        self._fail(error)

    def may_act(self) -> bool:
        return self._failure is None and self._may_act()


class _IoThread:
    """All of a session's cluster I/O: one event loop in one thread."""

    def __init__(self, session: Session, client: ClusterClient) -> None:
        self._session = session
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._effects: Effects | None = None
        self._reflectors: list[Reflector] = []
        self._ready = threading.Event()
        self._error = ""
        self._thread = threading.Thread(
            target=self._run, name=f"{threading.current_thread().name} io", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        loop, main = self._loop, self._main
        if loop is not None and main is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(main.cancel)
        self._thread.join(STOP_SECONDS)

    def submit(self, effects: list[Effect]) -> None:
        """Effects of a batch that is durable."""
        if (
            effects
            and self._ready.wait(STOP_SECONDS)
            and self._loop is not None
            and self._effects is not None
        ):
            self._loop.call_soon_threadsafe(self._effects.submit, effects)

    @property
    def is_synced(self) -> bool:
        return bool(self._reflectors) and all(one.state.is_synced for one in self._reflectors)

    def cluster(self) -> dict[str, Any]:
        """What the board says of the connection."""
        error = self._error or next(
            (one.state.error for one in self._reflectors if one.state.error), ""
        )
        connected = self._session.is_synced and not error
        return {
            "connected": connected,
            "failing": bool(error),
            "message": error or ("" if connected else "Reading the cluster."),
        }

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except asyncio.CancelledError:
            return
        except BaseException as error:
            self._session.io_failed(error)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        async with self._client as client:
            self._effects = Effects(
                client,
                reply=lambda reply: self._session.receive([reply]),
                may_act=self._session.may_act,
            )
            self._reflectors = [
                Reflector(client, kind, emit=self._session.receive)
                for kind in WATCHED
            ]
            self._ready.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._effects.run())
                for reflector in self._reflectors:
                    tasks.create_task(reflector.run())
