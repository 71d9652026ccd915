"""A cycle as the strip of extension points: what each did, in a word or two. Drawn by the board and the cycle's page.

Reads a cycle in short (`frames.cycle_in_short`), so that both pages say the same of the same cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schedviz.web import words

PENDING_BINDING = "scheduled"
FAILED = ("unschedulable", "error")


@dataclass(frozen=True, slots=True)
class Point:
    """state: done, skip (nothing to do), fail, wait (under way) or none (not reached)."""

    name: str
    state: str
    text: str
    ms: float | None = None

    @property
    def meaning(self) -> str:
        return words.POINTS[self.name]


@dataclass(frozen=True, slots=True)
class Strip:
    scheduling: list[Point]
    binding: list[Point]


def strip(cycle: dict[str, Any]) -> Strip:
    found = {point["point"]: point for point in cycle["points"]}
    return Strip(
        [_point(name, found.get(name), cycle) for name in words.SCHEDULING_POINTS],
        [_binding(name, found.get(name), cycle) for name in words.BINDING_POINTS],
    )


def _point(name: str, point: dict[str, Any] | None, cycle: dict[str, Any]) -> Point:
    if point is None:
        return _absent(name, cycle)
    if name == "Filter":
        failed = not cycle["n_feasible"]
        text = f"{cycle['n_nodes']:,} → {words.plural(cycle['n_feasible'], 'node')}"
        return Point(name, "fail" if failed else "done", text, point["ms"])
    if name == "Score":
        failed = cycle["outcome"] == "error" and not cycle["chosen"]
        text = "failed" if failed else words.plural(point["ran"], "plugin")
        return Point(name, "fail" if failed else "done", text, point["ms"])
    if point["text"]:
        waits = name == "Permit" and cycle["outcome"] == PENDING_BINDING
        return Point(name, "wait" if waits else "fail", point["text"], point["ms"])
    return Point(name, "done" if point["ran"] else "skip", _ran(point), point["ms"])


def _ran(point: dict[str, Any]) -> str:
    parts = [
        f"{n} {word}" for n, word in ((point["ran"], "ran"), (point["skipped"], "skipped")) if n
    ]
    return ", ".join(parts)


def _absent(name: str, cycle: dict[str, Any]) -> Point:
    if name == "PostFilter":
        failed = cycle["outcome"] in FAILED and not cycle["n_feasible"]
        return Point(name, "skip", "nothing to try" if failed else "not needed")
    if not cycle["n_feasible"]:
        return Point(name, "none", "not reached")
    if cycle["outcome"] == "error" and not cycle["chosen"]:
        return Point(name, "none", "not reached")
    if name in ("PreScore", "Score"):
        return Point(name, "skip", "only one node" if cycle["n_feasible"] == 1 else "nothing to do")
    return Point(name, "skip", "nothing to do") if cycle["chosen"] else Point(name, "none", "")


def _binding(name: str, point: dict[str, Any] | None, cycle: dict[str, Any]) -> Point:
    outcome = cycle["outcome"]
    if outcome in FAILED:
        return Point(name, "none", "not reached")
    if point is None:
        if outcome == PENDING_BINDING:
            return Point(
                name, "wait" if name == "Bind" else "none", "under way" if name == "Bind" else ""
            )
        return Point(name, "skip", "nothing to do")
    if name == "Bind":
        if outcome == "bind_failed":
            return Point(name, "fail", point["text"] or "refused", point["ms"])
        return Point(name, "done", f"→ {cycle['chosen']}", point["ms"])
    if point["text"]:
        return Point(name, "fail", point["text"], point["ms"])
    return Point(name, "done" if point["ran"] else "skip", _ran(point), point["ms"])
