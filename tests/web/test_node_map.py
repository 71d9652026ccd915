"""The map of nodes: tiles or canvas, and the frames that colour them."""

from __future__ import annotations

import struct

import numpy as np
import orjson

from schedviz.web import node_map
from schedviz.web.node_map import MapView, NodeMap, natural
from tests.web.test_board import node

CYCLE = {
    "number": 7,
    "outcome": "bound",
    "chosen": "n2",
    "n_feasible": 2,
    "n_nodes": 4,
    "totals": {"n1": 150, "n2": 201},
    "rejected": {"n3": ["NodeResourcesFit", 2], "n4": ["NodeAffinity", 3], "gone": ["NodeName", 3]},
}


def the_map(*rows):
    made = NodeMap("/sessions/demo/")
    made.take({row["name"]: row for row in rows}, ())
    return made


def read_verdicts(frame):
    kind, n, low, high = struct.unpack_from("<B3xIii", frame)
    ids = np.frombuffer(frame, "<u4", n, 16)
    totals = np.frombuffer(frame, "<i4", n, 16 + 4 * n)
    verdicts = np.frombuffer(frame, "u1", n, 16 + 8 * n)
    return (
        kind,
        low,
        high,
        dict(zip(ids.tolist(), zip(totals.tolist(), verdicts.tolist(), strict=True), strict=True)),
    )


def test_it_works():
    nodes = the_map(*[node(f"n{i}", zone="a" if i < 3 else "b") for i in (10, 9, 1, 3)])
    html, frames = MapView(nodes).news(None)
    text = html[0]
    assert text.index(">n1<") < text.index(">n3<") < text.index(">n9<") < text.index(">n10<")
    assert frames[0][0] == node_map.VERDICTS


def test_verdicts():
    nodes = the_map(*[node(f"n{i}") for i in range(1, 5)])
    kind, low, high, said = read_verdicts(nodes.verdicts_frame(CYCLE))
    assert (kind, low, high) == (1, 150, 201)
    assert said == {
        1: (150, node_map.PASSED),
        2: (201, node_map.WINNER),
        3: (0, node_map.NOT_YET),
        4: (0, node_map.NEVER),
    }


def test_a_browser_gets_each_frame_once():
    view = MapView(the_map(node("n1")))
    view.news(CYCLE)
    assert view.news(CYCLE) == ([], [])


def test_a_changed_node_is_one_tile():
    nodes = the_map(node("n1"), node("n2"))
    view = MapView(nodes)
    view.news(None)
    rows = {"n1": node("n1"), "n2": node("n2", n_pods=5)}
    nodes._rows["n2"] = rows["n2"]
    nodes.take(nodes._rows, {"n2"})
    html, _ = view.news(None)
    assert html[0].count("<li") == 1
    assert "5 pods" in html[0]


def test_many_nodes_are_drawn():
    nodes = the_map(*[node(f"n{i}", zone=f"z{i % 3}") for i in range(node_map.TILES + 1)])
    view = MapView(nodes)
    html, frames = view.news(None)
    assert "<canvas" in html[0]
    assert frames[0][0] == node_map.LAYOUT
    zones = orjson.loads(frames[0][1:])
    assert [zone for zone, _ in zones] == ["z0", "z1", "z2"]
    assert zones[0][1][0][1:3] == ["n0", 50]
    nodes._rows["n7"] = node("n7", zone="z1", requested={"cpu": 4000})
    nodes.take(nodes._rows, {"n7"})
    html, frames = view.news(None)
    assert (html, len(frames), frames[0][0]) == ([], 1, node_map.USAGE)
    assert struct.unpack_from("<I", frames[0], 4) == (1,)
    assert frames[0][12] == 200


def test_a_node_that_comes_redraws_the_map():
    nodes = the_map(node("n1"))
    version = nodes.version
    nodes._rows["n2"] = node("n2")
    nodes.take(nodes._rows, {"n2"})
    assert nodes.version == version + 1


def test_names_in_the_order_of_their_numbers():
    assert sorted(["n10", "n9", "m", "n1a", "n1"], key=natural) == ["m", "n1", "n1a", "n9", "n10"]


def test_the_summary_counts():
    html = the_map(node("n1")).summary(CYCLE)
    assert "2 could run it" in html
    assert "1 not yet" in html
    assert "2 never" in html
