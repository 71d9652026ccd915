"""The rules of an extender that we serve ourselves: a small YAML, and the answers that follow from it.

Called by `actions` (rules are checked when they are written) and by `views.extenders` (requests are answered). Answers
have the form of kube-scheduler's extender API v1; see `scheduler.extender.wire` for the other side.

    filter:                              # the first rule that matches a node decides; without one it passes,
    - {deny: ceph3, reason: kept free}   # unless there are allow rules
    - {deny: {disk: hdd}, reason: no fast disk, unresolvable: true}
    - {allow: ceph*}
    prioritize:                          # the first that matches gives the score, 0 to 10; without one 0
    - {node: ceph1, score: 10}
    preempt:                             # which candidates it strikes out
    - {deny: ceph2}
    bind: {error: words} or {pretend: true}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import yaml

LARGEST = 64 << 10
MOST_RULES = 200
MAX_SCORE = 10
NO_ALLOW = "no allow rule names this node"
NO_BIND = "this extender has no rule for bind: leave bindVerb out, the default binder will do it"
NAMES_ONLY = "asks for labels, but only names were sent: set nodeCacheCapable: false"
FIELDS = {
    "filter": ("deny", "allow", "reason", "unresolvable"),
    "prioritize": ("node", "score"),
    "preempt": ("deny", "allow"),
    "bind": ("error", "pretend"),
}

Json = dict[str, Any]


class RulesError(ValueError):
    """Rules that cannot be: where, what, and what would be right."""


class CannotAnswer(ValueError):
    """A request that these rules have no answer to; the text goes out as the answer's Error."""


@dataclass(frozen=True, slots=True)
class Node:
    """labels: None when only the name was sent."""

    name: str
    labels: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """Of which nodes it speaks: a pattern of names, or labels that they must have. where: its place in the YAML."""

    where: str
    pattern: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    allows: bool = False
    reason: str = ""
    unresolvable: bool = False
    score: int = 0

    def matches(self, node: Node) -> bool:
        if self.pattern:
            return fnmatchcase(node.name, self.pattern)
        if node.labels is None:
            raise CannotAnswer(f"{self.where} {NAMES_ONLY}")
        return all(node.labels.get(name) == value for name, value in self.labels)


@dataclass(frozen=True, slots=True)
class Rules:
    """bind_error: the answer to bind, "" says that it was done; None: it has no answer."""

    filter: tuple[Rule, ...] = ()
    prioritize: tuple[Rule, ...] = ()
    preempt: tuple[Rule, ...] = ()
    bind_error: str | None = None

    def answer(self, verb: str, asked: Any) -> Any:
        """Raises CannotAnswer."""
        if not isinstance(asked, dict):
            raise CannotAnswer("the request must be a JSON object")
        try:
            return _VERBS[verb](self, asked)
        except (AttributeError, KeyError, TypeError) as error:
            raise CannotAnswer(f"the request has not the form of {verb}: {error!r}") from error


@dataclass(slots=True)
class _Verdicts:
    passed: list[int] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    never: dict[str, str] = field(default_factory=dict)


# ---- answers -------------------------------------------------------------------------------------------------------


def _nodes(asked: Json) -> tuple[list[Node], list[Json] | None]:
    """The nodes asked about, and their objects where those were sent."""
    if asked.get("NodeNames") is not None:
        return [Node(name, None) for name in asked["NodeNames"]], None
    if asked.get("Nodes") is None:
        raise CannotAnswer("the request names no nodes: neither Nodes nor NodeNames is there")
    items = asked["Nodes"].get("items") or []
    metas = [one["metadata"] for one in items]
    return [Node(meta["name"], meta.get("labels") or {}) for meta in metas], items


def _verdicts(rules: tuple[Rule, ...], nodes: list[Node]) -> _Verdicts:
    found = _Verdicts()
    is_closed = any(rule.allows for rule in rules)
    for place, node in enumerate(nodes):
        rule = next((one for one in rules if one.matches(node)), None)
        if rule.allows if rule else not is_closed:
            found.passed.append(place)
        elif rule is not None and rule.unresolvable:
            found.never[node.name] = rule.reason
        else:
            found.failed[node.name] = rule.reason if rule else NO_ALLOW
    return found


def _filter(rules: Rules, asked: Json) -> Json:
    nodes, items = _nodes(asked)
    found = _verdicts(rules.filter, nodes)
    names = [nodes[place].name for place in found.passed]
    whole = None if items is None else {"items": [items[place] for place in found.passed]}
    return {
        "Nodes": whole,
        "NodeNames": names if items is None else None,
        "FailedNodes": found.failed,
        "FailedAndUnresolvableNodes": found.never,
        "Error": "",
    }


def _prioritize(rules: Rules, asked: Json) -> list[Json]:
    def score(node: Node) -> int:
        return next((one.score for one in rules.prioritize if one.matches(node)), 0)

    return [{"Host": node.name, "Score": score(node)} for node in _nodes(asked)[0]]


