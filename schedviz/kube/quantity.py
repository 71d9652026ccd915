"""Kubernetes quantities ("250m", "1.5Gi", "2e3") as exact integers.

Called by `objects` while parsing. Mirrors apimachinery/pkg/api/resource: milli values and whole values round up.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_SUFFIX: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_FORM = re.compile(
    r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(n|u|m|k|Ki|Mi|Gi|Ti|Pi|Ei|M|G|T|P|E)?|[eE]([+-]?[0-9]{1,3}))"
)
_MAX = 2**63 - 1


class QuantityError(ValueError):
    """The text is not a quantity; the message says what one looks like."""


@lru_cache(maxsize=16384)
def parse(text: str | int | float) -> Fraction:
    """The exact value. Raises QuantityError."""
    found = _FORM.fullmatch(str(text))
    if found is None:
        raise QuantityError(
            f"{str(text)[:64]!r} is not a quantity: write a number with a suffix such as 500m, 2, 64Mi or 1Gi"
        )
    sign, digits, suffix, exponent = found.groups()
    factor = Fraction(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""]
    number = Fraction(digits.rstrip(".") if digits.endswith(".") else digits) * factor
    return -number if sign == "-" else number


def _up(number: Fraction) -> int:
    whole = -(-number.numerator // number.denominator)
    return max(-_MAX, min(_MAX, whole))


@lru_cache(maxsize=16384)
def value(text: str | int | float) -> int:
    """Whole units, rounded up, held within int64."""
    return _up(parse(text))


@lru_cache(maxsize=16384)
def milli_value(text: str | int | float) -> int:
    """Thousandths, rounded up, held within int64."""
    return _up(parse(text) * 1000)
