"""Filters run on what is not so: a node without some of its pods, or with pods that are only nominated to it.

Used by `runtime` for nodes with nominated pods and by preemption for its dry runs. `NodeTrial` tries one node and knows
every filter; `RoomTrial` tries many nodes at once where no filter of the cycle looks at more than sums over pods.
Mirrors RunFilterPluginsWithNominatedPods of pkg/scheduler/framework/runtime/framework.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.interface import Plugin, Reads, Rows, answer, spoken
from schedviz.scheduler.framework.snapshot import IntColumn, Snapshot
from schedviz.scheduler.framework.status import SUCCESS, Error, NodeStatuses, Status

Nominated = Mapping[str, Mapping[str, Pod]]


def counted_before(pod: Pod, nominated: Mapping[str, Pod]) -> list[Pod]:
    """The pods nominated to a node that this pod must leave room for."""
    return [
        other
        for uid, other in nominated.items()
        if other.priority >= pod.priority and uid != pod.uid
    ]


@dataclass(frozen=True, slots=True)
class Crew:
    """filters: those that PreFilter did not skip; listeners: plugins whose PreFilter state follows a node's pods;
    fixed: by plugin, the verdict of a filter that does not look at the node's pods."""

    filters: Sequence[Plugin]
    listeners: Sequence[Plugin]
    fixed: Mapping[str, Status]


class NodeTrial:
    """One node of the cycle, whose pods may be taken away and put back. crew: who speaks in this cycle."""

    def __init__(self, crew: Crew, state: CycleState, pod: Pod, node: Snapshot) -> None:
        self._crew = crew
        self._state, self._pod, self._node = state, pod, node

    @property
    def pods(self) -> list[Pod]:
        return list(self._node.infos[0].pods.values())

    def add(self, other: Pod) -> Status:
        info = self._node.infos[0].clone()
        info.add_pod(other)
        self._node.update([info])
        return self._tell("add_pod", other)

    def remove(self, other: Pod) -> Status:
        info = self._node.infos[0].clone()
        info.remove_pod(other.uid)
        self._node.update([info])
        return self._tell("remove_pod", other)

    def verdict(self) -> Status:
        """The first filter's refusal, or SUCCESS."""
        for plugin in self._crew.filters:
            fixed = self._crew.fixed.get(plugin.name)
            if fixed is not None and not fixed.is_success:
                return fixed
            if fixed is not None:
                continue
            said = answer(plugin, plugin.filter_nodes, self._state, self._pod, self._node)  # type: ignore[attr-defined]
            if not isinstance(said, NodeStatuses):
                return spoken(plugin, said or Error("gave no NodeStatuses"))
            if said.codes[0]:
                return said.status(0).by(plugin.name)
        return SUCCESS

    def verdict_beside(self, nominated: Sequence[Pod]) -> Status:
        """With these pods there too; and, if that is a success, without them: a nomination may come to nothing."""
        if nominated:
            status = self.verdict_with(nominated)
            if not status.is_success:
                return status
        return self.verdict()

    def verdict_with(self, nominated: Sequence[Pod]) -> Status:
        """With these pods there too."""
        node = self._node.trial(0)
        fuller = NodeTrial(self._crew, self._state.at(0), self._pod, node)
        for other in nominated:
            status = fuller.add(other)
            if not status.is_success:
                return status
        return fuller.verdict()

    def _tell(self, method: str, other: Pod) -> Status:
        info = self._node.infos[0]
        for plugin in self._crew.listeners:
            call = getattr(plugin, method)
            status = spoken(plugin, answer(plugin, call, self._state, self._pod, other, info))
            if not status.is_success:
                return status
        return SUCCESS


Of = Callable[[Pod], int]
Change = Callable[[Hashable, Of], IntColumn]


