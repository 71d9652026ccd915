"""An extender's address without what is secret in it, for messages, records and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@")
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://")


def joined(prefix: str, verb: str) -> str:
    """As it is called, credentials and all."""
    return f"{prefix.rstrip('/')}/{verb}"


def safe_url(url: str) -> str:
    return _CREDENTIALS.sub("", url).partition("?")[0]


def names(prefixes: Iterable[str]) -> list[str]:
    """Host and path of each, numbered where two are the same."""
    found: list[str] = []
    for prefix in prefixes:
        plain = _SCHEME.sub("", safe_url(prefix)).rstrip("/") or prefix
        same = sum(one == plain or one.startswith(f"{plain} (") for one in found)
        found.append(f"{plain} ({same + 1})" if same else plain)
    return found
