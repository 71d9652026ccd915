"""What could be changed about a pod so that one certain node takes it: proposed from that node's verdicts.

Called by `changes`, which tries each proposal: here nothing has to be right, only likely. For each plugin that refused
the node there is a function that gives its remedies, each an alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from schedviz.kube.matching import NodeSelector, NodeSelectorTerm, Requirement, Toleration
from schedviz.kube.objects import Node, Pod
from schedviz.scheduler.framework.snapshot import Snapshot

COMBINATIONS = 12
"""Of one node's remedies at most so many combinations are proposed."""
CONDITION_TAINTS = "node.kubernetes.io/"
MEBI = 1 << 20


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the pod. field: where in its manifest; cost: how much is given up, to put small changes first;
    key: edits of one key differ only in their amounts."""

    field: str
    words: str
    key: str
    change: Callable[[Pod], Pod]
    cost: float = 1.0


Edits = tuple[Edit, ...]


def proposals(pod: Pod, nodes: Snapshot, row: int, plugins: list[str]) -> Iterator[Edits]:
    """Sets of edits after which this node may take the pod; none when some plugin has no remedy."""
    remedies = []
    for plugin in plugins:
        found = REMEDIES[plugin](pod, nodes, row) if plugin in REMEDIES else []
        if not found:
            return
        remedies.append(found)
    for chosen in islice(product(*remedies), COMBINATIONS):
        yield tuple(edit for edits in chosen for edit in edits)


def amount(resource: str, n: int) -> str:
    """As one writes it in a manifest."""
    if resource == "cpu":
        return f"{n}m" if n % 1000 else str(n // 1000)
    for size, unit in ((1 << 30, "Gi"), (MEBI, "Mi"), (1 << 10, "Ki")):
        if n >= size and n % size == 0 and "/" not in resource:
            return f"{n // size}{unit}"
    return str(n)


# ---- remedies, by plugin -------------------------------------------------------------------------------------------


def _smaller(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    if int(nodes.n_pods[row]) + 1 > int(nodes.allocatable("pods")[row]):
        return []
    edits = []
    for resource, wanted in pod.requests.items():
        free = int(nodes.allocatable(resource)[row]) - int(nodes.requested(resource)[row])
        if wanted <= max(free, 0):
            continue
        if free > MEBI and resource != "cpu":
            free -= free % MEBI
        if free <= 0 and "/" not in resource:
            return []  # a pod that asks for nothing would fit, but that is no advice
        edits.append(_less(resource, wanted, max(free, 0)))
    return [tuple(edits)] if edits else []


def _less(resource: str, wanted: int, n: int) -> Edit:
    words = f"ask for {amount(resource, n)} {resource} instead of {amount(resource, wanted)}"
    if not n:
        words = f"ask for no {resource}"

    def change(pod: Pod) -> Pod:
        return replace(pod, requests={**pod.requests, resource: n})

    cost = 1.0 + (wanted - n) / wanted
    return Edit("spec.containers[*].resources.requests", words, f"less {resource}", change, cost)


def _tolerant(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    edits = []
    for taint in _node(nodes, row).taints:
        is_hard = taint.effect in ("NoSchedule", "NoExecute")
        if not is_hard or any(one.tolerates(taint) for one in pod.tolerations):
            continue
        if taint.key.startswith(CONDITION_TAINTS):
            return []  # a sick or cordoned node is mended, not tolerated
        value = f"={taint.value}" if taint.value else ""
        words = f"tolerate the taint {taint.key}{value}:{taint.effect}"
        made = Toleration(taint.key, "Equal", taint.value, taint.effect)
        edits.append(Edit("spec.tolerations", words, words, _tolerating(made)))
    return [tuple(edits)] if edits else []


def _tolerating(toleration: Toleration) -> Callable[[Pod], Pod]:
    return lambda pod: replace(pod, tolerations=(*pod.tolerations, toleration))


def _less_choosy(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    """Selector keys that the node does not have, and of one affinity term what it does not match."""
    node = _node(nodes, row)
    keys = [key for key, value in pod.node_selector.items() if node.labels.get(key) != value]
    selector = tuple(_without_key(key, pod.node_selector[key]) for key in keys)
    required = pod.required_node_affinity
    if required is None or required.matches(node.labels, node.name):
        return [selector] if selector else []
    terms = sorted(required.terms, key=lambda term: len(_unmet(term, node)))
    return [(*selector, _without(required, term, node)) for term in terms[:2]]


def _without_key(key: str, value: str) -> Edit:
    def change(pod: Pod) -> Pod:
        kept = {name: one for name, one in pod.node_selector.items() if name != key}
        return replace(pod, node_selector=kept)

    words = f"drop {key}={value} from the node selector"
    return Edit("spec.nodeSelector", words, words, change, cost=1.5)


def _unmet(term: NodeSelectorTerm, node: Node) -> list[Requirement]:
    labels = [one for one in term.expressions if not one.matches(node.labels)]
    return labels + [one for one in term.fields if not one.accepts(node.name)]


def _without(required: NodeSelector, term: NodeSelectorTerm, node: Node) -> Edit:
    unmet = _unmet(term, node)
    rest = NodeSelectorTerm(
        tuple(one for one in term.expressions if one not in unmet),
        tuple(one for one in term.fields if one not in unmet),
    )
    terms = tuple(rest if one is term else one for one in required.terms)
    kept = None if rest.is_empty else NodeSelector(terms)
    said = ", ".join(_said(one) for one in unmet) or "the empty term"
    words = f"drop {said} from the required node affinity"
    return Edit(
        "spec.affinity.nodeAffinity",
        words,
        words,
        lambda pod: replace(pod, required_node_affinity=kept),
        cost=1.5 * max(1, len(unmet)),
    )


def _said(one: Requirement) -> str:
    return " ".join(
        (one.key, one.operator, *([f"({', '.join(one.values)})"] if one.values else ()))
    )


def _without_port(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    taken = {
        (port.protocol, port.port)
        for other in nodes.infos[row].pods.values()
        for port in other.host_ports
    }
    edits = []
    for port in pod.host_ports:
        if (port.protocol, port.port) in taken:
            kept = tuple(one for one in pod.host_ports if (one.protocol, one.port) not in taken)
            words = f"do without host port {port.port}/{port.protocol}"
            edits.append(Edit("spec.containers[*].ports", words, words, _with(host_ports=kept)))
    return [tuple(edits)] if edits else []


def _with(**fields: Any) -> Callable[[Pod], Pod]:
    return lambda pod: replace(pod, **fields)


def _looser_spread(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    """One constraint after the other, then all: the verdict does not say which it was."""
    hard = [one for one in pod.topology_spread if one.is_hard]
    edits = []
    for one in hard:
        words = f"let the spread over {one.topology_key} be ScheduleAnyway"

        def change(pod: Pod, one: Any = one) -> Pod:
            soft = replace(one, is_hard=False)
            kept = tuple(soft if each == one else each for each in pod.topology_spread)
            return replace(pod, topology_spread=kept)

        edits.append(Edit("spec.topologySpreadConstraints", words, words, change, cost=1.5))
    return _each_then_all(edits)


def _fewer_terms(pod: Pod, nodes: Snapshot, row: int) -> list[Edits]:
    edits = []
    for name, label in (("affinity", "podAffinity"), ("anti_affinity", "podAntiAffinity")):
        for term in getattr(pod, name).required:
            words = f"drop the required {label} term over {term.topology_key}"

            def change(pod: Pod, name: str = name, term: Any = term) -> Pod:
                had = getattr(pod, name)
                kept = tuple(one for one in had.required if one != term)
                return replace(pod, **{name: replace(had, required=kept)})

            edits.append(Edit(f"spec.affinity.{label}", words, words, change, cost=2.0))
    return _each_then_all(edits)


def _each_then_all(edits: list[Edit]) -> list[Edits]:
    return [(edit,) for edit in edits] + ([tuple(edits)] if len(edits) > 1 else [])


def _node(nodes: Snapshot, row: int) -> Node:
    node = nodes.infos[row].node
    if node is None:
        raise ValueError("a snapshot has nodes only")
    return node


Remedy = Callable[[Pod, Snapshot, int], list[Edits]]
REMEDIES: dict[str, Remedy] = {
    "NodeResourcesFit": _smaller,
    "TaintToleration": _tolerant,
    "NodeAffinity": _less_choosy,
    "NodePorts": _without_port,
    "PodTopologySpread": _looser_spread,
    "InterPodAffinity": _fewer_terms,
}
