"""What plugins leave for themselves within one cycle: written at PreFilter or PreScore, read at Filter or Score.

Mirrors pkg/scheduler/framework/cycle_state.go (v1.36). Left out on purpose: locks (a cycle is one generator).
"""

from __future__ import annotations

from typing import Any


class CycleState:
    """One dictionary a cycle; keys are the plugins' own. pods_to_activate: uids of waiting pods that a plugin wants
    tried once this pod has its node, or, if named later, once it is bound (upstream's PodsToActivate)."""

    __slots__ = ("_values", "pods_to_activate", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.pods_to_activate: set[str] = set()

    def write(self, key: str, value: Any) -> None:
        self._values[key] = value

    def read(self, key: str) -> Any:
        """Raises KeyError "not found" as upstream's ErrNotFound when nothing was written."""
        if key not in self._values:
            raise KeyError("not found")
        return self._values[key]

    def get(self, key: str) -> Any | None:
        return self._values.get(key)

    def at(self, row: int) -> CycleState:
        """What was left about one node, to be changed freely: for a trial of that node (see `node_trial`). A value
        with columns over nodes, or one that `add_pod` changes, has a method `at` of its own; others are shared."""
        other = CycleState()
        other._values = {
            key: value.at(row) if hasattr(value, "at") else value
            for key, value in self._values.items()
        }
        other.skip_filter, other.skip_score = self.skip_filter, self.skip_score
        other.pods_to_activate = self.pods_to_activate
        return other
