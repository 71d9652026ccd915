"""The core's chance: seeded, in range, and fair enough."""

from __future__ import annotations

from collections import Counter

from schedviz.scheduler.framework.rng import Rng


def test_the_same_seed_gives_the_same_numbers():
    one, other = Rng(7), Rng(7)
    assert [one.below(100) for _ in range(20)] == [other.below(100) for _ in range(20)]


def test_every_number_comes_up_about_as_often():
    chance = Rng(1)
    counts = Counter(chance.below(4) for _ in range(4000))
    assert set(counts) == {0, 1, 2, 3}
    assert min(counts.values()) > 900
