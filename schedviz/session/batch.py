"""What a session hands to whoever keeps it: batches, and the contract of the sink that takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from schedviz.scheduler.framework.steps import CommandResult, CycleRecord, Effect, Lane, Move
from schedviz.scheduler.views import NodeView, PodView, Remembered


class Fenced(Exception):
    """The lease is another's: nothing may be written or bound any more."""


@dataclass(frozen=True, slots=True)
class RestoredPod:
    """What the record knows of a pod since the last holder ended: one that was waiting, or one on its node."""

    uid: str
    namespace: str = ""
    name: str = ""
    lane: Lane | None = None
    kept: Remembered = field(default_factory=Remembered)


@dataclass(slots=True)
class Batch:
    """What happened since the last one; the newest view of each pod and node. nodes: None = gone.

    cycles: new ones, in the order of their numbers. updates: cycles of earlier batches whose binding has ended.
    counters: pods by lane, "bound", "cycles", "cycles_per_s", "cluster": {"connected", "failing", "message"}, "events".
    """

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
        """Whether there is nothing in it but counters."""
        contents = (self.cycles, self.updates, self.moves, self.results, self.effects)
        return not (any(contents) or self.pods or self.nodes)


class Sink(Protocol):
    """Where batches become durable. `commit` is called on the writer thread, one batch at a time, and returns when the
    batch is kept; a database that is away for a while is waited for here. It raises Fenced when the lease is lost; what
    else it raises ends the session."""

    def commit(self, batch: Batch) -> None: ...
