"""What a pod's claims can get on each node: Filter's half of volume binding.

Called by the plugin; what it found is handed on to `taking`. Mirrors FindPodVolumes of
pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36), for all nodes at once. Among equally small volumes the
first by name is taken, where upstream takes any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedviz.kube import volumes
from schedviz.kube.matching import NodeSelector, SelectorError, label_selector
from schedviz.kube.objects import Other
from schedviz.kube.volumes import Claim, Volume
from schedviz.scheduler.framework import Snapshot
from schedviz.scheduler.framework.listers import Listers
from schedviz.scheduler.framework.node_masks import Mask, Rows, selected_rows

PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
NOT_REACHED, NO_VOLUME, NO_SPACE, NO_SUCH_VOLUME = (1 << n for n in range(4))
NONE = -1
NO_LIMIT = -2

Column = NDArray[np.int64]


@dataclass(slots=True)
class Found:
    """What Filter found, by node. static: for each claim the volumes to choose from and the number of the one it takes
    on each node, or NONE; provisions: for each claim where its volume is to be made, and how much room is there
    (NO_LIMIT: nobody says)."""

    rows: Mapping[str, int]
    passed: Mask
    static: list[tuple[Claim, Sequence[Volume], Column]] = field(default_factory=list)
    provisions: list[tuple[Claim, Mask, Column]] = field(default_factory=list)

    def static_on(self, row: int) -> Iterator[tuple[Claim, Volume]]:
        for claim, choice, numbers in self.static:
            if numbers[row] != NONE:
                yield claim, choice[int(numbers[row])]

    def provisions_on(self, row: int) -> Iterator[tuple[Claim, int]]:
        for claim, mask, room in self.provisions:
            if mask[row]:
                yield claim, int(room[row])


@dataclass(slots=True)
class Taken:
    """An object as the watch had told it when Reserve took it, and what has to be changed of it."""

    before: Other
    patch: dict[str, Any]


@dataclass(slots=True)
class PodClaims:
    """What a cycle knows of its pod's claims: by PreFilter, by Filter, and by Reserve."""

    listers: Listers
    bound: list[Claim] = field(default_factory=list)
    delayed: list[Claim] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    static: list[tuple[Claim, str]] = field(default_factory=list)
    provisions: list[Claim] = field(default_factory=list)
    taken: dict[tuple[str, str], Taken] = field(default_factory=dict)

    def at(self, row: int) -> PodClaims:
        """A copy for trying one node: what is found there is its own."""
        return replace(self, found=[])

    def on(self, node_name: str) -> tuple[Found, int] | None:
        """What was last found for this node, and its row there."""
        for one in reversed(self.found):
            row = one.rows.get(node_name)
            if row is not None and one.passed[row]:
                return one, row
        return None


