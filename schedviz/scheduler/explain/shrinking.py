"""How the set of nodes shrank to nothing, clause by clause, and which nodes failed alike: read from a record.

Every filter was asked about every node, so that each clause has its own verdict, whichever came first. Certain: nothing
is run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedviz.scheduler.framework.status import Code, NodeStatuses
from schedviz.scheduler.framework.steps import CycleRecord, Step

NODES_NAMED = 5
OUTSIDE = -2
"""`first_failure` of nodes that PreFilter left out."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Clause:
    """One demand. `reason`: the plugin's words where it fails; n_fail: nodes that fail it, whatever else they fail;
    n_left: nodes that keep this demand and all before it."""

    plugin: str
    reason: str
    n_fail: int
    n_left: int


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that failed the same plugins. never: one of these says that no removal of pods would help."""

    plugins: tuple[str, ...]
    reasons: tuple[str, ...]
    n_nodes: int
    nodes: tuple[str, ...]  # the first of them
    never: bool

    @property
    def n_more(self) -> int:
        return self.n_nodes - len(self.nodes)


def clauses(record: CycleRecord) -> list[Clause]:
    """In the order of the filters; demands that every node keeps are left out. Empty without the record's columns."""
    if record.first_failure is None:
        return []
    left = np.ones(len(record.node_names), dtype=np.bool_)
    found = []
    for plugin, reason, fails in _demands(record, record.first_failure):
        left &= ~fails
        found.append(Clause(plugin, reason, int(fails.sum()), int(left.sum())))
    return found


def _demands(record: CycleRecord, first: NDArray[np.int16]) -> Iterator[tuple[str, str, Mask]]:
    outside = first == OUTSIDE
    if outside.any():
        yield ", ".join(_narrowing(record)), "", outside
    for step in _filters(record):
        for reason, fails in _reasons(step.nodes):
            yield step.plugin, reason, fails


def _narrowing(record: CycleRecord) -> list[str]:
    """The plugins whose PreFilter named the only nodes that count."""
    return [
        step.plugin
        for step in record.steps
        if step.point == "PreFilter" and step.node_names is not None
    ]


def _filters(record: CycleRecord) -> list[Step]:
    return [step for step in record.steps if step.point == "Filter" and step.nodes is not None]


def _failed(nodes: NodeStatuses) -> Mask:
    failed: Mask = (nodes.codes != int(Code.SUCCESS)) & (nodes.codes != int(Code.SKIP))
    return failed


def _reasons(nodes: NodeStatuses | None) -> Iterator[tuple[str, Mask]]:
    """Each of a filter's reasons with the nodes that have it; a node may have several."""
    if nodes is None:
        return
    failed = _failed(nodes)
    if not failed.any():
        return
    used = set(np.unique(nodes.reason_ids[failed]).tolist())
    ids_of: dict[str, list[int]] = {}
    for number, reasons in enumerate(nodes.table):
        if number in used:
            for reason in reasons or ("",):
                ids_of.setdefault(reason, []).append(number)
    for reason, ids in ids_of.items():
        yield reason, failed & np.isin(nodes.reason_ids, ids)


def groups(record: CycleRecord) -> list[NodeGroup]:
    """The refused nodes by their set of failing plugins, the fewest failures first, then the largest group."""
    if record.first_failure is None:
        return []
    outside = record.first_failure == OUTSIDE
    names, columns = [", ".join(_narrowing(record))], [outside]
    never = outside.copy()
    for step in _filters(record):
        if step.nodes is not None:
            names.append(step.plugin)
            columns.append(_failed(step.nodes))
            never |= step.nodes.codes == int(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    table = np.stack([*columns, never], axis=1)
    patterns, inverse = np.unique(table, axis=0, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(inverse.reshape(-1) == number)
        plugins = tuple(name for name, fails in zip(names, pattern, strict=False) if fails)
        if plugins:
            found.append(_group(record, plugins, rows, never=bool(pattern[-1])))
    return sorted(found, key=lambda one: (len(one.plugins), -one.n_nodes, one.plugins))


def _group(
    record: CycleRecord, plugins: tuple[str, ...], rows: NDArray[np.intp], *, never: bool
) -> NodeGroup:
    reasons: dict[str, None] = {}
    for step in _filters(record):
        if step.nodes is not None and step.plugin in plugins:
            for reason_id in np.unique(step.nodes.reason_ids[rows]).tolist():
                reasons |= dict.fromkeys(step.nodes.table[reason_id])
    nodes = tuple(record.node_names[row] for row in rows[:NODES_NAMED].tolist())
    return NodeGroup(plugins, tuple(reasons), len(rows), nodes, never)
