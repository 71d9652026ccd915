"""What the core asks of an extender, whatever carries the question: about nodes, scores, victims and bindings.

Kept by each profile's framework, given to plugins by their Handle; `scheduler.extender` does it over HTTP. Mirrors
fwk.Extender and extenderv1.Victims (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.status import NodeStatuses, Status
from schedviz.scheduler.framework.steps import Cycle, ExtenderAnswer, ExtenderCall, Step

if TYPE_CHECKING:
    from schedviz.scheduler.framework.snapshot import Snapshot

Rows = NDArray[np.intp]


class Victims(NamedTuple):
    """The pods that would have to go from a node, the most important first, and how many budgets that would break."""

    pods: tuple[Pod, ...]
    n_pdb_violations: int


VictimsByNode: TypeAlias = Mapping[str, Victims]


@dataclass(slots=True)
class Filtered:
    """rows: those that passed; statuses: of all nodes, SKIP where nothing was said; strangers: reasons given for names
    that no node has."""

    rows: Rows
    statuses: NodeStatuses
    strangers: dict[str, str] = field(default_factory=dict)
    hint: str = ""


class Extender(Protocol):
    """filters, prioritizes, preempts, binds: whether it is to be asked that about this pod. What asks is a generator:
    it yields CallExtenders, is sent the Reply, and yields its Step."""

    name: str

    def filters(self, pod: Pod) -> bool: ...
    def prioritizes(self, pod: Pod) -> bool: ...
    def preempts(self, pod: Pod) -> bool: ...
    def binds(self, pod: Pod) -> bool: ...

    def filter(self, pod: Pod, nodes: Snapshot, rows: Rows) -> Cycle[Filtered | Status]:
        """Which of these rows pass; SKIP: it failed and may be ignored; ERROR: it failed."""

    def prioritize_call(self, pod: Pod, nodes: Snapshot, rows: Rows) -> ExtenderCall: ...

    def prioritized(
        self, call: ExtenderCall, answer: ExtenderAnswer, nodes: Snapshot, rows: Rows
    ) -> Step:
        """Its scores; SKIP: it failed, and gives none."""

    def preempt(
        self, pod: Pod, nodes: Snapshot, victims: VictimsByNode
    ) -> Cycle[VictimsByNode | Status]:
        """What it leaves of these nodes and victims, or an error. An ignorable one that fails leaves all."""

    def bind_call(self, pod: Pod, node_name: str) -> ExtenderCall: ...

    def bound(self, call: ExtenderCall, answer: ExtenderAnswer) -> Step:
        """SKIP: it failed and may be ignored."""
