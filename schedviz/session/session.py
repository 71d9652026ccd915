"""The session's core thread: one inbox, one scheduler, one turn after the other.

A turn takes in what arrived (at most INBOX_TURN entries, so that a flood does not stop scheduling), then what is due,
then schedules one pod. It sleeps only on the inbox, no longer than until something is due.
"""

from __future__ import annotations

import gc
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schedviz.cluster.client import ClusterClient
from schedviz.scheduler.framework.steps import (
    Bind,
    CallExtenders,
    Change,
    Command,
    Cycle,
    CycleRecord,
    Effect,
    Lane,
    Move,
    Output,
    PodRef,
    Reply,
    Step,
)
from schedviz.scheduler.scheduler import Scheduler
from schedviz.scheduler.views import PodView
from schedviz.session import connection
from schedviz.session.batch import Fenced, RestoredPod, Sink
from schedviz.session.connection import Connection, Signal
from schedviz.session.writer import Views, Writer

Entry = Change | Command | Reply | Signal

INBOX_TURN = 500
IDLE_SECONDS = 0.2
ROOM_SECONDS = 0.05
RATE_SECONDS = 3.0
FINISH_SECONDS = 1.0
"""How long the answers to Binds under way are waited for when the session is stopped."""
STOP_SECONDS = 5.0
UNSEEN = "DeletedUnseen"
"""The cause of a move that nobody watched: the pod was there when the last session ended, and is not now."""


