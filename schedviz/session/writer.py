"""Group commit: what the core says is gathered in an open batch; a thread commits one batch after the other.

Used by `session`. While one batch is being committed the next one grows, so the slower the sink, the larger its
batches; beyond a limit the core waits. A batch's effects are released only when it is durable (write ahead).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from schedviz.scheduler.framework.steps import CommandResult, CycleRecord, Effect, Move, Output
from schedviz.scheduler.views import NodeView, PodView
from schedviz.session.batch import Batch, Sink

HEARTBEAT_SECONDS = 1.0
MAX_OPEN_CYCLES = 400
"""Cycles not yet durable: the core waits for the sink beyond."""


@dataclass(frozen=True, slots=True)
class Views:
    """The newest views of what was touched, and the counts that go with them."""

    pods: Mapping[str, PodView]
    nodes: Mapping[str, NodeView | None]
    counts: Mapping[str, Any]


class Writer:
    """release: takes a durable batch's effects. counters: makes the batch's counters of its counts. failed: told what
    ended the thread. All three are called on the writer's thread."""

    def __init__(
        self,
        sink: Sink,
        *,
        release: Callable[[list[Effect]], None],
        counters: Callable[[Mapping[str, Any]], dict[str, Any]],
        failed: Callable[[BaseException], None],
        now: Callable[[], float],
    ) -> None:
        self._sink = sink
        self._release = release
        self._counters = counters
        self._failed = failed
        self._now = now
        self._open = Batch()
        self._counts: Mapping[str, Any] = {}
        self._last_cycle = 0
        self._is_committing = False
        self._has_ended = False
        self._turn = threading.Condition()
        name = f"{threading.current_thread().name} writer"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, timeout: float) -> None:
        """Commits what is open and ends the thread."""
        with self._turn:
            self._has_ended = True
            self._turn.notify_all()
        self._thread.join(timeout)

    # ---- core thread -----------------------------------------------------------------------------------------------

    def keep(self, outputs: Iterable[Output], views: Views) -> None:
        """Into the open batch, all at once."""
        with self._turn:
            was_empty = self._open.is_empty
            for output in outputs:
                self._sort_in(output)
            self._open.pods.update(views.pods)
            self._open.nodes.update(views.nodes)
            self._counts = views.counts
            if was_empty:
                self._turn.notify_all()

    def wait_for_room(self, seconds: float) -> bool:
        """False: the sink is still behind after so long."""
        with self._turn:
            return self._turn.wait_for(
                lambda: len(self._open.cycles) < MAX_OPEN_CYCLES or self._has_ended, seconds
            )

    @property
    def is_idle(self) -> bool:
        with self._turn:
            return self._open.is_empty and not self._is_committing

    def _sort_in(self, output: Output) -> None:
        batch = self._open
        if isinstance(output, CycleRecord):
            if output.number > self._last_cycle:
                self._last_cycle = output.number
                batch.cycles.append(output)
            elif not batch.cycles or output.number < batch.cycles[0].number:
                batch.updates.append(output)
        elif isinstance(output, Move):
            batch.moves.append(output)
        elif isinstance(output, CommandResult):
            batch.results.append(output)
        else:
            batch.effects.append(output)

    # ---- writer thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (batch := self._next_batch()) is not None:
                self._sink.commit(batch)
                self._release(batch.effects)
        except BaseException as error:
            self._has_ended = True
            self._failed(error)

    def _next_batch(self) -> Batch | None:
        """The open batch, as soon as there is something in it; an empty one each second; None at the end."""
        with self._turn:
            self._is_committing = False
            self._turn.wait_for(
                lambda: not self._open.is_empty or self._has_ended, HEARTBEAT_SECONDS
            )
            if self._has_ended and self._open.is_empty:
                return None
            batch, self._open = self._open, Batch()
            self._is_committing = True
            counts = self._counts
            self._turn.notify_all()
        batch.at = self._now()
        batch.counters = self._counters(counts)
        return batch