def _preempt(rules: Rules, asked: Json) -> Json:
    victims = asked.get("NodeNameToMetaVictims")
    if victims is None:
        whole = asked.get("NodeNameToVictims") or {}
        victims = {
            name: {
                "Pods": [{"UID": one["metadata"]["uid"]} for one in there["Pods"] or ()],
                "NumPDBViolations": there.get("NumPDBViolations", 0),
            }
            for name, there in whole.items()
        }
    names = list(victims.keys())  # whose nodes they are: a list of victims is no answer to that
    found = _verdicts(rules.preempt, [Node(name, None) for name in names])
    return {"NodeNameToMetaVictims": {names[i]: victims[names[i]] for i in found.passed}}


def _bind(rules: Rules, asked: Json) -> Json:
    asked["PodName"], asked["Node"]
    return {"Error": NO_BIND if rules.bind_error is None else rules.bind_error}


_VERBS = {"filter": _filter, "prioritize": _prioritize, "preempt": _preempt, "bind": _bind}
VERBS = tuple(_VERBS)


# ---- reading -------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Without aliases: what is short to write is short to read."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            line = self.peek_event().start_mark.line + 1
            raise RulesError(f"line {line}: write it out again, aliases (*name) are not read here")
        return super().compose_node(parent, index)


def read(text: str) -> Rules:
    """Raises RulesError."""
    if len(text) > LARGEST:
        raise RulesError(f"the rules are longer than {LARGEST >> 10} KiB")
    try:
        raw = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        words = getattr(error, "problem", None) or str(error)
        hint = ": indent with spaces, not with tabs" if "'\\t'" in words else ""
        raise RulesError(f"{where}{words}{hint}") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, RulesError):
            raise
        raise RulesError("the rules cannot be read as YAML") from error
    if raw is None:
        return Rules()
    _known(raw, "", tuple(FIELDS))
    listed = {verb: _listed(raw.get(verb), verb) for verb in FIELDS if verb != "bind"}
    return Rules(**listed, bind_error=_bind_error(raw.get("bind")))


def _known(raw: Any, where: str, fields: tuple[str, ...]) -> None:
    if not isinstance(raw, dict):
        raise RulesError(f"{where or 'the rules'}: write a map of {', '.join(fields)}")
    for name in raw:
        if name not in fields:
            path = f"{where}.{name}" if where else str(name)
            raise RulesError(f"{path}: not known here; there are {', '.join(fields)}")


def _listed(raw: Any, verb: str) -> tuple[Rule, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise RulesError(f"{verb}: write a list of rules, each beginning with - ")
    if len(raw) > MOST_RULES:
        raise RulesError(f"{verb}: more than {MOST_RULES} rules")
    return tuple(_rule(one, f"{verb}[{i}]", verb) for i, one in enumerate(raw))


def _rule(raw: Any, where: str, verb: str) -> Rule:
    fields = FIELDS[verb]
    _known(raw, where, fields)
    kinds = [name for name in ("deny", "allow", "node") if name in fields]
    given = [name for name in kinds if name in raw]
    if len(given) != 1:
        raise RulesError(f"{where}: write {' or '.join(kinds)}, and one of them only")
    kind = given[0]
    pattern, labels = _nodes_meant(raw[kind], f"{where}.{kind}")
    if labels and verb == "preempt":
        raise RulesError(f"{where}.{kind}: write a name, no labels are sent with victims")
    unresolvable = raw.get("unresolvable", False)
    if not isinstance(unresolvable, bool):
        raise RulesError(f"{where}.unresolvable: write true or false")
    reason = raw.get("reason", f"refused by {where}")
    if not isinstance(reason, str):
        raise RulesError(f"{where}.reason: write a text, in quotes if need be")
    score = _score(raw.get("score"), f"{where}.score") if verb == "prioritize" else 0
    return Rule(where, pattern, labels, kind == "allow", reason, unresolvable, score)


def _nodes_meant(raw: Any, where: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    if isinstance(raw, str) and raw:
        return raw, ()
    if isinstance(raw, dict) and raw:
        for name, value in raw.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise RulesError(f"{where}.{name}: a label's value is a text: put it in quotes")
        return "", tuple(raw.items())
    raise RulesError(f"{where}: write a node's name (* stands for anything) or labels")


def _score(raw: Any, where: str) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= MAX_SCORE:
        raise RulesError(f"{where}: write a whole number from 0 to {MAX_SCORE}")
    return raw


def _bind_error(raw: Any) -> str | None:
    if raw is None:
        return None
    _known(raw, "bind", FIELDS["bind"])
    if raw.get("pretend") is True and "error" not in raw:
        return ""
    if isinstance(raw.get("error"), str) and raw["error"] and "pretend" not in raw:
        return str(raw["error"])
    raise RulesError("bind: write error: and the words of the refusal, or pretend: true")
