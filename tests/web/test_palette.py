"""The colours of the pages: text is legible on whatever it may stand on, in light and in dark (WCAG 2 AA)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[2] / "static" / "css" / "base.css").read_text()
LEAST = 4.5
TEXTS = ("ink", "soft", "ok", "no", "never", "wait", "accent")
ON_TINTS = [("ok", "ok-tint"), ("no", "no-tint"), ("never", "never-tint"), ("soft", "hi")]


def palettes() -> list[dict[str, str]]:
    """The blocks of variables: light, dark by the system's wish, dark by choice."""
    blocks = re.findall(r"\{([^{}]*--panel:[^{}]*)\}", CSS)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block)) for block in blocks]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_light_and_dark_have_the_same_names():
    light, *dark = palettes()
    assert len(dark) == 2
    assert dark[0] == dark[1]
    assert light.keys() == dark[0].keys()


PAIRS = [
    *((text, on) for text in TEXTS for on in ("panel", "bg")),
    *ON_TINTS,
    ("on-accent", "accent"),
]


@pytest.mark.parametrize("which", [pytest.param(0, id="light"), pytest.param(1, id="dark")])
@pytest.mark.parametrize(("text", "on"), PAIRS)
def test_text_is_legible(which, text, on):
    colours = palettes()[which]
    assert contrast(colours[text], colours[on]) >= LEAST
