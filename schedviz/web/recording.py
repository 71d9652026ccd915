"""The durable sink of a running session: each batch is one transaction, written only under the session's lease.

`runner` makes one for each session it runs; `schedviz.session` calls `commit` on its writer thread and releases a
batch's effects when it returns. Then the batch is offered to the live pages, and now and again the ring drops a little.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.db.models import F

from schedviz.scheduler import journal
from schedviz.scheduler.framework.steps import Lane, Outcome
from schedviz.session import Fenced
from schedviz.web import records, ring
from schedviz.web.answers import answer
from schedviz.web.frames import node_row, pod_row
from schedviz.web.models import (
    Cycle,
    Lease,
    Move,
    NodeSet,
    NodeState,
    PodState,
    Session,
)
from schedviz.web.tables import Table, clean, clean_json
from schedviz.web.takeover import Takeover

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedviz.scheduler.framework.steps import CommandResult, CycleRecord
    from schedviz.scheduler.framework.steps import Move as PodMove
    from schedviz.scheduler.views import NodeView, PodView
    from schedviz.session import Batch
    from schedviz.web.leases import HeldLease
    from schedviz.web.publishing import Publisher

log = logging.getLogger(__name__)

TRIM_SECONDS = 2.0
RETRY_SECONDS = 0.2

CYCLES, MOVES = Table.of(Cycle), Table.of(Move)
PODS = Table.of(PodState, "session_id", "uid")
GONE_PODS = Table.of(PodState, "session_id", "uid", news=("lane", "since", "retry_at"))
"""A deleted pod's row keeps what was known of it."""
NODES = Table.of(NodeState, "session_id", "name")
CLOSE_CYCLE = f"""UPDATE {CYCLES.name}
SET outcome = %s, message = %s, summary = %s, size_bytes = size_bytes + %s
WHERE session_id = %s AND number = %s"""


@dataclass(slots=True)
class _Work:
    """A batch's cycles, encoded. `bytes`: what the ring grows by."""

    cycles: list[tuple[CycleRecord, records.Encoded]] = field(default_factory=list)
    closed: list[tuple[CycleRecord, str, int]] = field(default_factory=list)  # summary, its growth
    bytes: int = 0


