"""The last cycle in short, as the board's strip and nodes show it."""

from __future__ import annotations

import orjson

from schedviz.web import frames
from tests.web import sample


def test_a_cycle_that_found_a_node():
    made = sample.record(1, sample.pod_ref(1), names=sample.node_names(6), n_passing=2)
    short = frames.cycle_in_short(made)
    assert [point["point"] for point in short["points"]] == [
        "PreFilter",
        "Filter",
        "PreScore",
        "Score",
        "Reserve",
    ]
    points = {point["point"]: point for point in short["points"]}
    assert (points["PreFilter"]["ran"], points["PreFilter"]["skipped"]) == (1, 1)
    assert points["Filter"]["text"] == "2/6"
    assert points["Score"]["text"] == made.chosen
    assert len(short["totals"]) == 2
    assert next(iter(short["totals"])) in {
        made.chosen,
        *(made.node_names[row] for row in made.tied),
    }
    assert len(short["rejected"]) == 4


def test_a_cycle_that_found_none():
    made = sample.record(2, sample.pod_ref(2), n_passing=0)
    short = frames.cycle_in_short(made)
    assert (short["chosen"], short["totals"], short["n_feasible"]) == ("", {}, 0)
    assert set(short["rejected"]) == set(made.node_names)
    assert {plugin for plugin, _ in short["rejected"].values()} == {
        "NodeResourcesFit",
        "TaintToleration",
    }


def test_a_big_cluster_stays_a_small_frame():
    names = sample.node_names(5000)
    short = frames.cycle_in_short(sample.record(3, sample.pod_ref(3), names=names, n_passing=2500))
    assert len(short["totals"]) == frames.MAX_TOTALS
    assert len(short["rejected"]) == frames.MAX_REJECTED
    assert len(orjson.dumps(short)) < 40_000


def test_the_binding_cycle_adds_its_points():
    short = frames.cycle_in_short(sample.bound(sample.record(4, sample.pod_ref(4))))
    assert [point["point"] for point in short["points"]][-2:] == ["PreBind", "Bind"]
