"""Pages of rows by keyset: the last row's key, never an offset. Used by the readers of lists."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound="Model")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows and the key of the next ones: None when these are the last."""

    rows: list[Row]
    next: str | None = None


def page_of(rows: QuerySet[Row], limit: int, key: Any) -> Page[Row]:
    found = list(rows[: limit + 1])
    more = len(found) > limit
    return Page(found[:limit], key(found[limit - 1]) if more else None)


def whole(text: str) -> int | None:
    """A number from a URL; nonsense is no number and shows the first page."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def pack(*key: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def unpack(text: str, *types: type) -> list[Any] | None:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(key, list) or [type(part) for part in key] != list(types):
        return None
    return key
