"""Go's durations: "1h30m", "10s", "500ms". Mirrors time.ParseDuration and Duration.String."""

from __future__ import annotations

import re
from fractions import Fraction

from schedviz.scheduler.config.errors import quoted

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
SECOND = NANOSECONDS["s"]
_LARGEST = 2**63 - 1
_PART = re.compile(r"([0-9]*(?:\.[0-9]*)?)([^0-9.]*)")


class BadDuration(ValueError):
    """The text is Go's."""


def parse(text: str) -> int:
    """Nanoseconds."""
    whole = quoted(text)
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise BadDuration(f"time: invalid duration {whole}")
    total = Fraction(0)
    while rest:
        match = _PART.match(rest)
        number, unit = match.groups() if match else ("", "")
        if not number.strip("."):
            raise BadDuration(f"time: invalid duration {whole}")
        if not unit:
            raise BadDuration(f"time: missing unit in duration {whole}")
        if unit not in NANOSECONDS:
            raise BadDuration(f"time: unknown unit {quoted(unit)} in duration {whole}")
        total += Fraction(number if number[-1:] != "." else number[:-1]) * NANOSECONDS[unit]
        rest = rest[len(number) + len(unit) :]
    if total > _LARGEST:
        raise BadDuration(f"time: invalid duration {whole}")
    return sign * int(total)


def text_of(nanoseconds: int) -> str:
    """As Go prints it: 600 s are "10m0s"."""
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if rest == 0:
        return "0s"
    if rest < SECOND:
        unit = "ms" if rest >= 1_000_000 else "µs" if rest >= 1_000 else "ns"
        return f"{sign}{_decimal(rest, NANOSECONDS[unit])}{unit}"
    minutes, within = divmod(rest, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    words = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{words}{_decimal(within, SECOND)}s"


def seconds(text: str) -> float:
    return parse(text) / SECOND


def _decimal(value: int, unit: int) -> str:
    whole, part = divmod(value, unit)
    if not part:
        return str(whole)
    return f"{whole}.{part:0{len(str(unit)) - 1}d}".rstrip("0")
