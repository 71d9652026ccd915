"""The text of a configuration file as a tree that remembers its lines: YAML as kube-scheduler's reader takes it.

Called by `load`; `json_text` is its sibling for files that begin with "{". Hands a Document to `decoding`. Mirrors
sigs.k8s.io/yaml (go-yaml v2) where it differs from PyYAML: `y` and `on` are true, 1:30 and dates are text. It makes
JSON of the file, with the keys in order, so complaints come in that order. Of several documents in the file the first
is read, as kube-scheduler does; where the second begins is told on.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from schedviz.scheduler.config.errors import ConfigError, Lines, Problem, child, quoted

LARGEST = 1 << 20
MOST_NODES = 100_000
DEEPEST = 100
MOST_DIGITS = 300
WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
}
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# What PyYAML says -> what libyaml, and so kube-scheduler, says.
LIBYAML = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"found character '.*' that", "found character that"),
        (
            r"(mapping values|mapping keys) are not allowed here",
            r"\1 are not allowed in this context",
        ),
        (
            "sequence entries are not allowed here",
            "block sequence entries are not allowed in this context",
        ),
        (r"expected (',' or '[\]}]'), but got .*", r"did not find expected \1"),
        ("expected the node content, but found .*", "did not find expected node content"),
        (r"expected '<document start>', but found .*", "did not find expected <document start>"),
        (r"expected (.+), but found .*", r"did not find expected \1"),
        (r"found undefined alias '(.*)'", r"unknown anchor '\1' referenced"),
        ("found unknown escape character .*", "found unknown escape character"),
    )
]
BLOCK_END = {
    "while parsing a block mapping": "did not find expected key",
    "while parsing a block collection": "did not find expected '-' indicator",
}
MERGE = "<<"


@dataclass(slots=True)
class Node:
    """A value with its line. Mappings are dict[str, Node], lists list[Node], the rest str, int, float, bool or None."""

    value: Any
    line: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in a mapping. value_line: of its later value, which is what kube-scheduler names."""

    path: str
    key: str
    line: int
    value_line: int
    first_line: int


@dataclass(slots=True)
class Document:
    """A whole file. As kube-scheduler does it, of a key that stands twice the last value is kept, and a complaint."""

    root: Node = field(default_factory=lambda: Node(None, 1))
    lines: Lines = field(default_factory=Lines)
    duplicates: list[Duplicate] = field(default_factory=list)
    is_json: bool = False
    text: str = ""
    dropped_line: int | None = None
    """Where a second document begins, which nobody reads."""


def unreadable(message: str, line: int, mend: str = "") -> ConfigError:
    return ConfigError(message, [Problem("", message, line=line, mend=mend)])


def read_yaml(text: str) -> Document:
    if len(text) > LARGEST:
        raise unreadable(f"yaml: the file has more than {LARGEST} characters", 1)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_node() if loader.check_node() else None
        dropped_line = _second_document(loader)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise unreadable("yaml: control characters are not allowed", line) from error
    except yaml.YAMLError as error:
        raise unreadable(f"yaml: {' '.join(str(error).split())}", 1) from error
    except (RecursionError, ValueError) as error:
        raise unreadable("yaml: the file cannot be read: it is nested too deeply", 1) from error
    document = _YamlTree(loader).document(node)
    document.text, document.dropped_line = text, dropped_line
    return document


def _second_document(loader: yaml.SafeLoader) -> int | None:
    """The line of the next document that says something, or of what is no YAML any more; None at the end."""
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                return None
            if not isinstance(node, yaml.ScalarNode) or node.value not in ("", "~", "null"):
                return int(node.start_mark.line) + 1
    except yaml.MarkedYAMLError as error:
        return int(error.problem_mark.line) + 1 if error.problem_mark else 1
    return None


def _syntax_error(error: yaml.MarkedYAMLError) -> ConfigError:
    """In go-yaml's words and with its line, which is often that of the block around; ours is that of the fault."""
    problem = error.problem or "unknown problem parsing YAML content"
    if problem.startswith("expected <block end>"):
        problem = BLOCK_END.get(error.context or "", problem)
    for pattern, words in LIBYAML:
        problem = pattern.sub(words, problem)
    mark = error.problem_mark
    line = mark.line + 1 if mark else 1
    told = error.context_mark.line if error.context_mark and error.context_mark.line else line - 1
    if told and isinstance(error, yaml.scanner.ScannerError):
        told += 1
    where = f"line {told}: " if told else ""
    has_tab = bool(mark and mark.buffer and mark.buffer[mark.pointer : mark.pointer + 1] == "\t")
    mend = "YAML is indented with spaces: put spaces in the place of the tab" if has_tab else ""
    return unreadable(f"yaml: {where}{problem}", line, mend)


