"""The nodes as one cycle sees them: rows of NumPy columns, beside the NodeInfos they come from.

Built and kept up to date by the cache, read by every plugin's `_nodes` form. A changed node costs its own row; adding
or removing nodes rebuilds. Mirrors pkg/scheduler/backend/cache/snapshot.go (v1.36); the columns are ours.

Assumption: a NodeInfo given here is a clone that nobody changes; a Node is immutable, so the same object means that
nothing about the node itself changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.matching import Taint
from schedviz.kube.objects import Node
from schedviz.kube.pod_resources import MOST
from schedviz.kube.pod_spec import normalized_image
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.framework.pod_index import PodIndex

IntColumn = NDArray[np.int64]
_MOST_REMEMBERED = 512
_LATELY = 256
T = TypeVar("T")


class LabelColumn:
    """One label key over all nodes, dictionary-encoded: codes[row] indexes `values`, -1 where the key is absent."""

    __slots__ = ("_codes_of", "codes", "values")

    def __init__(self, n_nodes: int) -> None:
        self.codes: NDArray[np.int32] = np.full(n_nodes, -1, dtype=np.int32)
        self.values: list[str] = []
        self._codes_of: dict[str, int] = {}

    def set(self, row: int, value: str | None) -> None:
        if value is None:
            self.codes[row] = -1
            return
        code = self._codes_of.get(value)
        if code is None:
            code = self._codes_of[value] = len(self.values)
            self.values.append(value)
        self.codes[row] = code

    def select(self, accepted: list[bool], absent: bool) -> NDArray[np.bool_]:
        """Rows whose value is accepted (by code); `absent` for rows without the key."""
        table = np.array([*accepted, absent], dtype=np.bool_)
        return table[self.codes]


class ImageColumn:
    """Which nodes have an image, and its size as the first node reported it (upstream's imageStates)."""

    __slots__ = ("n_nodes", "present", "size")

    def __init__(self, size: int, n_rows: int) -> None:
        self.size = size
        self.n_nodes = 0
        self.present: NDArray[np.bool_] = np.zeros(n_rows, dtype=np.bool_)

    def set(self, row: int, present: bool) -> None:
        self.n_nodes += int(present) - int(self.present[row])
        self.present[row] = present


class Snapshot:
    """names, rows, infos: the same order. Columns: int64 [node] unless said otherwise; never write to them."""

    is_trial = False
    """A passing picture of what is not so: nothing about it is worth remembering."""

    def __init__(self, listers: Listers | None = None) -> None:
        self.listers = listers or Listers()
        self.names: tuple[str, ...] = ()
        self.rows: dict[str, int] = {}
        self.infos: list[NodeInfo] = []
        self.version = 0
        """Grows whenever something about nodes themselves (not their pods) changed."""
        self.layout = 0
        """Grows whenever rows came or went."""
        self.stamp = 0
        """Grows with every change of a row, see `changed_since`."""
        self._lately: list[int] = []
        """The row of each of the last changes, the newest at the end."""
        self._pod_index: PodIndex | None = None
        self._remembered: dict[Hashable, Any] = {}
        self._remembered_of = 0
        self._allocate()

    @classmethod
    def of(cls, infos: Iterable[NodeInfo], listers: Listers | None = None) -> Snapshot:
        snapshot = cls(listers)
        snapshot._rebuild(list(infos))
        return snapshot

    def __len__(self) -> int:
        return len(self.infos)

    # ---- columns ---------------------------------------------------------------------------------------------------

    def allocatable(self, resource: str) -> IntColumn:
        return self._resource(resource)[0]

    def requested(self, resource: str) -> IntColumn:
        return self._resource(resource)[1]

    def label(self, key: str) -> LabelColumn:
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(len(self))
            for row, info in enumerate(self.infos):
                column.set(row, info.labels.get(key))
        return column

    def image(self, name: str) -> ImageColumn | None:
        return self._images.get(name)

    def port_users(self, protocol: str, port: int) -> dict[int, frozenset[str]]:
        """row -> the addresses on which this port is taken there."""
        return self._ports.get((protocol, port), {})

    def trial(self, row: int) -> Snapshot:
        """One node on its own, to be tried with other pods than it has."""
        trial = Snapshot.of([self.infos[row]], self.listers)
        trial.is_trial = True
        return trial

    @property
    def stamps(self) -> IntColumn:
        """The stamp of each row's latest change."""
        return self._stamps

    def changed_since(self, stamp: int) -> NDArray[np.intp]:
        """The rows that changed after the snapshot had this stamp (and this layout)."""
        n = self.stamp - stamp
        if n <= len(self._lately):
            return np.array(sorted(set(self._lately[len(self._lately) - n :])), dtype=np.intp)
        return np.flatnonzero(self._stamps > stamp)

    @property
    def pod_index(self) -> PodIndex:
        """Counts of pods by sort, built when first asked for."""
        if self._pod_index is None:
            self._pod_index = PodIndex(self.infos, len(self.infos))
        return self._pod_index

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Anything that depends on the nodes themselves only; never write to it."""
        if self._remembered_of != self.version or len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.clear()
            self._remembered_of = self.version
        found: T | None = self._remembered.get(key)
        if found is None:
            found = self._remembered[key] = compute()
        return found

    # ---- keeping up ------------------------------------------------------------------------------------------------

    def update(self, changed: Iterable[NodeInfo], removed: Iterable[str] = ()) -> None:
        """Take in clones of changed nodes and forget removed ones; a NodeInfo without node counts as removed."""
        gone = set(removed)
        fresh: list[NodeInfo] = []
        for info in changed:
            if info.node is None:
                gone.add(info.name)
            elif info.name in self.rows:
                self._refresh(self.rows[info.name], info)
            else:
                fresh.append(info)
        gone &= self.rows.keys()
        if fresh or gone:
            self._rebuild([info for info in self.infos if info.name not in gone] + fresh)

    def _allocate(self) -> None:
        n = len(self.infos)
        self._stamps: IntColumn = np.zeros(n, dtype=np.int64)
        self._lately = []
        self.n_pods: IntColumn = np.zeros(n, dtype=np.int64)
        self.non_zero_milli_cpu: IntColumn = np.zeros(n, dtype=np.int64)
        self.non_zero_memory: IntColumn = np.zeros(n, dtype=np.int64)
        self.unschedulable: NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        self.taint_set_ids: NDArray[np.int32] = np.zeros(n, dtype=np.int32)
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_ids: dict[tuple[Taint, ...], int] = {(): 0}
        self._resources: dict[str, tuple[IntColumn, IntColumn]] = {}
        self._labels: dict[str, LabelColumn] = {}
        self._images: dict[str, ImageColumn] = {}
        self._ports: dict[tuple[str, int], dict[int, frozenset[str]]] = {}
        self._pod_index = None

    def _rebuild(self, infos: list[NodeInfo]) -> None:
        self.infos = infos
        self.names = tuple(info.name for info in infos)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.version += 1
        self.layout += 1
        self._allocate()
        for row, info in enumerate(infos):
            self._set_node(row, None, info)
            self._set_pods(row, None, info)

    def _refresh(self, row: int, info: NodeInfo) -> None:
        before = self.infos[row]
        self.infos[row] = info
        self.stamp += 1
        self._stamps[row] = self.stamp
        self._lately.append(row)
        if len(self._lately) > 2 * _LATELY:
            del self._lately[:_LATELY]
        if before.node is not info.node:
            self.version += 1
            self._set_node(row, before.node, info)
        self._set_pods(row, before, info)

    def _resource(self, resource: str) -> tuple[IntColumn, IntColumn]:
        columns = self._resources.get(resource)
        if columns is None:
            n = len(self.infos)
            columns = (
                np.fromiter((i.allocatable.get(resource, 0) for i in self.infos), np.int64, n),
                np.fromiter(
                    (min(i.requested.get(resource, 0), MOST) for i in self.infos), np.int64, n
                ),
            )
            self._resources[resource] = columns
        return columns

    def _set_node(self, row: int, before: Node | None, info: NodeInfo) -> None:
        node = info.node
        if node is None:
            raise ValueError(f"{info.name}: a row needs its node")
        for resource, (allocatable, _) in self._resources.items():
            allocatable[row] = node.allocatable.get(resource, 0)
        self.unschedulable[row] = node.unschedulable
        taint_id = self._taint_ids.get(node.taints)
        if taint_id is None:
            taint_id = self._taint_ids[node.taints] = len(self.taint_sets)
            self.taint_sets.append(node.taints)
        self.taint_set_ids[row] = taint_id
        for key, column in self._labels.items():
            column.set(row, node.labels.get(key))
        if before is None or before.images != node.images:
            self._set_images(row, before, node)

    def _set_images(self, row: int, before: Node | None, node: Node) -> None:
        now = {normalized_image(name): size for names, size in node.images for name in names}
        for names, _ in before.images if before else ():
            for name in map(normalized_image, names):
                if name not in now and name in self._images:
                    self._images[name].set(row, False)
                    if not self._images[name].n_nodes:
                        del self._images[name]
        for name, size in now.items():
            if name not in self._images:
                self._images[name] = ImageColumn(size, len(self.infos))
            self._images[name].set(row, True)

    def _set_pods(self, row: int, before: NodeInfo | None, info: NodeInfo) -> None:
        self.n_pods[row] = len(info.pods)
        self.non_zero_milli_cpu[row] = min(info.non_zero_milli_cpu, MOST)
        self.non_zero_memory[row] = min(info.non_zero_memory, MOST)
        for resource, (_, requested) in self._resources.items():
            requested[row] = min(info.requested.get(resource, 0), MOST)
        if before is not None and self._pod_index is not None:
            self._pod_index.change(row, before.pods, info.pods)
        old = before.used_ports.keys() if before else set()
        if old != info.used_ports.keys():
            self._set_ports(row, {(p.protocol, p.port) for p in old}, info)

    def _set_ports(self, row: int, old: set[tuple[str, int]], info: NodeInfo) -> None:
        taken: dict[tuple[str, int], set[str]] = {}
        for port in info.used_ports:
            taken.setdefault((port.protocol, port.port), set()).add(port.ip)
        for key in old - taken.keys():
            del self._ports[key][row]
        for key, addresses in taken.items():
            self._ports.setdefault(key, {})[row] = frozenset(addresses)
