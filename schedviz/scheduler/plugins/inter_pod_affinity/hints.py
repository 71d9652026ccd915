"""Which changes of other pods and of nodes may help a pod that InterPodAffinity refused.

Registered by the plugin, asked by the queue. Mirrors isSchedulableAfterPodChange and isSchedulableAfterNodeChange of
pkg/scheduler/framework/plugins/interpodaffinity/plugin.go (v1.36). In doubt the answer is yes: a namespace's labels are
not known here, and a pod kept away by another pod's term has no term of its own to ask.
"""

from __future__ import annotations

from schedviz.kube.objects import KubeObject, Pod
from schedviz.kube.pod_spec import PodAffinityTerm


def is_better_company(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the other pod is company that the pod's affinity wants now and was not, or one that it, or that pod,
    wants to be away from and is no more."""
    if new is not None and new.uid == pod.uid:
        return True
    if _is_kin(pod, new) and not _is_kin(pod, old):
        return True
    return _keeps_apart(pod, old) and not _keeps_apart(pod, new)


def _is_kin(pod: Pod, other: KubeObject | None) -> bool:
    """Whether all of the pod's affinity terms mean the other."""
    terms = pod.affinity.required
    return bool(terms) and all(_may_mean(term, other) for term in terms)


def _keeps_apart(pod: Pod, other: KubeObject | None) -> bool:
    if not isinstance(other, Pod):
        return False
    is_repelled = any(_may_mean(term, other) for term in pod.anti_affinity.required)
    return is_repelled or any(_may_mean(term, pod) for term in other.anti_affinity.required)


def _may_mean(term: PodAffinityTerm, other: KubeObject | None) -> bool:
    """Like `is_wanted`; the labels of the other's namespace are not known here, so that its selector may match."""
    if other is None or term.selector is None or not term.selector.matches(other.labels):
        return False
    return other.namespace in term.namespaces or term.namespace_selector is not None


def has_other_neighbours(pod: Pod, old: KubeObject | None, new: KubeObject | None) -> bool:
    """Whether the node came into a domain that an affinity term asks about, or left one that keeps the pod away."""
    affinity, apart = pod.affinity.required, pod.anti_affinity.required
    if new is None:
        return False
    if old is None:
        return not affinity or any(term.topology_key in new.labels for term in affinity)
    keys = {term.topology_key for term in affinity if term.topology_key in new.labels}
    keys |= {term.topology_key for term in apart}
    if not affinity and not apart:  # another pod's term keeps it away, and that may have any key
        return old.labels != new.labels
    return any(old.labels.get(key) != new.labels.get(key) for key in keys)
