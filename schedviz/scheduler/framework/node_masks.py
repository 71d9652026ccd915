"""Which nodes a selector, a term or a set of tolerations takes, as a mask over the snapshot's rows.

Used by plugins that judge nodes by their labels and taints. What has been worked out is remembered with the snapshot
until something about the nodes themselves changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import NodeSelector, NodeSelectorTerm, Requirement, Toleration
from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.snapshot import Snapshot

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
_FEW = 64


def requirement_mask(one: Requirement, nodes: Snapshot) -> Mask:
    column = nodes.label(one.key)
    return column.select([one.accepts(value) for value in column.values], absent=one.accepts(None))


def term_mask(term: NodeSelectorTerm, nodes: Snapshot) -> Mask:
    """bool [node]: where the term matches; an empty term matches nowhere."""
    return nodes.remembered(term, lambda: _term_mask(term, nodes))


def selector_mask(selector: NodeSelector, nodes: Snapshot) -> Mask:
    """bool [node]: where any term matches."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.terms:
        mask |= term_mask(term, nodes)
    return mask


def required_mask(pod: Pod, nodes: Snapshot) -> Mask:
    """bool [node]: where the pod's node selector and required node affinity let it be."""
    shape = (tuple(pod.node_selector.items()), pod.required_node_affinity)
    return nodes.remembered(shape, lambda: _required_mask(pod, nodes))


def tolerated_mask(
    tolerations: tuple[Toleration, ...], nodes: Snapshot, *, comparing: bool = False
) -> Mask:
    """bool [node]: where no NoSchedule or NoExecute taint is left over."""
    refused = [
        any(
            taint.effect in ("NoSchedule", "NoExecute")
            and not any(t.tolerates(taint, comparing=comparing) for t in tolerations)
            for taint in taints
        )
        for taints in nodes.taint_sets
    ]
    mask: Mask = ~np.array(refused, dtype=np.bool_)[nodes.taint_set_ids]
    return mask


def selected_rows(requirements: tuple[Requirement, ...], nodes: Snapshot) -> Rows:
    """The rows whose labels meet all of them. Cheap where one asks for few nodes by name or zone, as volumes do."""
    narrow = next((one for one in requirements if one.operator == "In"), None)
    if narrow is None:
        mask = np.ones(len(nodes), dtype=np.bool_)
        for one in requirements:
            mask &= requirement_mask(one, nodes)
        return np.flatnonzero(mask)
    by_value = nodes.remembered(("rows by value", narrow.key), lambda: _by_value(narrow.key, nodes))
    found = [by_value[value] for value in dict.fromkeys(narrow.values) if value in by_value]
    rows = np.concatenate(found) if found else np.zeros(0, dtype=np.intp)
    rest = [one for one in requirements if one is not narrow]
    if rest and len(rows) <= _FEW:
        fits = [all(one.matches(nodes.infos[row].labels) for one in rest) for row in rows]
        return rows[np.array(fits, dtype=np.bool_)]
    for one in rest:
        rows = rows[requirement_mask(one, nodes)[rows]]
    return rows


def _by_value(key: str, nodes: Snapshot) -> dict[str, Rows]:
    """label value -> its rows."""
    column = nodes.label(key)
    order = np.argsort(column.codes, kind="stable")
    starts = np.searchsorted(column.codes[order], np.arange(len(column.values) + 1))
    return {
        value: order[starts[code] : starts[code + 1]] for code, value in enumerate(column.values)
    }


def _term_mask(term: NodeSelectorTerm, nodes: Snapshot) -> Mask:
    mask = np.full(len(nodes), not term.is_empty, dtype=np.bool_)
    for one in term.expressions:
        mask &= requirement_mask(one, nodes)
    for one in term.fields:
        named = np.zeros(len(nodes), dtype=np.bool_)
        named[[nodes.rows[name] for name in one.values if name in nodes.rows]] = True
        mask &= named if one.operator == "In" else ~named
    return mask


def _required_mask(pod: Pod, nodes: Snapshot) -> Mask:
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key, value in pod.node_selector.items():
        mask &= requirement_mask(Requirement(key, "In", (value,)), nodes)
    if pod.required_node_affinity is not None:
        mask &= selector_mask(pod.required_node_affinity, nodes)
    return mask
