"""What can be said of a kubeconfig before it is used: the file, the context, and what is missing in them.

Called by `client`, which leaves the reading of credentials to the official client; that one's complaints name neither
the file nor the field. Nothing here looks into a credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from schedviz.cluster.errors import ClusterError


def check(path: str, context: str = "") -> None:
    """Raises ClusterError unless the file names a reachable cluster and a user for `context` (or its own choice)."""
    config = _read(path)
    name = context or config.get("current-context")
    if not name:
        raise _wrong(path, "current-context", "is empty: name a context, or set it in the file")
    chosen = _entry(path, config, "contexts", name=name, wanted_by="")
    cluster = _entry(
        path, config, "clusters", name=chosen.get("cluster"), wanted_by=f"contexts[{name}].cluster"
    )
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("http://", "https://")):
        field = f"clusters[{chosen.get('cluster')}].server"
        raise _wrong(path, field, "is not the http(s) URL of an API server")
    if chosen.get("user"):
        wanted_by = f"contexts[{name}].user"
        _entry(path, config, "users", name=chosen["user"], wanted_by=wanted_by)
    elif server.startswith("https://"):
        raise _wrong(path, f"contexts[{name}].user", "is empty: the context needs a user")


def _read(path: str) -> Mapping[str, Any]:
    try:
        config = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise ClusterError(f"the kubeconfig {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ClusterError(f"the kubeconfig {path} is not text") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ClusterError(f"the kubeconfig {path} is not YAML{where}") from None
    if not isinstance(config, Mapping) or not config.get("clusters"):
        raise ClusterError(f"the kubeconfig {path} names no clusters: is it a kubeconfig?")
    return config


def _entry(
    path: str, config: Mapping[str, Any], section: str, *, name: Any, wanted_by: str
) -> Mapping[str, Any]:
    """The entry of that name in a section; it lies below the section's singular."""
    listed = config.get(section) or []
    if not isinstance(listed, list):
        raise _wrong(path, section, "is not a list")
    entries = {one.get("name"): one for one in listed if isinstance(one, Mapping)}
    if name not in entries:
        has = ", ".join(str(known) for known in entries) or "none"
        why = f", which {wanted_by} asks for" if wanted_by else ""
        raise _wrong(path, section, f"has no entry named {name!r}{why}; it has: {has}")
    entry = entries[name].get(section[:-1])
    if not isinstance(entry, Mapping):
        raise _wrong(path, f"{section}[{name}].{section[:-1]}", "is missing")
    return entry


def _wrong(path: str, field: str, message: str) -> ClusterError:
    return ClusterError(f"the kubeconfig {path}: {field} {message}")
