"""The smallest changes after which a pending pod would find a node; each is tried with the core's own filters.

Called by the task that looks for changes and by `manage.py explain`. `proposals` says what may help one node; here it
is tried on all of them, and only what passed is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from schedviz.kube import objects
from schedviz.kube.matching import NodeSelectorTerm
from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.explain.proposals import CONDITION_TAINTS, Edits, amount, proposals
from schedviz.scheduler.explain.world import Tried, World
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import Code

MOST_TRIES = 150
MOST_EVICTIONS = 400
TOLD = 6
TOLD_OF_A_KIND = 3
NODES_NAMED = 3
NEW_NODE = "new-node"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Change:
    """kind: pod (its manifest), victim, uncordon or node (a new one). edits: all of them are needed; fields: where in
    the manifest. n_nodes: how many nodes would pass, the first of them named."""

    kind: str
    edits: tuple[str, ...]
    n_nodes: int
    nodes: tuple[str, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """passing: nodes that pass as things are. refusal: PreFilter's words, when no node could be asked. n_tried: how
    often the filters were asked; every change told has passed one of these."""

    n_nodes: int
    n_tried: int
    passing: tuple[str, ...]
    changes: tuple[Change, ...]
    refusal: str = ""


def find(framework: Framework, among: Iterable[KubeObject], uid: str) -> Findings:
    """Raises LookupError when the pod is gone or placed."""
    world = World(framework, among, uid)
    now = world.tried(world.pod)
    n_nodes = len(now.nodes)
    changes: list[Change] = []
    if not now.passing:
        if now.verdict is not None:
            changes += _pod_changes(world, now)
            changes += _uncordoned(world, now)
            changes += _victims(world, now)
        changes += _new_node(world)
    return Findings(
        n_nodes=n_nodes,
        n_tried=world.n_tried,
        passing=tuple(now.passing[:NODES_NAMED]),
        changes=tuple(changes),
        refusal=now.refusal.message if now.refusal else "",
    )


def _told(
    kind: str, edits: tuple[str, ...], names: list[str], fields: Iterable[str] = ()
) -> Change:
    return Change(kind, edits, len(names), tuple(names[:NODES_NAMED]), tuple(dict.fromkeys(fields)))


# ---- the pod's manifest --------------------------------------------------------------------------------------------


def _pod_changes(world: World, now: Tried) -> list[Change]:
    """Few and small edits first. A set of edits of which a part is enough is not told."""
    found: list[tuple[Edits, list[str]]] = []
    for edits in _candidates(world.pod, now)[:MOST_TRIES]:
        keys = {edit.key for edit in edits}
        if any({edit.key for edit in one} <= keys for one, _ in found):
            continue
        pod = world.pod
        for edit in edits:
            pod = edit.change(pod)
        passing = world.tried(pod).passing
        if passing:
            found.append((edits, passing))
        if len(found) == TOLD:
            break
    return [
        _told("pod", tuple(one.words for one in edits), names, (one.field for one in edits))
        for edits, names in found
    ]


def _candidates(pod: Pod, now: Tried) -> list[Edits]:
    """For each combination of edits the cheapest amounts, the least change first."""
    cheapest: dict[frozenset[str], Edits] = {}
    for row, plugins in _refused(now):
        for edits in proposals(pod, now.nodes, row, plugins):
            keys = frozenset(edit.key for edit in edits)
            if keys not in cheapest or _cost(edits) < _cost(cheapest[keys]):
                cheapest[keys] = edits
    return sorted(cheapest.values(), key=_cost)


def _cost(edits: Edits) -> tuple[int, float, tuple[str, ...]]:
    return len(edits), sum(edit.cost for edit in edits), tuple(edit.words for edit in edits)


def _refused(now: Tried) -> Iterator[tuple[int, list[str]]]:
    """Every row with the plugins that refused it."""
    if now.verdict is None:
        return
    steps = [step for step in now.verdict.steps if step.nodes is not None]
    for row in range(len(now.nodes)):
        plugins = [
            step.plugin for step in steps if step.nodes is not None and step.nodes.codes[row]
        ]
        if plugins:
            yield row, plugins


# ---- the nodes -----------------------------------------------------------------------------------------------------


def _uncordoned(world: World, now: Tried) -> list[Change]:
    found = []
    for row, plugins in _refused(now):
        node = now.nodes.infos[row].node
        if node is None or not set(plugins) <= {"NodeUnschedulable", "TaintToleration"}:
            continue
        if not node.unschedulable:
            continue
        taints = tuple(one for one in node.taints if one.key != f"{CONDITION_TAINTS}unschedulable")
        with world.with_node(replace(node, unschedulable=False, taints=taints)):
            passing = world.tried(world.pod).passing
        if passing:
            found.append(_told("uncordon", (f"uncordon node {node.name}",), passing))
        if len(found) == TOLD_OF_A_KIND:
            break
    return found


def _new_node(world: World) -> list[Change]:
    """A node that has what the pod asks for, bare otherwise."""
    pod = world.pod
    wanted = {name: n for name, n in pod.requests.items() if n > 0}
    for labels in _wished_labels(world):
        with world.with_node(_bare_node(wanted, labels)):
            passing = world.tried(pod).passing
        if NEW_NODE in passing:
            sizes = [f"{amount(name, n)} {name}" for name, n in wanted.items()]
            shape = ", ".join([*sizes, *(f"{key}={value}" for key, value in labels.items())])
            return [
                _told("node", (f"add a node with {shape or 'room for one more pod'}",), passing)
            ]
    return []


def _bare_node(wanted: dict[str, int], labels: dict[str, str]) -> Node:
    amounts = {name: f"{n}m" if name == "cpu" else str(n) for name, n in wanted.items()}
    meta = {"name": NEW_NODE, "labels": {HOSTNAME: NEW_NODE, **labels}}
    made = objects.parse(
        "Node", {"metadata": meta, "status": {"allocatable": {"pods": "110", **amounts}}}
    )
    if not isinstance(made, Node):
        raise TypeError("a Node was parsed")
    return made


def _wished_labels(world: World) -> Iterator[dict[str, str]]:
    """What selector and affinity ask for, in each place that topologies know."""
    pod = world.pod
    required = pod.required_node_affinity
    terms = [_labels_of(term) for term in required.terms] if required else [{}]
    nodes = world.tried(pod).nodes
    places = [{}, *_places(pod, nodes)]
    for term, place in product([one for one in terms if one is not None], places):
        yield {**place, **pod.node_selector, **term}


def _labels_of(term: NodeSelectorTerm) -> dict[str, str] | None:
    """Labels that meet the term; None where labels alone can't."""
    if term.fields or term.is_empty:
        return None
    labels = {}
    for one in term.expressions:
        if one.operator == "In":
            labels[one.key] = one.values[0]
        elif one.operator == "Exists":
            labels[one.key] = ""
        elif one.operator in ("Gt", "Lt"):
            labels[one.key] = str(int(one.values[0]) + (1 if one.operator == "Gt" else -1))
    return labels


