"""The parts of a pod's spec that scheduling reads: containers, affinities, spread constraints, tolerations.

Called by `objects.parse`, section by section; a FieldError names the field that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from schedviz.kube import matching
from schedviz.kube.matching import LabelSelector, NodeSelector, NodeSelectorTerm
from schedviz.kube.pod_resources import NON_ZERO, is_sidecar, non_zero_requests, pod_requests

T = TypeVar("T")


class FieldError(ValueError):
    """`field` is a path below the object, `message` what is wrong there and what would be right."""

    def __init__(self, field: str, message: str) -> None:
        self.field, self.message = field, message
        super().__init__(f"{field}: {message}")


def at(field: str, read: Callable[..., T], *args: Any) -> T:
    """read(*args), with `field` named in whatever is wrong."""
    try:
        return read(*args)
    except FieldError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FieldError(field, str(error)[:500]) from None


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port on the node itself. `ip` "0.0.0.0" means every address."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """namespaces: the named ones (the pod's own when nothing is said); namespace_selector: None, or added to them."""

    selector: LabelSelector | None
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None


@dataclass(frozen=True, slots=True)
class PodAffinity:
    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[tuple[int, PodAffinityTerm], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.required and not self.preferred


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    """bare_selector: without matchLabelKeys. min_domains 1 and the two policies are the API's defaults."""

    max_skew: int
    topology_key: str
    is_hard: bool
    selector: LabelSelector | None
    bare_selector: LabelSelector | None
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True)
class PodResourceClaim:
    """An entry of spec.resourceClaims. claim_name: None while the claim has not been made from its template."""

    name: str
    claim_name: str | None


_NO_AFFINITY = PodAffinity()
_NO_FEATURES: frozenset[str] = frozenset()


def containers(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Requests, host ports and images."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    running = status if spec.get("nodeName") else None
    requests = at("spec.resources", pod_requests, spec, running)
    scored = pod_requests(spec, defaults=NON_ZERO, pod_level=False)
    told = running and (running.get("containerStatuses") or running.get("initContainerStatuses"))
    is_plain = not spec.get("resources") and not told
    mains = list(spec.get("containers") or ())
    inits = list(spec.get("initContainers") or ())
    images = [one.get("image") or "" for one in (*inits, *mains)]
    images += [
        volume["image"].get("reference") or ""
        for volume in spec.get("volumes") or ()
        if volume.get("image")
    ]
    return {
        "requests": requests,
        "non_zero": {"cpu": scored.get("cpu", 0), "memory": scored.get("memory", 0)}
        if is_plain
        else non_zero_requests(spec, requests, running),
        "score_requests": scored,
        "host_ports": tuple(
            port
            for one in (*mains, *(c for c in inits if is_sidecar(c)))
            for port in _host_ports(one, host_network=bool(spec.get("hostNetwork")))
        ),
        "images": tuple(normalized_image(image) for image in images),
        "n_image_containers": len(inits) + len(mains),
    }


def normalized_image(name: str) -> str:
    """With ":latest" when there is no tag after the last "/"."""
    return name + ":latest" if name.rfind(":") <= name.rfind("/") else name


def _host_ports(container: Mapping[str, Any], *, host_network: bool) -> list[HostPort]:
    found = []
    for port in container.get("ports") or ():
        number = int(
            port.get("hostPort") or (port.get("containerPort") if host_network else 0) or 0
        )
        if number > 0:
            found.append(
                HostPort(port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number)
            )
    return found


def node_affinity(raw: Mapping[str, Any]) -> dict[str, Any]:
    affinity = ((raw.get("spec") or {}).get("affinity") or {}).get("nodeAffinity") or {}
    required, preferred = read_node_affinity(affinity)
    return {"required_node_affinity": required, "preferred_node_affinity": preferred}


def read_node_affinity(
    affinity: Mapping[str, Any],
) -> tuple[NodeSelector | None, tuple[WeightedTerm, ...]]:
    """The required and the preferred part of a NodeAffinity."""
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return (
        None if required is None else matching.node_selector(required),
        tuple(
            WeightedTerm(
                int(one["weight"]), matching.node_selector_term(one.get("preference") or {})
            )
            for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ),
    )


def pod_affinity(raw: Mapping[str, Any]) -> dict[str, Any]:
    affinity = (raw.get("spec") or {}).get("affinity") or {}
    return {
        "affinity": _affinity(raw, affinity.get("podAffinity")),
        "anti_affinity": _affinity(raw, affinity.get("podAntiAffinity")),
    }


def _affinity(raw: Mapping[str, Any], part: Mapping[str, Any] | None) -> PodAffinity:
    if not part:
        return _NO_AFFINITY
    return PodAffinity(
        tuple(
            _term(raw, t) for t in part.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        ),
        tuple(
            (int(one["weight"]), _term(raw, one["podAffinityTerm"]))
            for one in part.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ),
    )


def _term(raw: Mapping[str, Any], term: Mapping[str, Any]) -> PodAffinityTerm:
    selector = matching.label_selector(term.get("labelSelector"))
    labels = raw["metadata"].get("labels") or {}
    selector = _fold(selector, labels, term.get("matchLabelKeys"), "In")
    selector = _fold(selector, labels, term.get("mismatchLabelKeys"), "NotIn")
    namespaces = frozenset(term.get("namespaces") or ())
    if not namespaces and term.get("namespaceSelector") is None:
        namespaces = frozenset((raw["metadata"].get("namespace") or "",))
    return PodAffinityTerm(
        selector,
        term.get("topologyKey") or "",
        namespaces,
        matching.label_selector(term.get("namespaceSelector")),
    )


def _fold(
    selector: LabelSelector | None, labels: Mapping[str, str], keys: list[str] | None, operator: str
) -> LabelSelector | None:
    """matchLabelKeys: the pod's own value of each key becomes a requirement (the API server may have)."""
    if selector is None or not keys:
        return selector
    extra = [matching.Requirement(key, operator, (labels[key],)) for key in keys if key in labels]
    return LabelSelector(
        selector.requirements + tuple(one for one in extra if one not in selector.requirements)
    )


def topology_spread(raw: Mapping[str, Any]) -> dict[str, Any]:
    labels = raw["metadata"].get("labels") or {}
    return {
        "topology_spread": tuple(
            spread_constraint(one, labels)
            for one in (raw.get("spec") or {}).get("topologySpreadConstraints") or ()
        )
    }


def spread_constraint(
    one: Mapping[str, Any], labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    """Read one constraint; `labels` are the pod's, for matchLabelKeys."""
    bare = matching.label_selector(one.get("labelSelector"))
    return TopologySpreadConstraint(
        max_skew=int(one.get("maxSkew") or 0),
        topology_key=one.get("topologyKey") or "",
        is_hard=one.get("whenUnsatisfiable") != "ScheduleAnyway",
        selector=_fold(bare, labels, one.get("matchLabelKeys"), "In"),
        bare_selector=bare,
        min_domains=int(one.get("minDomains") or 1),
        honors_affinity=one.get("nodeAffinityPolicy") != "Ignore",
        honors_taints=one.get("nodeTaintsPolicy") == "Honor",
    )


def tolerations(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tolerations": tuple(
            matching.toleration(one) for one in (raw.get("spec") or {}).get("tolerations") or ()
        )
    }


def resource_claims(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The claims that the pod needs; a template of which the controller said that it needs no claim is none."""
    made = {
        one["name"]: one.get("resourceClaimName")
        for one in (raw.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    found = []
    for one in (raw.get("spec") or {}).get("resourceClaims") or ():
        name = one["name"]
        claim_name = one.get("resourceClaimName") or made.get(name)
        if claim_name or name not in made:
            found.append(PodResourceClaim(name, claim_name))
    return {"resource_claims": tuple(found)}


def required_features(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What a node must declare for the pod to run there. Mirrors component-helpers/nodedeclaredfeatures (v1.36): the
    features that concern scheduling."""
    spec = raw.get("spec") or {}
    features = set()
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        features.add("UserNamespacesHostNetworkSupport")
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        rules = container.get("restartPolicyRules") or ()
        if any(rule.get("action") == "RestartAllContainers" for rule in rules):
            features.add("RestartAllContainersOnContainerExits")
    return {"required_features": frozenset(features) or _NO_FEATURES}