class _YamlTree:
    """Turns PyYAML's graph into ours. Aliases are written out, so there is a limit to how much comes out of it."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._made = 0
        self._open: set[int] = set()
        self._document = Document()

    def document(self, root: yaml.Node | None) -> Document:
        if root is not None:
            self._document.root = self._tree(root, "", 0)
        self._document.lines.note("", 1)
        return self._document

    def _tree(self, node: yaml.Node, path: str, depth: int) -> Node:
        line = node.start_mark.line + 1
        self._made += 1
        if self._made > MOST_NODES:
            raise unreadable("yaml: document contains excessive aliasing", line)
        if depth > DEEPEST:
            raise unreadable("yaml: exceeded max depth", line)
        if id(node) in self._open:
            raise unreadable("yaml: an anchor's value contains itself", line)
        self._document.lines.note(path, line)
        self._open.add(id(node))
        try:
            return Node(self._value(node, path, depth), line)
        finally:
            self._open.discard(id(node))

    def _value(self, node: yaml.Node, path: str, depth: int) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self._tree(one, f"{path}[{i}]", depth + 1) for i, one in enumerate(node.value)]
        return self._scalar(node) if isinstance(node, yaml.ScalarNode) else None

    def _mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag.endswith(":merge") and key_node.value == MERGE:
                for key, value in self._merged(value_node, path, depth).items():
                    found.setdefault(key, value)
                continue
            key = self._key(key_node)
            self._document.lines.note(child(path, key), line)
            found[key] = self._tree(value_node, child(path, key), depth + 1)
            if key in lines:
                self._document.duplicates.append(
                    Duplicate(path, key, line, found[key].line, lines[key])
                )
            lines.setdefault(key, line)
        return {key: found[key] for key in sorted(found)}

    def _merged(self, node: yaml.Node, path: str, depth: int) -> dict[str, Node]:
        """What `<<` brings in; the first of several that has a key gives it."""
        each = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Node] = {}
        for one in each:
            tree = self._tree(one, path, depth + 1)
            if not isinstance(tree.value, dict):
                raise unreadable(
                    "yaml: map merge requires map or sequence of maps as the value", tree.line
                )
            found = {**tree.value, **found}
        return found

    def _key(self, node: yaml.Node) -> str:
        value = self._scalar(node) if isinstance(node, yaml.ScalarNode) else None
        if value is None:
            raise unreadable("yaml: a key must be a text", node.start_mark.line + 1)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = whole_characters(node.value)
        implied = self._loader.resolve(  # type: ignore[no-untyped-call]
            yaml.ScalarNode, text, (True, False)
        )
        is_text = node.style is not None or (node.tag.endswith(":str") and implied != node.tag)
        if is_text:
            return text
        value = plain_scalar(text)
        if isinstance(value, float) and not math.isfinite(value):
            raise unreadable(f"json: unsupported value: {text}", node.start_mark.line + 1)
        return value


def whole_characters(text: str) -> str:
    """As Go has it: halves of a character make one, a lone half is replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_scalar(text: str) -> Any:
    """What unquoted text means to go-yaml; a number without a fraction is an integer, as in the JSON made of it."""
    if text in WORDS:
        return WORDS[text]
    if _NO_NUMBER.fullmatch(text):
        return float("nan")
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        return int(value) if abs(value) < 1e21 and value.is_integer() else value
    return text


def _integer(digits: str) -> int | float:
    sign = -1 if digits.startswith("-") else 1
    bare = digits.lstrip("+-")
    is_octal = len(bare) > 1 and bare.startswith("0") and bare.isdigit()
    if len(bare) > MOST_DIGITS:
        return sign * math.inf
    value = sign * (int(bare, 8) if is_octal else int(bare, 0))
    return value if -(2**63) <= value < 2**64 else float(value)


def object_tree(raw: Any, path: str = "") -> Node:
    """The same tree of a configuration that is no text, so it has no lines."""
    if isinstance(raw, dict):
        return Node({str(k): object_tree(v, child(path, str(k))) for k, v in raw.items()}, 0)
    if isinstance(raw, list | tuple):
        return Node([object_tree(one, f"{path}[{i}]") for i, one in enumerate(raw)], 0)
    if raw is None or isinstance(raw, str | int | float | bool):
        return Node(raw, 0)
    raise ConfigError(
        f"{path}: a {type(raw).__name__} has no place in a configuration",
        [Problem(path, f"a {quoted(type(raw).__name__)} has no place in a configuration")],
    )


def plain(node: Node) -> Any:
    """Without the lines."""
    if isinstance(node.value, dict):
        return {key: plain(one) for key, one in node.value.items()}
    if isinstance(node.value, list):
        return [plain(one) for one in node.value]
    return node.value
