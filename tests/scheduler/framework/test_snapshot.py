"""A snapshot kept up to date is the snapshot that would be built anew."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedviz.scheduler.framework import Snapshot
from tests import make, strategies

NAMES = st.sampled_from(["n0", "n1", "n2", "n3"])
RESOURCES = ("cpu", "memory", "pods", "example.com/gpu")


def labels_of(nodes: Snapshot, key: str) -> list:
    column = nodes.label(key)
    return [column.values[code] if code >= 0 else None for code in column.codes]


def picture(nodes: Snapshot) -> dict:
    images = ("app:v1", "big:v1", "side:latest")
    columns = [nodes.image(name) for name in images]
    return {
        "names": nodes.names,
        "rows": nodes.rows,
        "n_pods": nodes.n_pods.tolist(),
        "cpu": nodes.non_zero_milli_cpu.tolist(),
        "memory": nodes.non_zero_memory.tolist(),
        "room": [nodes.allocatable(name).tolist() for name in RESOURCES],
        "used": [nodes.requested(name).tolist() for name in RESOURCES],
        "labels": [labels_of(nodes, key) for key in "abc"],
        "taints": [nodes.taint_sets[number] for number in nodes.taint_set_ids],
        "cordoned": nodes.unschedulable.tolist(),
        "images": [column and column.present.tolist() for column in columns],
        "ports": {
            (protocol, port): nodes.port_users(protocol, port)
            for protocol in ("TCP", "UDP")
            for port in (80, 443)
        },
    }


class Kept(RuleBasedStateMachine):
    """Nodes and pods come, change and go; the snapshot hears of each as the cache would tell it."""

    def __init__(self) -> None:
        super().__init__()
        self.infos: dict = {}
        self.nodes = Snapshot()
        self.count = 0

    def tell(self, name: str) -> None:
        info = self.infos.get(name)
        self.nodes.update([info.clone()] if info else [], [] if info else [name])

    @rule(name=NAMES, drawn=strategies.nodes(most=1))
    def set_node(self, name, drawn):
        node = drawn[0] if drawn else make.node(name)
        node.name = name
        if name in self.infos:
            self.infos[name].node = node
        else:
            self.infos[name] = make.node_info(node)
        self.tell(name)

    @rule(name=NAMES)
    def remove_node(self, name):
        self.infos.pop(name, None)
        self.tell(name)

    @rule(name=NAMES, pod=strategies.pods())
    def add_pod(self, name, pod):
        if name in self.infos:
            self.count += 1
            pod.uid, pod.node_name = str(self.count), name
            self.infos[name].add_pod(pod)
            self.tell(name)

    @rule(name=NAMES)
    def remove_pod(self, name):
        if name in self.infos and self.infos[name].pods:
            self.infos[name].remove_pod(next(iter(self.infos[name].pods)))
            self.tell(name)

    @invariant()
    def is_as_if_built_anew(self):
        assert picture(self.nodes) == picture(
            Snapshot.of(self.infos[name] for name in self.nodes.names)
        )
        assert set(self.nodes.names) == set(self.infos)


TestKept = Kept.TestCase


def test_rows_stand_in_the_order_in_which_nodes_came():
    nodes = make.snapshot([make.node("b"), make.node("a")])
    nodes.update([make.node_info(make.node("c"))], ["b"])
    assert nodes.names == ("a", "c")


def test_changed_rows_are_known():
    nodes = make.snapshot([make.node("a"), make.node("b")])
    before = nodes.stamp
    nodes.update([make.node_info(make.node("b"))])
    assert nodes.changed_since(before).tolist() == [1]
    assert nodes.changed_since(nodes.stamp).tolist() == []


def test_an_image_has_the_size_that_its_first_node_told():
    nodes = make.snapshot([make.node("a", images={"x:1": 10}), make.node("b", images={"x:1": 20})])
    assert nodes.image("x:1").size == 10
    assert nodes.image("x:1").n_nodes == 2
