"""The small words of printed tables: ages, lists cut short, selectors, what is not there.

Used by `columns`, `cells` and `pods`. Mirrors apimachinery's util/duration and the formatters of pkg/printers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from schedviz.sandbox.storage import Object

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def moment_of(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        return None


def since(text: object) -> str:
    """How long ago, as kubectl says it."""
    moment = moment_of(text)
    return UNKNOWN if moment is None else span((datetime.now(UTC) - moment).total_seconds())


def age(one: Object) -> str:
    return since(one["metadata"].get("creationTimestamp"))


def span(seconds: float) -> str:
    """Two units at most, fewer the longer it is."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{max(whole, 0)}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d") if days < 2920 else f"{days // 365}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def joined(items: list[Any], at_most: int = 3) -> str:
    """a,b,c + 2 more..."""
    texts = [str(item) for item in items]
    if len(texts) > at_most:
        return ",".join(texts[:at_most]) + f" + {len(texts) - at_most} more..."
    return ",".join(texts) or NONE


def labels(held: dict[str, Any] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((held or {}).items())) or NONE


def selector(held: dict[str, Any] | None) -> str:
    """A LabelSelector as text."""
    if not held:
        return NONE
    parts = [f"{key}={value}" for key, value in sorted((held.get("matchLabels") or {}).items())]
    for one in held.get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})"}
        words |= {"Exists": key, "DoesNotExist": f"!{key}"}
        parts.append(words.get(one.get("operator", ""), key))
    return ",".join(parts) or NONE


def containers(template_spec: dict[str, Any] | None) -> tuple[str, str]:
    """(names, images)."""
    every = (template_spec or {}).get("containers") or []
    names, images = [one.get("name", "") for one in every], [one.get("image", "") for one in every]
    return ",".join(names), ",".join(images)


def access_modes(modes: list[str] | None) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in modes or ())
