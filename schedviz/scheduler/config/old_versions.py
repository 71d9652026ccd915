"""Configurations of older versions, written anew for v1 as far as that is possible.

Called by `load` when a file is refused, for its proposal: kube-scheduler v1.36 reads v1 only. Also mends files that
are indented with tabs. `policy` is its part for files of kind Policy.
"""

from __future__ import annotations

from typing import Any

from schedviz.scheduler.config import durations, policy
from schedviz.scheduler.config.decoding import pruned
from schedviz.scheduler.config.documents import Document, plain, read_yaml
from schedviz.scheduler.config.effective import to_yaml
from schedviz.scheduler.config.errors import ConfigError, child
from schedviz.scheduler.config.json_text import looks_like_json, read_json
from schedviz.scheduler.config.types import API_VERSION, GROUP, KIND, POINTS

Raw = dict[str, Any]
OLD_GROUPS = (GROUP, "componentconfig")
ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
GONE = {
    **dict.fromkeys(
        ADDRESSES, "addresses are kube-scheduler's flags --bind-address, --secure-port"
    ),
    "failureDomains": "topology spread constraints name their topologyKey",
    "alwaysCheckAllPredicates": "there is no such choice any more",
    "featureGates": "feature gates are kube-scheduler's flag --feature-gates",
}
REMOVED_PLUGINS = {
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
        "NodeVolumeLimits does its work",
    ),
    **dict.fromkeys(
        ("SelectorSpread", "DefaultPodTopologySpread"), "PodTopologySpread does its work"
    ),
    "NodeLabel": "NodeAffinity's addedAffinity can do its work",
    "ServiceAffinity": "there is no such plugin any more",
    "NodePreferAvoidPods": "taints do its work",
}
STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}


def proposal(text: str) -> str:
    """The file as it could be; "" when there is nothing to propose."""
    document, has_tabs = _read(text)
    raw = plain(document.root) if document else None
    if not isinstance(raw, dict):
        return ""
    version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    is_policy = kind == "Policy" and version in ("v1", "")
    is_old = kind == KIND and version != API_VERSION and version.split("/")[0] in OLD_GROUPS
    if not (is_policy or is_old or (has_tabs and version == API_VERSION and kind == KIND)):
        return ""
    notes = ["indented with spaces in the place of tabs"] if has_tabs else []
    if is_policy:
        raw = policy.as_configuration(raw, notes)
    if is_old or is_policy:
        raw = _converted(raw, notes, is_first_alpha=version.endswith("v1alpha1"))
    kept, dropped = pruned(raw)
    notes += [f"{path}: left out, v1 has nothing like it" for path in dropped]
    heading = f"# {version or kind} as {API_VERSION}" if is_old or is_policy else "# Mended"
    return "\n".join([heading, *(f"# - {note}" for note in notes), to_yaml(kept)])


def _read(text: str) -> tuple[Document | None, bool]:
    """The document, and whether its tabs had to give way to be read."""
    for candidate, has_tabs in ((text, False), (text.replace("\t", "  "), "\t" in text)):
        try:
            reader = read_json if looks_like_json(candidate) else read_yaml
            return reader(candidate), has_tabs
        except ConfigError:
            continue
    return None, False


def _converted(raw: Raw, notes: list[str], *, is_first_alpha: bool) -> Raw:
    full = {**raw, "apiVersion": API_VERSION, "kind": KIND}
    for name, why in GONE.items():
        if full.pop(name, None) is not None:
            notes.append(f"{name}: left out, {why}")
    _leader_election(full, notes)
    if isinstance(full.get("extenders"), list):
        full["extenders"] = [
            _extender(one, f"extenders[{i}]", notes) for i, one in enumerate(full["extenders"])
        ]
    _into_profile(full, notes, is_first_alpha=is_first_alpha)
    for i, profile in enumerate(_dicts(full.get("profiles"))):
        _profile(profile, f"profiles[{i}]", notes)
    return full


def _dicts(value: Any) -> list[Raw]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _rename(raw: Raw, old: str, new: str, path: str, notes: list[str]) -> None:
    if old in raw:
        value = raw.pop(old)
        raw.setdefault(new, value)
        notes.append(f"{child(path, old)}: is {new} now")


def _leader_election(full: Raw, notes: list[str]) -> None:
    raw = full.get("leaderElection")
    if not isinstance(raw, dict):
        return
    raw = full["leaderElection"] = dict(raw)
    _rename(raw, "lockObjectName", "resourceName", "leaderElection", notes)
    _rename(raw, "lockObjectNamespace", "resourceNamespace", "leaderElection", notes)
    if raw.get("resourceLock") not in (None, "leases"):
        notes.append(f"leaderElection.resourceLock: {raw['resourceLock']} is leases now")
        raw["resourceLock"] = "leases"


def _extender(raw: Any, path: str, notes: list[str]) -> Any:
    if not isinstance(raw, dict):
        return raw
    raw = dict(raw)
    _rename(raw, "enableHttps", "enableHTTPS", path, notes)
    timeout = raw.get("httpTimeout")
    if isinstance(timeout, int) and not isinstance(timeout, bool):
        raw["httpTimeout"] = durations.text_of(timeout)
        notes.append(f"{path}.httpTimeout: nanoseconds are written as a duration now")
    return raw


# ---- what used to stand at the top and belongs to a profile --------------------------------------------------------


