"""The words that go in and out are plain data."""

from __future__ import annotations

from schedviz.scheduler.framework.steps import Lane, PodRef


def test_a_pods_key_is_its_namespace_and_name():
    assert PodRef("a", "p", "u").key == "a/p"


def test_lanes_are_words_on_the_wire():
    assert Lane("backoff") is Lane.BACKOFF
