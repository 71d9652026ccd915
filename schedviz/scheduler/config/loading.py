"""A configuration from its text or object to what a scheduler runs with: read, decoded, completed, validated.

Called by `profile`, which then makes the plugins. Mirrors cmd/kube-scheduler/app/options LoadConfigFromFile and
ApplyTo, and scheduler.go buildExtenders (v1.36). No file is opened here.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from schedviz.scheduler.config import old_versions, validation
from schedviz.scheduler.config.decoding import decode
from schedviz.scheduler.config.defaults import completed
from schedviz.scheduler.config.documents import Document, object_tree, read_yaml
from schedviz.scheduler.config.effective import to_yaml
from schedviz.scheduler.config.errors import ConfigError, Lines, Problem, aggregate
from schedviz.scheduler.config.extenders import ExtenderConfig
from schedviz.scheduler.config.json_text import looks_like_json, read_json
from schedviz.scheduler.config.plugin_sets import DEFAULT_FEATURES, PluginSet, ProfileConfig
from schedviz.scheduler.config.types import API_VERSION, KIND

Raw = dict[str, Any]
FIT = "NodeResourcesFit"
INSECURE_WITH_CA = "specifying a root certificates file with the insecure flag is not allowed"


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """A valid configuration. full: every field, as kube-scheduler writes it out; written: the fields of the text;
    lines: where each of these stands."""

    full: Mapping[str, Any]
    profiles: tuple[ProfileConfig, ...]
    extenders: tuple[ExtenderConfig, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines = field(default_factory=Lines)
    dropped_line: int | None = None
    """Where a second document begins in the file: it is not read."""

    @property
    def initial_backoff_seconds(self) -> float:
        return float(self.full["podInitialBackoffSeconds"])

    @property
    def max_backoff_seconds(self) -> float:
        return float(self.full["podMaxBackoffSeconds"])

    def percentage_of_nodes_to_score(self, scheduler_name: str) -> int:
        """The profile's word counts before the whole configuration's; 0 is adaptive: see `framework.sampling`."""
        own = {one.scheduler_name: one.percentage_of_nodes_to_score for one in self.profiles}
        percentage = own.get(scheduler_name)
        whole: int = self.full["percentageOfNodesToScore"]
        return whole if percentage is None else percentage

    def effective(self) -> str:
        """As YAML: arguments of the plugins that run only, by name."""
        profiles = []
        for raw, profile in zip(self.full["profiles"], self.profiles, strict=True):
            needed = [
                one
                for one in raw["pluginConfig"]
                if one["name"] in profile.plugin_names and one.get("args") is not None
            ]
            profiles.append({**raw, "pluginConfig": sorted(needed, key=lambda one: one["name"])})
            if not needed:
                del profiles[-1]["pluginConfig"]
        return to_yaml({**self.full, "profiles": profiles})


def load(text: str, *, features: Set[str] = DEFAULT_FEATURES) -> SchedulerConfig:
    """Of a file's text. Raises ConfigError and nothing else."""
    try:
        document = read_json(text) if looks_like_json(text) else read_yaml(text)
        return _checked(document, features)
    except ConfigError as error:
        error.proposal = old_versions.proposal(text)
        raise


def from_object(
    raw: Mapping[str, Any] | None, *, features: Set[str] = DEFAULT_FEATURES
) -> SchedulerConfig:
    """Of an object, apiVersion and kind given or not; None: the defaults."""
    whole = {"apiVersion": API_VERSION, "kind": KIND, **(raw or {})}
    return _checked(Document(object_tree(whole)), features)


def _checked(document: Document, features: Set[str]) -> SchedulerConfig:
    written = decode(document)
    full = completed(written, features=features)
    problems = document.lines.located(validation.problems(full, features))
    if problems:
        raise ConfigError(aggregate([one.said for one in problems]), problems)
    _heed_extenders(full, document.lines)
    return SchedulerConfig(
        full,
        tuple(_profile(one) for one in full["profiles"]),
        tuple(ExtenderConfig.read(one) for one in full.get("extenders") or ()),
        written,
        document.lines,
        document.dropped_line,
    )


def _profile(raw: Raw) -> ProfileConfig:
    return ProfileConfig(
        raw["schedulerName"],
        {point: PluginSet.read(a_set) for point, a_set in raw["plugins"].items()},
        {one["name"]: one["args"] for one in raw["pluginConfig"]},
        raw.get("percentageOfNodesToScore"),
    )


def _heed_extenders(full: Raw, lines: Lines) -> None:
    """Resources that an extender manages alone are ignored by every profile's NodeResourcesFit, whatever its own
    arguments say."""
    extenders = full.get("extenders") or ()
    for i, one in enumerate(extenders):
        tls = one.get("tlsConfig") or {}
        if tls.get("insecure") and (tls.get("caFile") or tls.get("caData")):
            mend = "leave insecure out, or the root certificates"
            _refuse(INSECURE_WITH_CA, f"extenders[{i}].tlsConfig.insecure", mend, lines)
    ignored = [
        resource["name"]
        for one in extenders
        for resource in one.get("managedResources") or ()
        if resource.get("ignoredByScheduler")
    ]
    if not ignored:
        return
    for i, profile in enumerate(full["profiles"]):
        args = next((one["args"] for one in profile["pluginConfig"] if one["name"] == FIT), None)
        if args is None:
            mend = f"enable {FIT}, or leave ignoredByScheduler out"
            words = "can't find NodeResourcesFitArgs in plugin config"
            _refuse(words, f"profiles[{i}].plugins", mend, lines)
        else:
            args["ignoredResources"] = list(ignored)


def _refuse(words: str, path: str, mend: str, lines: Lines) -> None:
    text = f"couldn't build extenders: {words}"
    raise ConfigError(text, lines.located([Problem(path, text, mend=mend)]))