def _into_profile(full: Raw, notes: list[str], *, is_first_alpha: bool) -> None:
    profiles = full.get("profiles")
    listed = profiles if isinstance(profiles, list) else []
    first: Raw = dict(listed[0]) if listed and isinstance(listed[0], dict) else {}
    for name in ("schedulerName", "plugins", "pluginConfig"):
        if name in full:
            first.setdefault(name, full.pop(name))
            notes.append(f"{name}: belongs to a profile now")
    plugins = first.get("plugins")
    if is_first_alpha and isinstance(plugins, dict):
        first["plugins"] = plugins = dict(plugins)
        _rename(plugins, "postFilter", "preScore", "plugins", notes)
    for old, plugin, new in (
        ("hardPodAffinitySymmetricWeight", "InterPodAffinity", "hardPodAffinityWeight"),
        ("bindTimeoutSeconds", "VolumeBinding", "bindTimeoutSeconds"),
    ):
        if isinstance(full.get(old), int):
            _args(first, plugin).setdefault(new, full[old])
            notes.append(f"{old}: is {new} of {plugin} now")
        full.pop(old, None)
    if full.pop("disablePreemption", False) is True:
        _switch_off(first, "DefaultPreemption")
        notes.append("disablePreemption: DefaultPreemption is disabled")
    _algorithm_source(full.pop("algorithmSource", None), first, notes)
    if first:
        full["profiles"] = [first, *listed[1:]]


def _algorithm_source(source: Any, profile: Raw, notes: list[str]) -> None:
    if not isinstance(source, dict):
        return
    if source.get("provider") == "ClusterAutoscalerProvider":
        _args(profile, "NodeResourcesFit")["scoringStrategy"] = {"type": "MostAllocated"}
        notes.append("algorithmSource: NodeResourcesFit scores by MostAllocated")
    elif "policy" in source:
        notes.append("algorithmSource.policy: run check_config on the policy file itself")
    else:
        notes.append("algorithmSource: left out, the default plugins are the default")


def _args(profile: Raw, plugin: str) -> Raw:
    """The plugin's arguments in this profile, to be changed."""
    entries = profile["pluginConfig"] = _dicts(profile.get("pluginConfig"))
    for i, entry in enumerate(entries):
        if entry.get("name") == plugin:
            args = entry.get("args")
            entries[i] = {**entry, "args": dict(args) if isinstance(args, dict) else {}}
            found: Raw = entries[i]["args"]
            return found
    entries.append({"name": plugin, "args": {}})
    made: Raw = entries[-1]["args"]
    return made


def _switch_off(profile: Raw, plugin: str) -> None:
    plugins = profile["plugins"] = dict(profile.get("plugins") or {})
    everywhere = plugins["multiPoint"] = dict(plugins.get("multiPoint") or {})
    everywhere["disabled"] = [*_dicts(everywhere.get("disabled")), {"name": plugin}]


# ---- plugins that have another name or are gone --------------------------------------------------------------------


def _profile(profile: Raw, path: str, notes: list[str]) -> None:
    plugins = profile.get("plugins")
    if isinstance(plugins, dict):
        profile["plugins"] = {
            point: _plugin_set(a_set, f"{path}.plugins.{point}", notes)
            if point in POINTS
            else a_set
            for point, a_set in plugins.items()
        }
    for entry in _dicts(profile.get("pluginConfig")):
        name, args = entry.get("name"), entry.get("args")
        if name in STRATEGIES and isinstance(args, dict):
            _scoring_strategy(_args(profile, "NodeResourcesFit"), STRATEGIES[name], args)
            notes.append(
                f"{path}.pluginConfig: {name} is a scoringStrategy of NodeResourcesFit now"
            )
    entries = _dicts(profile.get("pluginConfig"))
    if entries:
        kept = [one for one in entries if one.get("name") not in (STRATEGIES | REMOVED_PLUGINS)]
        profile["pluginConfig"] = [_bare(one) for one in kept]


def _bare(entry: Raw) -> Raw:
    """Without the old version in the arguments; default constraints used to be a List without saying so."""
    args = entry.get("args")
    if not isinstance(args, dict):
        return entry
    bare = {key: one for key, one in args.items() if key not in ("apiVersion", "kind")}
    if bare.get("defaultConstraints"):
        bare.setdefault("defaultingType", "List")
    return {**entry, "args": bare}


def _scoring_strategy(fit: Raw, kind: str, old: Raw) -> None:
    strategy: Raw = {"type": kind}
    if isinstance(old.get("resources"), list):
        strategy["resources"] = old["resources"]
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": old.get("shape") or []}
    fit["scoringStrategy"] = strategy


def _plugin_set(a_set: Any, path: str, notes: list[str]) -> Any:
    if not isinstance(a_set, dict):
        return a_set
    kept: Raw = {}
    for side, entries in a_set.items():
        seen: dict[str, Raw] = {}
        for one in _dicts(entries):
            name = str(one.get("name") or "")
            if name in REMOVED_PLUGINS:
                notes.append(f"{path}.{side}: {name} left out, {REMOVED_PLUGINS[name]}")
            elif name in STRATEGIES and side == "enabled":
                seen.setdefault("NodeResourcesFit", {**one, "name": "NodeResourcesFit"})
                notes.append(f"{path}.{side}: {name} is NodeResourcesFit now")
            elif name not in STRATEGIES:
                seen.setdefault(name, one)
        kept[side] = list(seen.values())
    return kept