def _places(pod: Pod, nodes: Snapshot) -> list[dict[str, str]]:
    """The label sets, of the keys that the pod's topologies name, that nodes have: each once, a few."""
    terms = (*pod.affinity.required, *pod.anti_affinity.required)
    hard = [one.topology_key for one in pod.topology_spread if one.is_hard]
    keys = sorted({*hard, *(term.topology_key for term in terms)} - {HOSTNAME})
    found: dict[tuple[tuple[str, str], ...], None] = {}
    for info in nodes.infos:
        if info.node is not None and keys:
            labels = info.node.labels
            found[tuple((key, labels[key]) for key in keys if key in labels)] = None
    return [dict(one) for one in list(found)[:8]]


# ---- other pods ----------------------------------------------------------------------------------------------------


def _victims(world: World, now: Tried) -> list[Change]:
    """One pod whose going would be enough, the least important first."""
    verdict = now.verdict
    if verdict is None:
        return []
    rows = np.flatnonzero(verdict.codes() == int(Code.UNSCHEDULABLE)).tolist()
    there = [(other, row) for row in rows for other in now.nodes.infos[row].pods.values()]
    there.sort(key=lambda pair: (pair[0].priority, pair[0].key))
    found: list[Change] = []
    for other, row in there[:MOST_EVICTIONS]:
        trial = world.framework.node_trial(now.state, world.pod, now.nodes, row, verdict)
        world.n_tried += 1
        if trial.remove(other).is_success and trial.verdict().is_success:
            words = f"pod {other.key} (priority {other.priority}) leaves its node"
            found.append(_told("victim", (words,), [now.nodes.names[row]]))
        if len(found) == TOLD_OF_A_KIND:
            break
    return found
