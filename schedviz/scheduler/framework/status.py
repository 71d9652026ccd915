"""What a plugin answers: a code and its reasons, for one pod or for every node at once.

Returned by plugins, read by the runtime, kept by the journal. Mirrors pkg/scheduler/framework Status (v1.36);
the codes have upstream's numbers. Left out on purpose: wrapped Go errors (an error is its text).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class Code(enum.IntEnum):
    """Upstream's status codes, with upstream's numbers."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def title(self) -> str:
        """Upstream's spelling: "UnschedulableAndUnresolvable"."""
        return _TITLES[self]


_TITLES = {code: "".join(word.capitalize() for word in code.name.split("_")) for code in Code}


@dataclass(frozen=True, slots=True)
class Status:
    """One answer. `plugin` is filled in by the runtime."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_rejected(self) -> bool:
        """Unschedulable, UnschedulableAndUnresolvable or Pending, as upstream's IsRejected."""
        return self.code in REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        if self.plugin == plugin:
            return self
        if self.reasons:
            return Status(self.code, self.reasons, plugin)
        return _without_reasons(self.code, plugin)


@functools.cache
def _without_reasons(code: Code, plugin: str) -> Status:
    """Most answers are one of a few: each is made once."""
    return Status(code, (), plugin)


REJECTED = frozenset(
    {Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING},
)
SUCCESS = Status(Code.SUCCESS)


def Unschedulable(*reasons: str) -> Status:
    """The pod does not fit now; an event or a preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def UnschedulableAndUnresolvable(*reasons: str) -> Status:
    """The pod does not fit and removing other pods would not help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def Error(*reasons: str) -> Status:
    """Something went wrong: the cycle fails with these words."""
    return Status(Code.ERROR, reasons)


def Skip() -> Status:
    """The plugin has nothing to say in this cycle (or, at Bind, leaves it to the next)."""
    return _without_reasons(Code.SKIP, "")


def Wait(*reasons: str) -> Status:
    """Permit: hold the pod until it is allowed, rejected or its time is up."""
    return Status(Code.WAIT, reasons)


def fit_error(n_nodes: int, counts: Mapping[str, int]) -> str:
    """Upstream's FitError: "<count> <reason>", sorted as strings with the count."""
    reasons = ", ".join(sorted(f"{n} {reason}" for reason, n in counts.items()))
    return f"0/{n_nodes} nodes are available:{' ' + reasons + '.' if reasons else ''}"


class NodeStatuses:
    """One filter plugin's answer for every node, as columns.

    `codes` uint8 [node], `reason_ids` uint16 [node] index into `table`, whose entry 0 is no reason.
    Built with `reject`; a later rejection of the same node replaces the earlier one.
    """

    __slots__ = ("_ids", "codes", "reason_ids", "table")

    def __init__(self, n_nodes: int) -> None:
        self.codes: NDArray[np.uint8] = np.zeros(n_nodes, dtype=np.uint8)
        self.reason_ids: NDArray[np.uint16] = np.zeros(n_nodes, dtype=np.uint16)
        self.table: list[tuple[str, ...]] = [()]
        self._ids: dict[tuple[str, ...], int] = {(): 0}

    def __len__(self) -> int:
        return len(self.codes)

    def reason_id(self, reasons: tuple[str, ...]) -> int:
        found = self._ids.get(reasons)
        if found is None:
            found = self._ids[reasons] = len(self.table)
            self.table.append(reasons)
        return found

    def reject(
        self, rows: NDArray[np.bool_] | NDArray[np.intp] | int | slice, status: Status
    ) -> None:
        """Give `status` to these rows (a mask, row numbers, or one row)."""
        self.codes[rows] = int(status.code)
        self.reason_ids[rows] = self.reason_id(status.reasons)

    def status(self, row: int) -> Status:
        return Status(Code(int(self.codes[row])), self.table[int(self.reason_ids[row])])

    def at(self, rows: NDArray[np.intp]) -> NodeStatuses:
        """The same about some nodes, or about all of them in a copy."""
        other = NodeStatuses(0)
        other.codes, other.reason_ids = self.codes[rows], self.reason_ids[rows]
        other.table, other._ids = self.table.copy(), self._ids.copy()
        return other

    def take(self, rows: NDArray[np.intp], other: NodeStatuses) -> None:
        """Say of these rows what the other says of its own, one after the other."""
        ids = np.array([self.reason_id(reasons) for reasons in other.table], dtype=np.uint16)
        self.codes[rows] = other.codes
        self.reason_ids[rows] = ids[other.reason_ids]

    def same(self, other: NodeStatuses) -> NDArray[np.bool_]:
        """Which of its nodes the other says the same of."""
        ids = np.array([self._ids.get(reasons, -1) for reasons in other.table], dtype=np.int64)
        same: NDArray[np.bool_] = (self.codes == other.codes) & (
            self.reason_ids == ids[other.reason_ids]
        )
        return same

    @property
    def passed(self) -> NDArray[np.bool_]:
        passed: NDArray[np.bool_] = self.codes == 0
        return passed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeStatuses) or len(self) != len(other):
            return False
        return all(self.status(row) == other.status(row) for row in range(len(self)))

    __hash__ = None  # type: ignore[assignment]
