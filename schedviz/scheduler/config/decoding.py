"""From the tree of a file to plain values of the right types, strictly: no unknown field, no key twice, no wrong type.

Called by `load` and `old_versions`; hands a sparse mapping (only what is written) to `defaults`. Mirrors
apimachinery's codec with sigs.k8s.io/json in strict mode: a value of a wrong type ends the reading with the first of
them, unknown fields and keys written twice are collected, also those of plugins' arguments (v1.36).
"""

from __future__ import annotations

from typing import Any

from schedviz.scheduler.config.documents import Document, Node, object_tree, plain
from schedviz.scheduler.config.errors import ConfigError, Problem, child, quoted
from schedviz.scheduler.config.reading import Reader, form_of
from schedviz.scheduler.config.types import API_VERSION, CONFIGURATION, GROUP, KIND, PLUGIN_ARGS

SCHEME = "pkg/scheduler/apis/config/scheme/scheme.go:29"
STRICT = "strict decoding error: "
META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
KINDS = {KIND, *(f"{name}Args" for name in PLUGIN_ARGS)}


def decode(document: Document) -> dict[str, Any]:
    """What the file says. Raises ConfigError with everything that is wrong at this stage."""
    check_kind(document)
    reader = Reader("")
    found = reader.whole(document.root, CONFIGURATION)
    if reader.fatal:
        problems = [*reader.fatal, *reader.strict_problems(document)]
        raise ConfigError(reader.fatal[0].text, document.lines.located(problems))
    words, strict = _duplicates(document, "")
    unknown = reader.strict_problems(document)
    words += [one.text for one in unknown]
    strict += unknown
    for i, profile in enumerate(found.get("profiles") or ()):
        for j, entry in enumerate(profile.get("pluginConfig") or ()):
            texts, problems = _decode_args(document, entry, i, j)
            if texts:
                at = f"decoding .profiles[{i}].pluginConfig[{j}]: {STRICT}"
                args = f"decoding args for plugin {entry['name']}: {STRICT}"
                words.append(at + args + ", ".join(texts))
                strict += problems
    if strict:
        raise ConfigError(STRICT + ", ".join(words), document.lines.located(strict))
    return found


def pruned(raw: Any) -> tuple[dict[str, Any], list[str]]:
    """What of this object a v1 configuration has a place for, and the paths of the rest."""
    reader = Reader("")
    kept = reader.whole(object_tree(raw), CONFIGURATION)
    dropped = reader.left_out
    for i, profile in enumerate(kept.get("profiles") or ()):
        for j, entry in enumerate(profile.get("pluginConfig") or ()):
            kind = PLUGIN_ARGS.get(entry.get("name", ""))
            node = entry.get("args")
            if node is not None and kind is None:
                entry["args"] = plain(node)
            elif node is not None and kind is not None:
                inside = Reader(f"profiles[{i}].pluginConfig[{j}].args")
                entry["args"] = inside.whole(node, kind)
                dropped += inside.left_out
    return kept, dropped


def check_kind(document: Document) -> None:
    """The apiVersion and kind that this scheduler reads."""
    root = document.root
    if root.value is None:
        raise _about_kind(
            document, f"Object 'Kind' is missing in '{document.text}'", "kind", "the file is empty"
        )
    kind, version = _meta(document, root, "")
    if not kind:
        text = f"Object 'Kind' is missing in '{document.text}'"
        raise _about_kind(document, text, "kind", f"write kind: {KIND}")
    if not version:
        text = f"Object 'apiVersion' is missing in '{document.text}'"
        raise _about_kind(document, text, "apiVersion", f"write apiVersion: {API_VERSION}")
    if version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        raise _about_kind(document, text, "apiVersion", f"write apiVersion: {API_VERSION}")
    if version == API_VERSION and kind in KINDS and kind != KIND:
        text = f"couldn't decode as KubeSchedulerConfiguration, got {version}, Kind={kind}: "
        raise _about_kind(document, text.strip(), "kind", f"write kind: {KIND}")
    if (version, kind) != (API_VERSION, KIND):
        is_kind = version == API_VERSION
        mend = f"write {'kind: ' + KIND if is_kind else 'apiVersion: ' + API_VERSION}"
        raise _about_kind(
            document, _unknown_kind(kind, version), "kind" if is_kind else "apiVersion", mend
        )


def _about_kind(document: Document, text: str, field: str, mend: str) -> ConfigError:
    return ConfigError(text, document.lines.located([Problem(field, text, mend=mend)]))