class VolumeIndex:
    """The readable volumes, by name and by class, the smallest first; read again only where they changed."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[Other, Volume]] = {}
        self._of_class: dict[str, list[Volume]] = {}
        self._of: tuple[int, int] = (0, -1)

    def keep_up(self, listers: Listers) -> None:
        of = (id(listers), listers.version(PV))
        if of == self._of:
            return
        self._of, before, self._read, self._of_class = of, self._read, {}, {}
        for thing in listers.of(PV).values():
            known = before.get(thing.name)
            if known is None or known[0] is not thing:
                try:
                    known = (thing, volumes.read_volume(thing.raw))
                except (AttributeError, KeyError, TypeError, ValueError):
                    continue  # what can't be read can't be bound
            self._read[thing.name] = known
            self._of_class.setdefault(known[1].class_name, []).append(known[1])
        for group in self._of_class.values():
            group.sort(key=lambda volume: (volume.size, volume.name))

    def get(self, name: str) -> Volume | None:
        known = self._read.get(name)
        return None if known is None else known[1]

    def of_class(self, name: str) -> list[Volume]:
        return self._of_class.get(name, [])


class Search:
    """One Filter: flags uint8 [node], what is wrong there."""

    def __init__(self, claims: PodClaims, nodes: Snapshot, index: VolumeIndex) -> None:
        self._claims, self._nodes, self._index = claims, nodes, index
        self._listers = claims.listers
        self._every_row = np.arange(len(nodes), dtype=np.intp)
        self.flags: NDArray[np.uint8] = np.zeros(len(nodes), dtype=np.uint8)
        self._found = Found(nodes.rows, self.flags == 0)
        index.keep_up(self._listers)

    def run(self) -> Found:
        self._check_bound()
        self._find_unbound()
        self._found.passed = self.flags == 0
        return self._found

    def _check_bound(self) -> None:
        """The node must reach the volumes that the pod has already."""
        for claim in self._claims.bound:
            volume = self._index.get(claim.volume_name)
            if volume is None:
                self.flags[self.flags == 0] = NO_SUCH_VOLUME
                return
            reached = self._mask(self._reaching(volume.affinity))
            if volume.plugin:
                migrated = self._mask(self._reaching(volume.migrated))
                reached = np.where(self._migrated(volume.plugin), migrated, reached)
            self.flags[~reached] = NOT_REACHED

    def _find_unbound(self) -> None:
        """For each claim a volume that is there, or else a place to make one."""
        searched = np.ones(len(self.flags), dtype=np.bool_)
        to_make: list[tuple[Claim, Mask]] = []
        for claim in self._claims.delayed:
            if claim.selected_node is not None:
                here = np.zeros(len(self.flags), dtype=np.bool_)
                row = self._nodes.rows.get(claim.selected_node)
                here[[] if row is None else [row]] = True
                self.flags[searched & ~here] |= NO_VOLUME
                searched &= here
                to_make.append((claim, searched))
        fresh = [claim for claim in self._claims.delayed if claim.selected_node is None]
        for claim in sorted(fresh, key=lambda claim: claim.size):
            choice = self._index.of_class(claim.class_name)
            numbers = self._match(claim, choice, searched)
            self._found.static.append((claim, choice, numbers))
            to_make.append((claim, searched & (numbers == NONE)))
        self._make(to_make)

    def _match(self, claim: Claim, choice: list[Volume], searched: Mask) -> Column:
        """[node] the number of the smallest volume that the claim may take; one kept for it is taken or none."""
        numbers = np.full(len(self.flags), NONE, dtype=np.int64)
        left = searched.copy()
        for number, volume in enumerate(choice):
            if volume.is_for(claim) and volume.could_hold(claim):
                free = left & ~self._is_taken(number, choice)
                rows = self._reaching(volume.affinity)
                rows = rows[free[rows]]
                numbers[rows] = number
                left &= ~free
        n_left = int(left.sum())
        for number, volume in enumerate(choice):
            if not n_left:
                break
            if volume.suits(claim):
                rows = self._reaching(volume.affinity)
                rows = rows[left[rows]]
                rows = rows[~self._is_taken(number, choice)[rows]]
                numbers[rows] = number
                left[rows] = False
                n_left -= len(rows)
        return numbers

    def _is_taken(self, number: int, choice: list[Volume]) -> Mask:
        """[node] whether another claim of the pod takes it there."""
        taken = np.zeros(len(self.flags), dtype=np.bool_)
        for _, other_choice, numbers in self._found.static:
            if other_choice is choice:
                taken |= numbers == number
        return taken

    def _make(self, to_make: list[tuple[Claim, Mask]]) -> None:
        """Can the volumes be made there? The first claim that can't be helped says why."""
        refused = np.zeros(len(self.flags), dtype=np.bool_)
        for claim, where in to_make:
            mask = where & ~refused
            makeable, room = self._makeable(claim), self._room(claim)
            self.flags[mask & ~makeable] |= NO_VOLUME
            self.flags[mask & makeable & (room == NONE)] |= NO_SPACE
            served = mask & makeable & (room != NONE)
            refused |= mask & ~served
            self._found.provisions.append((claim, served, room))

    def _makeable(self, claim: Claim) -> Mask:
        """[node] whether the claim's class makes volumes there."""
        mask = np.zeros(len(self.flags), dtype=np.bool_)
        storage_class = self._listers.get("StorageClass", claim.class_name)
        if storage_class is None or _provisioner(storage_class) in ("", volumes.NO_PROVISIONER):
            return mask
        terms = volumes.allowed_topologies(storage_class)
        if not terms:
            return ~mask
        for term in terms:
            if not term.is_empty:
                mask[selected_rows(term.expressions, self._nodes)] = True
        return mask

    def _room(self, claim: Claim) -> Column:
        """[node] the capacity that has room for the claim there; NONE has; NO_LIMIT where nobody counts."""
        storage_class = self._listers.get("StorageClass", claim.class_name)
        driver = storage_class and self._listers.get("CSIDriver", _provisioner(storage_class))
        counts = bool(driver and volumes.spec(driver).get("storageCapacity"))
        if not counts or not claim.size:
            return np.full(len(self.flags), NO_LIMIT, dtype=np.int64)
        room = np.full(len(self.flags), NONE, dtype=np.int64)
        for capacity in self._listers.of("CSIStorageCapacity").values():
            if capacity.raw.get("storageClassName") != claim.class_name:
                continue
            limit = volumes.capacity_limit(capacity)
            if limit is not None and limit >= math.ceil(claim.size):
                rows = self._accessing(capacity)
                room[rows[room[rows] == NONE]] = volumes.capacity_bytes(capacity)
        return room

    def _accessing(self, capacity: Other) -> Rows:
        """The rows of the nodes that a CSIStorageCapacity speaks of."""
        try:
            selector = label_selector(capacity.raw.get("nodeTopology"))
        except SelectorError:
            selector = None
        if selector is None:
            return self._every_row[:0]
        return selected_rows(selector.requirements, self._nodes)

    def _reaching(self, affinity: NodeSelector | None) -> Rows:
        """The rows of the nodes that a volume can be used on; a node's name does not count, as upstream."""
        if affinity is None:
            return self._every_row
        found = [
            selected_rows(term.expressions, self._nodes)
            for term in affinity.terms
            if not term.is_empty and all(one.accepts("") for one in term.fields)
        ]
        if len(found) == 1:
            return found[0]
        return np.unique(np.concatenate(found)) if found else self._every_row[:0]

    def _migrated(self, plugin: str) -> Mask:
        """[node] whether a CSI driver has taken over from the in-tree plugin there."""
        drivers = self._listers.of("CSINode")
        return np.array(
            [volumes.is_migrated(plugin, drivers.get(name)) for name in self._nodes.names],
            dtype=np.bool_,
        )

    def _mask(self, rows: Rows) -> Mask:
        mask = np.zeros(len(self.flags), dtype=np.bool_)
        mask[rows] = True
        return mask


def _provisioner(storage_class: Other) -> str:
    return storage_class.raw.get("provisioner") or ""
