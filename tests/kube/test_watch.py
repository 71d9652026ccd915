"""A watch event is what came, unchanged."""

from __future__ import annotations

from schedviz.kube.watch import WatchEvent


def test_it_holds_the_object_as_it_came():
    came = {"metadata": {"name": "n"}}
    assert WatchEvent("ADDED", came).object is came
