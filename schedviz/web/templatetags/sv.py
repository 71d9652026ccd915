"""How values are written on the pages: durations, ages, quantities, marks."""

from __future__ import annotations

from datetime import UTC, datetime
from django import template

register = template.Library()
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


@register.filter
def clock(seconds: float | None) -> str:
    """A moment as UTC time of day with its date for a title elsewhere."""
    if not seconds:
        return "–"
    return datetime.fromtimestamp(float(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S")


@register.filter
def ms(seconds: float | None) -> str:
    """Seconds as milliseconds, as exact as is useful."""
    value = float(seconds or 0) * 1000
    return f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"


@register.filter
def amount(n: int | None, resource: str = "") -> str:
    """A resource's amount as people write it: cores, Gi, a count."""
    value = int(n or 0)
    if resource == "cpu":
        return f"{value / 1000:g}"
    if resource not in ("memory", "ephemeral-storage") or value == 0:
        return str(value)
    step = 0
    number = float(value)
    while number >= 1024 and step < len(_BINARY) - 1:
        number /= 1024
        step += 1
    return f"{number:.3g}{_BINARY[step]}"


@register.filter
def reasons(message: str) -> str:
    """A FitError's reasons without its head "0/24 nodes are available: "."""
    return message.partition(" nodes are available: ")[2] or message
