"""Which pods a PodDisruptionBudget protects, and which evictions would break one.

Used by preemption. Mirrors filterPodsWithPDBViolation of pkg/scheduler/framework/plugins/defaultpreemption (v1.36).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from schedviz.kube.matching import LabelSelector, SelectorError, label_selector
from schedviz.kube.objects import Other, Pod
from schedviz.scheduler.framework.listers import Listers


@dataclass(frozen=True, slots=True)
class Budget:
    """disrupted: names of pods whose eviction has been counted already."""

    namespace: str
    selector: LabelSelector
    n_allowed: int
    disrupted: frozenset[str]

    def protects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return self.namespace == namespace and self.selector.matches(labels)


class Budgets:
    """Those of one moment. A budget without a selector, or with an empty or unreadable one, protects nobody; nor is a
    pod without labels protected."""

    def __init__(self, listers: Listers) -> None:
        read = map(_read, listers.of("PodDisruptionBudget").values())
        self._budgets = [one for one in read if one is not None]
        self._of: dict[Hashable, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._budgets)

    def violations(self, pods: Iterable[Pod]) -> list[bool]:
        """For each pod whether evicting it, after those before it, breaks a budget."""
        left = [one.n_allowed for one in self._budgets]
        found = []
        for pod in pods:
            is_violating = False
            for n in self._protecting(pod):
                if pod.name not in self._budgets[n].disrupted:
                    left[n] -= 1
                    is_violating = is_violating or left[n] < 0
            found.append(is_violating)
        return found

    def _protecting(self, pod: Pod) -> list[int]:
        """Numbers of the budgets for pods like this one."""
        key = (pod.namespace, frozenset(pod.labels.items()))
        known = self._of.get(key)
        if known is None:
            mine = enumerate(self._budgets if pod.labels else ())
            known = [n for n, one in mine if one.protects(pod.namespace, pod.labels)]
            self._of[key] = known
        return known


def _read(one: Other) -> Budget | None:
    spec, status = one.raw.get("spec") or {}, one.raw.get("status") or {}
    try:
        selector = label_selector(spec.get("selector"))
    except SelectorError:
        return None
    if selector is None or not selector.requirements:
        return None
    disrupted = frozenset(status.get("disruptedPods") or ())
    return Budget(one.namespace, selector, int(status.get("disruptionsAllowed") or 0), disrupted)
