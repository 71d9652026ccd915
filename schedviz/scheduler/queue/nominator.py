"""Which pending pod waits for which node: preemption made room there, or is making it.

Kept by the queue from what the watch says of pods and by `scheduler` from what PostFilter says; filters count nominated
pods as if they were on their node. Mirrors pkg/scheduler/backend/queue/nominator.go (v1.36).
"""

from __future__ import annotations

from schedviz.kube.objects import Pod


class Nominator:
    """by_node: node name -> uid -> pod, shared with whoever filters; empty nodes are not in it."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        self.touched: set[str] = set()
        """Nodes whose nominations changed; whoever shows nodes empties it."""

    def node_of(self, uid: str) -> str:
        """Where the pod is nominated to, or ""."""
        return self._node_of.get(uid, "")

    def add(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate the pod to this node, "" to none, None to the one that its status names."""
        self.delete(pod.uid)
        name = pod.nominated_node_name if node_name is None else node_name
        if name:
            self._node_of[pod.uid] = name
            self.by_node.setdefault(name, {})[pod.uid] = pod
            self.touched.add(name)

    def update(self, old: Pod, pod: Pod) -> None:
        """The pod changed. That neither form names a node means only that our own nomination is not written yet."""
        is_silent = not old.nominated_node_name and not pod.nominated_node_name
        self.add(pod, self.node_of(pod.uid) if is_silent else None)

    def delete(self, uid: str) -> None:
        name = self._node_of.pop(uid, "")
        if name:
            del self.by_node[name][uid]
            self.touched.add(name)
            if not self.by_node[name]:
                del self.by_node[name]

    def lower_than(self, pod: Pod, node_name: str) -> list[Pod]:
        """The less important pods that are nominated to this node."""
        there = self.by_node.get(node_name, {})
        return [other for other in there.values() if other.priority < pod.priority]

    def check_invariants(self) -> None:
        """Raises AssertionError when the two tables differ."""
        found = {uid: name for name, pods in self.by_node.items() for uid in pods}
        assert found == self._node_of, "nominations by node and by pod differ"
        assert all(self.by_node.values()), "a node without nominations is kept"
