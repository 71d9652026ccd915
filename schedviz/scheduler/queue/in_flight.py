"""What happened in the cluster while pods were in flight, that is from their pop until their attempt is over.

Used by `scheduling_queue`: a pod that comes back rejected must not sleep through an event that came meanwhile. Mirrors
inFlightPods and inFlightEvents of pkg/scheduler/backend/queue/active_queue.go (v1.36): one shared log, and each pod
remembers how long it was when the pod left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from schedviz.scheduler.framework.cluster_event import Happening


@dataclass(slots=True)
class _Flight:
    began: int
    own: list[Happening] = field(default_factory=list)


class InFlight:
    """Pods by uid."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight] = {}
        self._log: list[Happening] = []

    def __contains__(self, uid: str) -> bool:
        return uid in self._flights

    def __iter__(self) -> Iterator[str]:
        return iter(self._flights)

    def begin(self, uid: str) -> None:
        self._flights[uid] = _Flight(len(self._log))

    def note(self, happened: Happening) -> None:
        """Something that any of them may have to hear of."""
        if self._flights:
            self._log.append(happened)

    def note_own(self, uid: str, happened: Happening) -> None:
        """The pod itself changed."""
        self._flights[uid].own.append(happened)

    def end(self, uid: str) -> list[Happening]:
        """The attempt is over: what happened meanwhile."""
        flight = self._flights.pop(uid, None)
        if flight is None:
            return []
        happened = flight.own + self._log[flight.began :]
        if not self._flights:
            self._log.clear()
        return happened
