"""The extenders of a configuration as plain data, with upstream's defaults.

Made by `load`, kept in the SchedulerConfig for whoever calls them. Mirrors the v1 Extender type and NewHTTPExtender
(v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedviz.scheduler.config import durations


@dataclass(frozen=True, slots=True)
class TLSConfig:
    """PEM texts are base64, as in the file; they count before the files of the same kind."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


@dataclass(frozen=True, slots=True)
class ExtenderConfig:
    """Where an extender is and what it is asked. An empty verb: it is not asked that. managed_resources: none means
    that every pod is sent."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: TLSConfig | None = None
    http_timeout_seconds: float = 5.0
    node_cache_capable: bool = False
    managed_resources: frozenset[str] = frozenset()
    ignored_by_scheduler: frozenset[str] = frozenset()
    ignorable: bool = False

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> ExtenderConfig:
        managed = raw.get("managedResources") or ()
        return cls(
            url_prefix=raw["urlPrefix"],
            filter_verb=raw.get("filterVerb", ""),
            preempt_verb=raw.get("preemptVerb", ""),
            prioritize_verb=raw.get("prioritizeVerb", ""),
            weight=raw.get("weight", 0),
            bind_verb=raw.get("bindVerb", ""),
            enable_https=raw.get("enableHTTPS", False),
            tls_config=_tls_config(raw["tlsConfig"]) if "tlsConfig" in raw else None,
            http_timeout_seconds=durations.seconds(raw["httpTimeout"]),
            node_cache_capable=raw.get("nodeCacheCapable", False),
            managed_resources=frozenset(one["name"] for one in managed),
            ignored_by_scheduler=frozenset(
                one["name"] for one in managed if one.get("ignoredByScheduler")
            ),
            ignorable=raw.get("ignorable", False),
        )


def _tls_config(raw: Mapping[str, Any]) -> TLSConfig:
    return TLSConfig(
        insecure=raw.get("insecure", False),
        server_name=raw.get("serverName", ""),
        cert_file=raw.get("certFile", ""),
        key_file=raw.get("keyFile", ""),
        ca_file=raw.get("caFile", ""),
        cert_data=raw.get("certData", ""),
        key_data=raw.get("keyData", ""),
        ca_data=raw.get("caData", ""),
    )