def _unknown_kind(kind: str, version: str) -> str:
    if version == "__internal":
        return f'no kind "{kind}" is registered for the internal version of group "" in scheme "{SCHEME}"'
    return f'no kind "{kind}" is registered for version "{version}" in scheme "{SCHEME}"'


def _meta(document: Document, node: Node, path: str) -> tuple[str, str]:
    """kind and apiVersion, "" where not given."""
    prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal "
    if not isinstance(node.value, dict):
        text = f"{prefix}{form_of(node.value)} into Go value of type {META}"
        mend = "the file must be a mapping of fields" if not path else "write a mapping of fields"
        raise ConfigError(text, document.lines.located([Problem(path, text, node.line, mend)]))
    found = []
    for name in ("kind", "apiVersion"):
        value = node.value[name].value if name in node.value else None
        if value is not None and not isinstance(value, str):
            go = name[0].upper() + name[1:] if name == "kind" else "APIVersion"
            text = f"{prefix}{form_of(value)} into Go struct field .{name} of type string"
            problem = Problem(child(path, name), text, mend=f"{go} is a text")
            raise ConfigError(text, document.lines.located([problem]))
        found.append(value or "")
    return found[0], found[1]


def _duplicates(document: Document, below: str) -> tuple[list[str], list[Problem]]:
    """Keys that stand twice, in kube-scheduler's words and ours. YAML's are told for the whole file at once, JSON's
    outside of plugins' arguments or inside of one's."""
    mine = [
        one for one in document.duplicates if not document.is_json or _args_of(one.path) == below
    ]
    problems = [
        Problem(
            child(one.path, one.key),
            f"key {quoted(one.key)} already set in map",
            one.line,
            f"it is written on line {one.first_line} first: keep one of the two",
        )
        for one in mine
    ]
    if document.is_json:
        fields = [child(one.path.removeprefix(below).lstrip("."), one.key) for one in mine]
        return [f"duplicate field {quoted(field)}" for field in fields], problems
    words = "".join(
        f"\n  line {one.value_line}: key {quoted(one.key)} already set in map" for one in mine
    )
    return [f"yaml: unmarshal errors:{words}"] if mine else [], problems


def _args_of(path: str) -> str:
    """The path of the plugin's arguments that this path lies in; "" when in none."""
    steps = path.split(".")
    is_inside = (
        len(steps) >= 3
        and steps[0].startswith("profiles[")
        and steps[1].startswith("pluginConfig[")
        and steps[2] == "args"
    )
    return ".".join(steps[:3]) if is_inside else ""


def _decode_args(
    document: Document, entry: dict[str, Any], i: int, j: int
) -> tuple[list[str], list[Problem]]:
    """Puts plain values in the place of the tree; the unknown fields of a built-in plugin's arguments come back."""
    node: Node | None = entry.get("args")
    name = entry.setdefault("name", "")
    kind = PLUGIN_ARGS.get(name)
    if kind is None:
        if node is not None:
            entry["args"] = plain(node)
        return [], []
    path = f"profiles[{i}].pluginConfig[{j}].args"
    where = f"decoding .profiles[{i}].pluginConfig[{j}]: "
    if node is None or node.value is None:
        entry["args"] = {}
        return [], []
    try:
        told_kind, told_version = _meta(document, node, path)
    except ConfigError as error:
        message = f"{where}decoding args for plugin {name}: {error.message}"
        raise ConfigError(message, error.problems) from error
    wrong = _wrong_kind(name, told_kind, told_version)
    if wrong:
        field = child(path, "kind" if told_kind else "apiVersion")
        problem = Problem(field, where + wrong, mend="leave apiVersion and kind out")
        raise ConfigError(where + wrong, document.lines.located([problem]))
    reader = Reader(path)
    entry["args"] = reader.whole(node, kind)
    if reader.fatal:
        message = f"{where}decoding args for plugin {name}: {reader.fatal[0].text}"
        raise ConfigError(message, document.lines.located(reader.fatal))
    texts, problems = _duplicates(document, path) if document.is_json else ([], [])
    unknown = reader.strict_problems(document)
    return [*texts, *(one.text for one in unknown)], [*problems, *unknown]


def _wrong_kind(name: str, kind: str, version: str) -> str:
    own, version = f"{name}Args", version or API_VERSION
    kind = kind or own
    if version != API_VERSION or kind not in KINDS:
        return f"decoding args for plugin {name}: {_unknown_kind(kind, version)}"
    if kind != own:
        return f"args for plugin {name} were not of type {own}.{GROUP}, got {kind}.{GROUP}"
    return ""
