"""What the scheduler believes of the cluster: nodes with their pods, those it has only just placed among them.

Fed by `event_handlers` and `schedule_one`; gives the snapshot. Mirrors pkg/scheduler/backend/cache (v1.36). Left out
on purpose: the node tree (every node is evaluated) and the linked list of generations (a set of dirty names does it).

    placed by us:  assume -> finish_binding -> (the watch confirms: add_pod) -> added
                     |            |  not confirmed in `ttl_seconds`: expire (ttl 0: never, as upstream)
                     +-> forget <-+
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedviz.kube.objects import Node, Pod
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.snapshot import Snapshot


@dataclass(slots=True)
class _PodState:
    pod: Pod
    node_name: str
    is_assumed: bool = False


class Cache:
    """Pods are known by uid. `dirty`: names of nodes that changed since the last snapshot; `listers`: other objects."""

    def __init__(self, *, ttl_seconds: float = 0.0) -> None:
        self._ttl = ttl_seconds
        self._pods: dict[str, _PodState] = {}
        self._deadlines: dict[str, float] = {}  # by uid, the earliest first
        self._nodes: dict[str, NodeInfo] = {}
        self.listers = Listers()
        self._snapshot = Snapshot(self.listers)
        self._dirty: set[str] = set()
        self.touched: set[str] = set()

    # ---- pods ------------------------------------------------------------------------------------------------------

    def assume_pod(self, pod: Pod, node_name: str) -> None:
        """Count the pod on its node before the API server has heard of it. Raises ValueError when it is known."""
        if pod.uid in self._pods:
            raise ValueError(f"pod {pod.key} is in the cache, so it can't be assumed")
        self._place(pod, node_name)
        self._pods[pod.uid].is_assumed = True

    def finish_binding(self, uid: str, now: float) -> None:
        """The API server has taken the pod: from now on its confirmation is awaited, `ttl_seconds` long."""
        if self.is_assumed(uid) and self._ttl > 0:
            self._deadlines.setdefault(uid, now + self._ttl)

    def forget_pod(self, uid: str) -> None:
        """Undo an assumption; a pod that the watch has confirmed stays."""
        state = self._pods.get(uid)
        if state is not None and state.is_assumed:
            self._remove(uid)

    def is_assumed(self, uid: str) -> bool:
        state = self._pods.get(uid)
        return state is not None and state.is_assumed

    def holds(self, uid: str) -> bool:
        return uid in self._pods

    def add_pod(self, pod: Pod) -> None:
        """The watch says that this pod is on its node: confirms an assumption, corrects it, or adds the pod."""
        if pod.uid in self._pods:
            self._remove(pod.uid)
        self._place(pod, pod.node_name)

    def remove_pod(self, uid: str) -> None:
        if uid in self._pods:
            self._remove(uid)

    def expire(self, now: float) -> list[Pod]:
        """Bound pods whose confirmation by the watch is overdue, removed."""
        late = []
        while self._deadlines:
            uid, deadline = next(iter(self._deadlines.items()))
            if not now > deadline:
                break
            late.append(self._pods[uid].pod)
            self._remove(uid)
        return late

    def next_due(self) -> float | None:
        """When the next pod expires."""
        return next(iter(self._deadlines.values()), None)

    # ---- nodes -----------------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        info = self._nodes.get(node.name)
        if info is None:
            info = self._nodes[node.name] = NodeInfo(node.name)
        info.node = node
        self._mark(node.name)

    def remove_node(self, name: str) -> None:
        """The node goes; pods still known there keep a place until they go too."""
        info = self._nodes.get(name)
        if info is None:
            return
        info.node = None
        if not info.pods:
            del self._nodes[name]
        self._mark(name)

    def node_info(self, name: str) -> NodeInfo | None:
        return self._nodes.get(name)

    def update_snapshot(self) -> Snapshot:
        """The picture for the next cycle; costs what changed."""
        if self._dirty:
            infos = [
                self._nodes[name].clone() for name in self._nodes_in_order() if name in self._nodes
            ]
            self._snapshot.update(infos, [name for name in self._dirty if name not in self._nodes])
            self._dirty.clear()
        return self._snapshot

    def _nodes_in_order(self) -> Iterator[str]:
        """Dirty names in the order in which nodes came, when there are many; rows then keep that order."""
        if len(self._dirty) > 8:
            return (name for name in list(self._nodes) if name in self._dirty)
        return iter(sorted(self._dirty))

    @property
    def n_assumed(self) -> int:
        return sum(state.is_assumed for state in self._pods.values())

    def check_invariants(self) -> None:
        """Raises AssertionError when a pod is counted twice, nowhere, or wrongly."""
        on_nodes = [uid for info in self._nodes.values() for uid in info.pods]
        assert len(on_nodes) == len(set(on_nodes)), "a pod is on two nodes"
        assert set(on_nodes) == set(self._pods), "pods on nodes and pods known differ"
        for info in self._nodes.values():
            fresh = NodeInfo(info.name, info.node)
            for pod in info.pods.values():
                fresh.add_pod(pod)
            assert {k: v for k, v in fresh.requested.items() if v} == {
                k: v for k, v in info.requested.items() if v
            }
            assert fresh.used_ports == info.used_ports, f"{info.name}: ports"
            assert info.node is not None or info.pods, f"{info.name}: empty and without node"
        assert all(self.is_assumed(uid) for uid in self._deadlines)
        assert list(self._deadlines.values()) == sorted(self._deadlines.values())

    def _place(self, pod: Pod, node_name: str) -> None:
        info = self._nodes.get(node_name)
        if info is None:
            info = self._nodes[node_name] = NodeInfo(node_name)
        info.add_pod(pod)
        self._pods[pod.uid] = _PodState(pod, node_name)
        self._mark(node_name)

    def _remove(self, uid: str) -> None:
        state = self._pods.pop(uid)
        self._deadlines.pop(uid, None)
        info = self._nodes[state.node_name]
        info.remove_pod(uid)
        if not info.pods and info.node is None:
            del self._nodes[state.node_name]
        self._mark(state.node_name)

    def _mark(self, name: str) -> None:
        self._dirty.add(name)
        self.touched.add(name)
