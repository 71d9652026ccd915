"""Hard constraints, counted: how many pods each domain has, and how that changes when one node's pods come and go.

The part of PodTopologySpread that filters; mirrors preFilterState and its updateWithPod of
pkg/scheduler/framework/plugins/podtopologyspread/filtering.go (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.kube.pod_spec import TopologySpreadConstraint
from schedviz.scheduler.framework.trials import Room

ALONE = 1 << 40
"""The fewest pods of a domain where there is no other."""

IntColumn = NDArray[np.int64]


@dataclass(slots=True)
class Spread:
    """One hard constraint, counted. slots [node]: the node's domain + 1, 0 without the label; counted [node]: the same,
    0 also where the constraint does not count the node; counts, is_domain: by slot."""

    one: TopologySpreadConstraint
    slots: NDArray[np.int32]
    counted: NDArray[np.int32]
    counts: IntColumn
    is_domain: NDArray[np.bool_]
    is_own: int

    @property
    def least(self) -> int:
        """How many pods the emptiest domain has; 0 while there are too few domains."""
        n_domains = int(np.count_nonzero(self.is_domain))
        if n_domains < max(self.one.min_domains, 1):
            return 0
        return int(self.counts[self.is_domain].min())

    def at(self, row: int) -> Spread:
        here = slice(row, row + 1)
        return replace(
            self, slots=self.slots[here], counted=self.counted[here], counts=self.counts.copy()
        )

    def means(self, pod: Pod) -> bool:
        """Whether a pod of this namespace counts when it comes or leaves. As upstream, one on its way out counts here
        too, and an empty selector means every pod."""
        return self.one.selector is not None and self.one.selector.matches(pod.labels)

    def count(self, pod: Pod, sign: int) -> None:
        """A pod comes to the only node, or leaves it."""
        slot = self.counted[0]
        if slot and self.means(pod):
            self.counts[slot] += sign

    def is_uneven(self, room: Room, change: IntColumn) -> NDArray[np.bool_]:
        """[row]: whether one pod more is too much, when each row has so many more pods that count, and no other has."""
        slots, counted = self.slots[room.of_rows], self.counted[room.of_rows] > 0
        here = self.counts[slots] + np.where(counted, change, 0)
        least = np.full(len(room), self.least, dtype=np.int64)
        if int(np.count_nonzero(self.is_domain)) >= max(self.one.min_domains, 1):
            others = np.sort(self.counts[self.is_domain])
            lowest, next_lowest = int(others[0]), int(others[1]) if len(others) > 1 else ALONE
            rest = np.where(self.counts[slots] == lowest, next_lowest, lowest)
            least = np.where(counted, np.minimum(rest, here), least)
        uneven: NDArray[np.bool_] = here + self.is_own - least > self.one.max_skew
        return uneven


@dataclass(frozen=True, slots=True)
class Spreads:
    """The pod's hard constraints."""

    each: tuple[Spread, ...]

    def at(self, row: int) -> Spreads:
        return Spreads(tuple(one.at(row) for one in self.each))

    def count(self, pod: Pod, sign: int) -> None:
        for one in self.each:
            one.count(pod, sign)


def counts(one: Spread, namespace: str, pod: Pod) -> int:
    return int(pod.namespace == namespace and one.means(pod))
