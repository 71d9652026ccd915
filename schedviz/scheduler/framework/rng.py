"""The core's own source of chance, seeded by whoever builds the scheduler: the same inputs choose the same nodes.

Used where upstream leaves a choice to chance: ties between nodes, and where the search for candidates begins.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1


class Rng:
    """splitmix64."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, n: int) -> int:
        """A number in [0, n)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) * n) >> 64 if n >> 32 else (z ^ (z >> 31)) % n