class DatabaseSink:
    """Commits a session's batches. Used by one thread at a time; `close` may be called from another one at the end."""

    def __init__(
        self, lease: HeldLease, *, session: Session, publisher: Publisher | None = None
    ) -> None:
        self._lease = lease
        self._id = session.pk
        self._seq = session.seq
        self._last_cycle = session.last_cycle
        self._publisher = publisher
        self._node_set: tuple[tuple[str, ...], int] | None = None  # the last one used
        self._open: dict[int, records.Encoded] = {}  # cycles whose binding is awaited
        self._limits = ring.Limits.from_settings()
        self._trim_at = 0.0
        self._takeover: Takeover | None = Takeover(session)
        self._connection: Any = None
        if publisher is not None:
            publisher.begin(session.pk, session.seq)

    def commit(self, batch: Batch) -> None:
        """Durable when it returns. Fenced: the lease is another's, or ended while the database did not answer."""
        work = self._encode(batch)
        if self._takeover is not None:
            self._takeover.observe(batch)
        silent_since: float | None = None
        while True:
            try:
                self._write(batch, work)
                break
            except (OperationalError, InterfaceError) as error:
                self._node_set = None
                connection.close()
                if not self._lease.may_act():
                    raise Fenced(f"the database did not answer: {error}") from error
                if silent_since is None:  # said once: it may last for hours
                    silent_since = time.monotonic()
                    log.warning("session %s: waits for the database: %s", self._id, error)
                time.sleep(RETRY_SECONDS)
        if silent_since is not None:
            waited = time.monotonic() - silent_since
            log.warning("session %s: the database answers again, after %.0f s", self._id, waited)
        if self._takeover is not None and self._takeover.is_due:
            self._takeover = None
        self._seq += 1
        self._last_cycle = max([self._last_cycle, *(record.number for record in batch.cycles)])
        if self._publisher is not None:
            self._publisher.offer(self._id, self._seq, batch)
        self._trim(batch.at)

    def close(self) -> None:
        """Gives the writer thread's database connection back, when that thread has ended."""
        if self._connection is not None:
            self._connection.inc_thread_sharing()
            self._connection.close()

    def _encode(self, batch: Batch) -> _Work:
        """All that costs time and needs no lock: done before the transaction."""
        work = _Work()
        for record in batch.cycles:
            encoded = records.encode(record)
            work.cycles.append((record, encoded))
            work.bytes += encoded.size
            if record.outcome is Outcome.SCHEDULED:
                self._open[record.number] = encoded
        for record in batch.updates:
            opened = self._open.pop(record.number, None) or records.encode(record)
            closed = records.close(opened, record)
            growth = len(closed.summary) - len(opened.summary)
            work.closed.append((record, closed.summary, growth))
            work.bytes += growth
        return work

    def _write(self, batch: Batch, work: _Work) -> None:
        self._connection = connections[DEFAULT_DB_ALIAS]
        with transaction.atomic():
            self._hold_fence()
            if not self._advance(batch, work):
                return
            CYCLES.write(self._cycle_row(record, encoded) for record, encoded in work.cycles)
            self._close_cycles(work.closed)
            MOVES.write(self._move_row(move) for move in batch.moves)
            self._write_pods(batch.pods.values())
            self._write_nodes(batch.nodes)
            for result in batch.results:
                self._answer(result)
            if self._takeover is not None and self._takeover.is_due:
                self._takeover.settle()

    def _hold_fence(self) -> None:
        """Nobody takes the lease before this transaction ends."""
        lease = Lease.objects.select_for_update().filter(session_id=self._id).first()
        if lease is None or (lease.holder, lease.fence) != (self._lease.holder, self._lease.fence):
            raise Fenced(f"session {self._id}: the lease {self._lease.fence} is over")

    def _advance(self, batch: Batch, work: _Work) -> bool:
        """False: this batch is in the database already, only the answer to its commit was lost."""
        rows = Session.objects.filter(pk=self._id, seq=self._seq).update(
            seq=self._seq + 1,
            heartbeat_at=batch.at,
            counters=clean_json(batch.counters),
            last_cycle=max([self._last_cycle, *(record.number for record in batch.cycles)]),
            ring_bytes=F("ring_bytes") + work.bytes,
        )
        return bool(rows)

    def _cycle_row(self, record: CycleRecord, encoded: records.Encoded) -> dict[str, Any]:
        return {
            "session_id": self._id,
            "number": record.number,
            "pod_uid": record.pod.uid,
            "namespace": record.pod.namespace,
            "pod_name": record.pod.name,
            "attempt": record.attempt,
            "priority": record.priority,
            "scheduler_name": record.scheduler_name,
            "started_at": record.started_at,
            "duration": record.duration,
            "outcome": record.outcome.value,
            "node_name": record.chosen,
            "message": record.message,
            "n_nodes": len(record.node_names),
            "n_feasible": 0 if record.feasible is None else len(record.feasible),
            "size_bytes": encoded.size,
            "node_set_id": self._node_set_id(record.node_names),
            "summary": encoded.summary,
            "blob": encoded.blob,
        }

    def _node_set_id(self, names: tuple[str, ...]) -> int:
        if self._node_set is None or self._node_set[0] is not names:
            node_set, _ = NodeSet.objects.get_or_create(
                session_id=self._id,
                digest=journal.node_set_digest(names),
                defaults={"names": records.pack_names(names)},
            )
            self._node_set = (names, node_set.pk)
        return self._node_set[1]

    def _close_cycles(self, closed: list[tuple[CycleRecord, str, int]]) -> None:
        rows = [
            (record.outcome.value, clean(record.message), summary, growth, self._id, record.number)
            for record, summary, growth in closed
        ]
        if rows:
            with connection.cursor() as cursor:
                cursor.executemany(CLOSE_CYCLE, rows)

    def _move_row(self, move: PodMove) -> dict[str, Any]:
        return {
            "session_id": self._id,
            "at": move.at,
            "pod_uid": move.pod.uid,
            "source": "" if move.source is None else move.source.value,
            "target": move.target.value,
            "cause": move.cause,
            "detail": move.detail,
        }

    def _write_pods(self, pods: Iterable[PodView]) -> None:
        rows = [{**pod_row(pod), "session_id": self._id} for pod in pods]
        PODS.write(row for row in rows if row["lane"] != Lane.GONE)
        GONE_PODS.write(row for row in rows if row["lane"] == Lane.GONE)

    def _write_nodes(self, nodes: dict[str, NodeView | None]) -> None:
        NODES.write(
            {**node_row(node), "session_id": self._id}
            for node in nodes.values()
            if node is not None
        )
        gone = [name for name, node in nodes.items() if node is None]
        if gone:
            NodeState.objects.filter(session_id=self._id, name__in=gone).delete()

    def _answer(self, result: CommandResult) -> None:
        answer(
            result.command_id,
            ok=result.ok,
            message=result.message,
            before=result.before,
            after=result.after,
        )

    def _trim(self, now: float) -> None:
        if time.monotonic() < self._trim_at:
            return
        try:
            more = ring.trim(self._id, now, self._limits)
        except DatabaseError as error:
            log.warning("session %s: the ring could not be trimmed: %s", self._id, error)
            more = False
        self._node_set = None  # the ring may have dropped it
        self._trim_at = time.monotonic() + (0.0 if more else TRIM_SECONDS)
