"""Where the records of a measurement go, and when its effects may happen.

`keeper("none")` and `keeper("journal")` let effects happen at once. `keeper("database")` is what a running session has:
the writer's thread commits batches through the real sink, and effects wait for their batch (write ahead).
"""

from __future__ import annotations

import contextlib
import queue
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from django.db import connection

from schedviz.scheduler.framework.steps import Bind, CycleRecord, Effect, Outcome, Output
from schedviz.scheduler.framework.steps import DeletePod as Delete
from schedviz.scheduler.framework.steps import PatchPodStatus as Patch
from schedviz.scheduler.scheduler import Scheduler
from schedviz.session import Batch
from schedviz.session.writer import Views, Writer
from schedviz.web import leases, records
from schedviz.web.models import Cluster, Lease, Session
from schedviz.web.recording import DatabaseSink

RECORDS = ("none", "journal", "database")
PATIENCE_SECONDS = 60.0


class Keeper(Protocol):
    @property
    def size(self) -> int:
        """Bytes kept so far."""
        ...

    def keep(self, outputs: list[Output], scheduler: Scheduler) -> None: ...

    def released(self) -> Iterable[Effect]:
        """Effects that may happen now."""
        ...

    def wait(self) -> bool:
        """When nothing is left to schedule: whether an effect is still to come; returns when it is there."""
        ...


@contextlib.contextmanager
def keeper(record: str) -> Iterator[Keeper]:
    if record != "database":
        yield MemoryKeeper(is_encoded=record == "journal")
        return
    with _empty_database():
        kept = DatabaseKeeper()
        try:
            yield kept
        finally:
            kept.close()


class MemoryKeeper:
    """Records are encoded as the journal has them, if so wanted, and thrown away."""

    def __init__(self, *, is_encoded: bool) -> None:
        self.size = 0
        self._is_encoded = is_encoded
        self._effects: deque[Effect] = deque()
        self._open: dict[int, records.Encoded] = {}

    def keep(self, outputs: list[Output], scheduler: Scheduler) -> None:
        scheduler.drain_touched()
        for output in outputs:
            if isinstance(output, Effect):
                self._effects.append(output)
            elif isinstance(output, CycleRecord) and self._is_encoded:
                self._encode(output)

    def _encode(self, record: CycleRecord) -> None:
        opened = self._open.pop(record.number, None)
        encoded = records.close(opened, record) if opened else records.encode(record)
        self.size += encoded.size - (opened.size if opened else 0)
        if record.outcome is Outcome.SCHEDULED:
            self._open[record.number] = encoded

    def released(self) -> Iterator[Effect]:
        while self._effects:
            yield self._effects.popleft()

    def wait(self) -> bool:
        return bool(self._effects)


class DatabaseKeeper:
    """The writer and the sink of a session, with a session's rows of their own."""

    def __init__(self) -> None:
        cluster = Cluster.objects.create(name="bench", kind=Cluster.Kind.SANDBOX)
        session = Session.objects.create(name="bench", cluster=cluster)
        Lease.objects.create(session=session)
        lease = leases.take(session.pk, "bench")
        assert lease is not None, "a new session's lease is free"
        self._session = session
        self._sink = DatabaseSink(lease, session=session)
        self._released: queue.SimpleQueue[list[Effect]] = queue.SimpleQueue()
        self._awaited = 0
        self._failure: BaseException | None = None
        self._writer = Writer(
            self,
            release=self._released.put,
            counters=dict,
            failed=self._fail,
            now=leases.database_now,
        )
        self._writer.start()

    @property
    def size(self) -> int:
        """What the ring counts: the compressed columns and the summaries."""
        self._session.refresh_from_db(fields=["ring_bytes"])
        return self._session.ring_bytes

    def commit(self, batch: Batch) -> None:
        self._sink.commit(batch)

    def keep(self, outputs: list[Output], scheduler: Scheduler) -> None:
        self._awaited += sum(
            isinstance(one, Effect) and isinstance(one.action, Bind | Delete | Patch)
            for one in outputs
        )
        pods, nodes = scheduler.drain_touched()
        seen = {uid: scheduler.pod_view(uid) for uid in pods}
        views = Views(
            {uid: view for uid, view in seen.items() if view is not None},
            {name: scheduler.node_view(name) for name in nodes},
            {},
        )
        self._writer.keep(outputs, views)
        while not self._writer.wait_for_room(1.0):
            self._check()

    def released(self) -> Iterator[Effect]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield from self._hand_on(self._released.get_nowait())

    def wait(self) -> bool:
        if not self._awaited:
            self._settle()
            return False
        effects = self._released.get(timeout=PATIENCE_SECONDS)
        self._check()
        self._released.put(effects)
        return True

    def close(self) -> None:
        self._writer.finish(PATIENCE_SECONDS)
        self._sink.close()

    def _hand_on(self, effects: list[Effect]) -> Iterator[Effect]:
        for effect in effects:
            if isinstance(effect.action, Bind | Delete | Patch):
                self._awaited -= 1
            yield effect

    def _settle(self) -> None:
        """The clock stops when the last batch is durable: the writer hands each batch's effects on, empty or not."""
        while not self._writer.is_idle:
            self._check()
            with contextlib.suppress(queue.Empty):
                self._released.get(timeout=0.01)

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._released.put([])

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


@contextlib.contextmanager
def _empty_database() -> Iterator[None]:
    """A database beside the real one, of the same kind, with all tables; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="schedviz-bench-") as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "bench.sqlite3")
        name = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(name, verbosity=0)
