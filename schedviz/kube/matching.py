"""Who selects whom: label selectors, node selectors, taints and tolerations.

Plain data with a `matches`; parsed by `objects`, asked by plugins and by the sandbox's lists. Mirrors
apimachinery/pkg/labels and component-helpers/scheduling/corev1 (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
TOLERATION_OPERATORS = ("Exists", "Equal", "Gt", "Lt")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class SelectorError(ValueError):
    """A selector that cannot be read; the message says what would be right."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """key operator values. `numeric`: the parsed operand of Gt and Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.accepts(labels.get(self.key))

    def accepts(self, value: str | None) -> bool:
        """Whether a label value (None: the key is absent) satisfies it."""
        return _ACCEPTS[self.operator](value, self.values)


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and _INTEGER.fullmatch(text) else None


def _greater(value: str | None, values: tuple[str, ...]) -> bool:
    have, want = _integer(value), _integer(values[0])
    return have is not None and want is not None and have > want


def _less(value: str | None, values: tuple[str, ...]) -> bool:
    have, want = _integer(value), _integer(values[0])
    return have is not None and want is not None and have < want


_ACCEPTS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": _greater,
    "Lt": _less,
}


def requirement(raw: Mapping[str, Any], *, operators: tuple[str, ...]) -> Requirement:
    """Read {key, operator, values}. Raises SelectorError."""
    operator = raw.get("operator", "")
    values = tuple(str(value) for value in raw.get("values") or ())
    key = raw.get("key") or ""
    if operator not in operators:
        raise SelectorError(f"{operator!r} is not an operator: use one of {', '.join(operators)}")
    if operator in ("In", "NotIn") and not values:
        raise SelectorError(f"operator {operator} on {key!r} needs at least one value")
    if operator in ("Exists", "DoesNotExist") and values:
        raise SelectorError(f"operator {operator} on {key!r} takes no values")
    if operator in ("Gt", "Lt") and len(values) != 1:
        raise SelectorError(f"operator {operator} on {key!r} takes exactly one value")
    return Requirement(key, operator, values)


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements hold. Without requirements it matches everything; a nil selector (None) matches nothing."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(one.matches(labels) for one in self.requirements)


def label_selector(raw: Mapping[str, Any] | None) -> LabelSelector | None:
    """Read {matchLabels, matchExpressions}; None stays None. Raises SelectorError."""
    if raw is None:
        return None
    parts = [
        Requirement(key, "In", (str(v),))
        for key, v in sorted((raw.get("matchLabels") or {}).items())
    ]
    parts += [
        requirement(one, operators=LABEL_OPERATORS) for one in raw.get("matchExpressions") or ()
    ]
    return LabelSelector(tuple(parts))


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """matchExpressions on labels and matchFields on metadata.name; an empty term matches nothing."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.expressions and not self.fields

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if self.is_empty:
            return False
        return all(one.matches(labels) for one in self.expressions) and all(
            one.accepts(name) for one in self.fields
        )


def node_selector_term(raw: Mapping[str, Any]) -> NodeSelectorTerm:
    """Read one term. Raises SelectorError."""
    fields = tuple(
        requirement(one, operators=("In", "NotIn")) for one in raw.get("matchFields") or ()
    )
    for field in fields:
        if field.key != "metadata.name":
            raise SelectorError(f"matchFields knows metadata.name only, not {field.key!r}")
    return NodeSelectorTerm(
        tuple(
            requirement(one, operators=NODE_OPERATORS) for one in raw.get("matchExpressions") or ()
        ),
        fields,
    )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Any term matches."""

    terms: tuple[NodeSelectorTerm, ...]

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        return any(term.matches(labels, name) for term in self.terms)


def node_selector(raw: Mapping[str, Any]) -> NodeSelector:
    """Read {nodeSelectorTerms}. Raises SelectorError."""
    return NodeSelector(tuple(node_selector_term(t) for t in raw.get("nodeSelectorTerms") or ()))


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """operator Exists, Equal, or the alpha Gt and Lt; empty key with Exists tolerates every key,
    empty effect every effect."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint, *, comparing: bool = False) -> bool:
        """comparing: whether Lt and Gt compare (feature gate TaintTolerationComparisonOperators) or match nothing."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        if self.operator == "Equal":
            return self.value == taint.value
        return comparing and _ACCEPTS[self.operator](taint.value, (self.value,))


def toleration(raw: Mapping[str, Any]) -> Toleration:
    """Read one toleration. Raises SelectorError."""
    operator = raw.get("operator") or "Equal"
    if operator not in TOLERATION_OPERATORS:
        raise SelectorError(f"{operator!r} is not a toleration operator: use Exists or Equal")
    return Toleration(
        raw.get("key") or "", operator, raw.get("value") or "", raw.get("effect") or ""
    )
