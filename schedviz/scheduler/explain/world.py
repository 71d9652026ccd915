"""The objects around one pod as a scheduler has them, and what its filters say of the pod, as it is or changed.

Called by `changes`. The cache, the snapshot and the filters are the running scheduler's own; extenders are not asked.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from schedviz.kube.objects import KubeObject, Node, Pod
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.framework.filtering import FilterVerdict
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.status import Status
from schedviz.scheduler.framework.steps import Step
from schedviz.scheduler.queue.nominator import Nominator

T = TypeVar("T")


@dataclass(slots=True)
class Tried:
    """What came of asking the filters once. refusal: PreFilter's, then there is no verdict."""

    nodes: Snapshot
    state: CycleState
    verdict: FilterVerdict | None = None
    refusal: Status | None = None

    @property
    def passing(self) -> list[str]:
        if self.verdict is None or self.verdict.error is not None:
            return []
        return [self.nodes.names[row] for row in self.verdict.feasible.tolist()]


class World:
    """n_tried: how often the filters were asked."""

    def __init__(self, framework: Framework, objects: Iterable[KubeObject], uid: str) -> None:
        self.framework = framework
        self.n_tried = 0
        self._cache = Cache()
        nominator = Nominator()
        found: Pod | None = None
        for one in objects:
            if isinstance(one, Node):
                self._cache.set_node(one)
            elif not isinstance(one, Pod):
                self._cache.listers.replace(None, one)
            elif one.uid == uid:
                found = one
            elif one.is_terminal:
                continue
            elif one.node_name:
                self._cache.add_pod(one)
            else:
                nominator.add(one)
        if found is None:
            raise LookupError("the cluster does not have the pod any more")
        if found.node_name:
            raise LookupError(f"the pod is on node {found.node_name} already")
        self.pod = replace(found, nominated_node_name="")  # else this node alone would be told
        framework.nominated = nominator.by_node
        framework.extenders = ()

    def tried(self, pod: Pod) -> Tried:
        """The filters, asked about this form of the pod."""
        self.n_tried += 1
        nodes = self._cache.update_snapshot()
        tried = Tried(nodes, CycleState())
        if not len(nodes):
            return tried
        _, before = _drained(self.framework.run_pre_filter(tried.state, pod, nodes))
        if not before.status.is_success:
            tried.refusal = before.status
            return tried
        _, tried.verdict = _drained(
            self.framework.run_filter(tried.state, pod, nodes, only=before.node_names)
        )
        return tried

    @contextmanager
    def with_node(self, node: Node) -> Iterator[None]:
        """With this node there, new or in place of the one of its name."""
        info = self._cache.node_info(node.name)
        before = info.node if info is not None else None
        self._cache.set_node(node)
        try:
            yield
        finally:
            if before is None:
                self._cache.remove_node(node.name)
            else:
                self._cache.set_node(before)
            self._cache.update_snapshot()


def _drained(run: Generator[Step, None, T]) -> tuple[list[Step], T]:
    steps = []
    while True:
        try:
            steps.append(next(run))
        except StopIteration as end:
            return steps, end.value