class Session:
    """may_act: asked before every Bind, from another thread. now: seconds since the epoch."""

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
        self._scheduler = scheduler
        self._lease_may_act = may_act
        self._now = now
        self._inbox: queue.SimpleQueue[Entry] = queue.SimpleQueue()
        self._early: list[Command] = []
        self._restored = {pod.uid: pod for pod in restored}
        for pod in self._restored.values():
            if pod.lane is not Lane.BOUND:
                scheduler.restore(pod.uid, pod.kept)
        self._failure: BaseException | None = None
        self._connection = Connection(
            client,
            receive=self._receive,
            may_act=self._may_act,
            failed=self._fail,
            keeps_wire=scheduler.has_extenders,
        )
        self._writer = Writer(
            sink, release=self._release, counters=self._counters, failed=self._fail, now=now
        )
        self._stop = threading.Event()
        self._is_synced = False
        self._n_cycles = 0
        self._n_bound = sum(pod.lane is Lane.BOUND for pod in self._restored.values())
        self._sent_at: dict[int, float] = {}  # Binds under way, by effect
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
        self._connection.start()
        self._writer.start()
        try:
            while not stop.is_set() and self._failure is None:
                self._work()
            self._finish()
        except BaseException as error:
            self._fail(error)
        finally:
            if self._failure is not None:
                self._connection.stop()
            self._writer.finish(STOP_SECONDS)
            self._connection.stop()
        if self._failure is not None:
            raise self._failure

    # ---- core thread -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """One turn: what arrived, what is due, one cycle."""
        n_read = self._read()
        now = self._now()
        was_paused = self._scheduler.pause is not None
        self._keep(self._scheduler.tick(now))
        if was_paused and self._scheduler.pause is None:
            self._writer.keep(
                [], Views({}, {}, self._counts())
            )  # no pod changed, yet all may see it
        if self._is_synced:
            if not self._writer.wait_for_room(ROOM_SECONDS):
                return
            cycle = self._scheduler.start_cycle(now)
            if cycle is not None:
                self._keep(self._drain(cycle))
                return
        if not n_read:
            self._idle(now)

    def _finish(self) -> None:
        """Start nothing new, but hear how the Binds under way end, for a moment."""
        end = time.monotonic() + FINISH_SECONDS
        while self._failure is None and time.monotonic() < end:
            if not self._read() and not self._sent_at and self._writer.is_idle:
                return
            self._wait(0.02)

    def _read(self) -> int:
        """How many entries were taken in."""
        outputs: list[Output] = []
        n = 0
        while n < INBOX_TURN:
            try:
                entry = self._inbox.get_nowait()
            except queue.Empty:
                break
            n += 1
            outputs += self._take_in(entry)
        if n:
            self._keep(outputs)
        return n

    def _idle(self, now: float) -> None:
        """Sleep until something arrives or is due."""
        due = self._scheduler.next_due()
        self._wait(IDLE_SECONDS if due is None else min(IDLE_SECONDS, max(0.001, due - now)))

    def _wait(self, seconds: float) -> None:
        try:
            entry = self._inbox.get(timeout=seconds)
        except queue.Empty:
            return
        self._keep(self._take_in(entry))

    def _take_in(self, entry: Entry) -> list[Output]:
        if isinstance(entry, Signal):
            return self._begin() if entry is Signal.SYNCED else []
        if isinstance(entry, Command) and not self._is_synced:
            self._early.append(entry)  # its pod may not have been read yet
            return []
        outputs = self._scheduler.apply(entry, self._now())
        if isinstance(entry, Reply):
            self._time_bind(entry, outputs)
        return outputs

    def _begin(self) -> list[Output]:
        """The first lists are in: what was remembered and is not there is gone; commands may be obeyed."""
        gc.collect()
        gc.freeze()  # 50,000 pods that stay need not be gone through again: that stops all for 20 ms each time
        self._is_synced = self._scheduler.is_synced = True
        now = self._now()
        gone = [pod for uid, pod in self._restored.items() if not self._scheduler.knows(uid)]
        self._restored.clear()
        self._n_bound -= sum(pod.lane is Lane.BOUND for pod in gone)
        views = {
            pod.uid: PodView(pod.uid, pod.namespace, pod.name, Lane.GONE, since=now) for pod in gone
        }
        moves = [
            Move(now, PodRef(pod.namespace, pod.name, pod.uid), pod.lane, Lane.GONE, UNSEEN)
            for pod in gone
        ]
        self._writer.keep(moves, Views(views, {}, self._counts()))
        early, self._early = self._early, []
        return [output for command in early for output in self._scheduler.apply(command, now)]

    def _drain(self, cycle: Cycle[list[Output]]) -> list[Output]:
        """Run the cycle to its end; how long each step took is measured here, outside of the core. A cycle that waits
        for extenders when the session ends is dropped: its pod is tried anew by the next holder."""
        seconds: list[float] = []
        reply: Reply | None = None
        began = before = time.perf_counter()
        while True:
            try:
                one = cycle.send(reply)
            except StopIteration as end:
                outputs: list[Output] = end.value
                break
            if isinstance(one, Effect):
                reply = self._connection.ask(one, until=self._is_over)
                if reply is None:
                    cycle.close()
                    return []
                continue
            reply, now = None, time.perf_counter()
            call = one.call if isinstance(one, Step) else None
            seconds.append(now - before if call is None else call.seconds)
            before = now
        record = next((output for output in outputs if isinstance(output, CycleRecord)), None)
        if record is not None:
            n = len(record.steps)
            record.step_durations, record.binding_durations = seconds[:n], seconds[n:]
            record.duration = time.perf_counter() - began
        self._n_cycles += 1
        return outputs

    def _is_over(self) -> bool:
        return self._failure is not None or self._stop.is_set()

    def _time_bind(self, reply: Reply, outputs: list[Output]) -> None:
        """The step that was waiting for the world took as long as the answer did."""
        began = self._sent_at.pop(reply.effect_id, None)
        for output in outputs:
            is_timed = not reply.answers  # an extender's step brings its time along
            if isinstance(output, CycleRecord) and began is not None and is_timed:
                _pad(output, before="Bind")
                output.binding_durations.append(time.perf_counter() - began)

    def _keep(self, outputs: list[Output]) -> None:
        """To the writer, with the views of what was touched."""
        for output in outputs:
            if isinstance(output, CycleRecord):
                _pad(output)
        pods, nodes = self._scheduler.drain_touched()
        if not outputs and not pods and not nodes:
            return
        moves = [output for output in outputs if isinstance(output, Move)]
        self._n_bound += sum(move.target is Lane.BOUND for move in moves)
        self._n_bound -= sum(move.source is Lane.BOUND for move in moves)
        views = {uid: self._scheduler.pod_view(uid) for uid in pods}
        self._writer.keep(
            outputs,
            Views(
                {uid: view for uid, view in views.items() if view is not None},
                {name: self._scheduler.node_view(name) for name in nodes},
                self._counts(),
            ),
        )

    def _counts(self) -> dict[str, Any]:
        lanes = {str(lane): n for lane, n in self._scheduler.counts().items()}
        pause = self._scheduler.pause
        own = {
            "bound": max(0, self._n_bound),  # of pods that came with a node only the end is told
            "cycles": self._n_cycles,
            "is_synced": self._is_synced,
            "pause": None if pause is None else pause.as_json(),
        }
        return lanes | own

    # ---- writer thread ---------------------------------------------------------------------------------------------

    def _release(self, effects: list[Effect]) -> None:
        now = time.perf_counter()
        for effect in effects:
            if isinstance(effect.action, Bind | CallExtenders):
                self._sent_at[effect.id] = now
        self._connection.submit(effects)

    def _counters(self, counts: Mapping[str, Any]) -> dict[str, Any]:
        at, n_cycles = time.monotonic(), int(counts.get("cycles", 0))
        self._recent.append((at, n_cycles))
        while len(self._recent) > 2 and at - self._recent[0][0] > RATE_SECONDS:
            self._recent.popleft()
        since, before = self._recent[0]
        rate = (n_cycles - before) / (at - since) if at > since else 0.0
        counters = {name: n for name, n in counts.items() if name != "is_synced"}
        is_synced = bool(counts.get("is_synced"))
        counters["cycles_per_s"] = round(rate, 1)
        counters["cluster"] = connection.says(self._connection, is_synced=is_synced)
        return counters | self._connection.counts()

    # ---- any thread ------------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        if self._failure is None or isinstance(error, Fenced):
            self._failure = error
        self._inbox.put(Signal.WAKE)

    def _receive(self, entries: Iterable[Change | Reply | Signal]) -> None:
        for entry in entries:
            self._inbox.put(entry)

    def _may_act(self) -> bool:
        return self._failure is None and self._lease_may_act()


def _pad(record: CycleRecord, before: str = "") -> None:
    """One duration a step, or for those before this point; what took no time of its own took none."""
    points = [step.point for step in record.binding_steps]
    n = points.index(before) if before in points else len(points)
    record.binding_durations += [0.0] * (n - len(record.binding_durations))