class Room(Snapshot):
    """Some rows of a snapshot with other pods. beside: (index, a pod nominated to this row); change(key, of): by how
    much the sum of of(pod) over the row's pods differs [row], where `key` says which function `of` is."""

    is_trial = True

    def __init__(self, nodes: Snapshot, rows: Rows, beside: list[tuple[int, Pod]]) -> None:
        super().__init__(nodes.listers)
        self.infos = [nodes.infos[row] for row in rows.tolist()]
        self.of_rows, self.beside = rows, beside
        self._source = nodes
        self._indexes = np.fromiter((index for index, _ in beside), np.intp, len(beside))
        self._sums: dict[Hashable, IntColumn] = {}
        self.change: Change = self.nominated
        self.recount()

    def nominated(self, key: Hashable, of: Of) -> IntColumn:
        """The part of the change that nominated pods make."""
        known = self._sums.get(key)
        if known is None:
            values = np.array([of(pod) for _, pod in self.beside], dtype=np.int64)
            known = self._sums[key] = np.zeros(len(self), dtype=np.int64)
            np.add.at(known, self._indexes, values)
        return known

    def slots(self, key: str) -> NDArray[np.int32]:
        """Each row's domain of a topology key, from 1; 0 without the label. The numbers are the snapshot's."""
        slots: NDArray[np.int32] = self._source.label(key).codes[self.of_rows] + 1
        return slots

    def recount(self) -> None:
        """Something about the change has changed."""
        self.n_pods = self._source.n_pods[self.of_rows] + self.change("pods", lambda pod: 1)

    def _resource(self, resource: str) -> tuple[IntColumn, IntColumn]:
        rows, key = self.of_rows, ("requests", resource)
        change = self.change(key, lambda pod: pod.requests.get(resource, 0))
        return (
            self._source.allocatable(resource)[rows],
            self._source.requested(resource)[rows] + change,
        )


@dataclass(slots=True)
class RoomVerdict:
    """first [row]: the number of the filter that refuses, -1: none. statuses: of each filter, by its number."""

    first: NDArray[np.int16]
    statuses: list[NodeStatuses]
    plugins: Sequence[Plugin]
    error: Status | None = None

    @property
    def passed(self) -> NDArray[np.bool_]:
        passed: NDArray[np.bool_] = self.first == -1
        return passed

    def status(self, index: int) -> Status:
        number = int(self.first[index])
        return self.statuses[number].status(index).by(self.plugins[number].name)


class RoomTrial:
    """Filters that all read no more than sums. known: what the filters said of all nodes in this cycle."""

    def __init__(
        self,
        filters: Sequence[Plugin],
        known: Sequence[NodeStatuses],
        state: CycleState,
        pod: Pod,
        nodes: Snapshot,
    ) -> None:
        self._filters, self.known = filters, known
        self._state, self._pod = state, pod
        self.nodes = nodes

    def room(self, rows: Rows, nominated: Nominated) -> Room:
        """These rows with the pods that are nominated to them."""
        names = self.nodes.names
        beside = [
            (index, other)
            for index, row in enumerate(rows.tolist())
            if (there := nominated.get(names[row]))
            for other in counted_before(self._pod, there)
        ]
        return Room(self.nodes, rows, beside)

    def verdict(self, room: Room) -> RoomVerdict:
        rows = room.of_rows
        found = RoomVerdict(np.full(len(rows), -1, dtype=np.int16), [], self._filters)
        for number, plugin in enumerate(self._filters):
            said: Any = self.known[number].at(rows)
            if plugin.filter_reads is not Reads.NODE:
                call: Any = getattr(plugin, "filter_room", None) or plugin.filter_nodes  # type: ignore[attr-defined]
                said = answer(plugin, call, self._state, self._pod, room)
            if not isinstance(said, NodeStatuses):
                found.error = spoken(plugin, said or Error("gave no NodeStatuses"))
                return found
            found.statuses.append(said)
            found.first[(said.codes != 0) & (found.first == -1)] = number
        return found
