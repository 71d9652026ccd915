"""One line of a watch stream, as the API server sends it.

Made by `cluster.reflector`, handed to `cluster.store`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """type: ADDED | MODIFIED | DELETED | BOOKMARK | ERROR; `object` as it came."""

    type: str
    object: dict[str, Any]
