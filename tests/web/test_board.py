"""The board's difference: what changed is sent once, in its lane's order, and nothing else."""

from __future__ import annotations

import re

import pytest

from schedviz.web import board, readers
from schedviz.web.board import Board, BoardView
from schedviz.web.live import BoardState, Changes


def pod(uid, lane="active", **fields):
    blank = {
        **{
            "uid": uid,
            "namespace": "shop",
            "name": uid,
            "lane": lane,
            "priority": 0,
            "attempts": 0,
        },
        **{"rank": 1.0, "since": 1.0, "created_at": 0.5, "retry_at": None, "plugins": []},
        **{"message": "", "moved_by": "", "node_name": "", "cycle": 0},
    }
    return blank | fields


def node(name, **fields):
    blank = {"name": name, "allocatable": {"cpu": 4000}, "requested": {"cpu": 1000}, "n_pods": 1}
    return blank | {"unschedulable": False, "ready": True, "zone": "", "taints": []} | fields


class Stage:
    """A session's state, and one browser in front of it."""

    def __init__(self, *pods, nodes=()):
        self.state = BoardState(1, seq=1, at=1.0, state="running", is_live=True)
        self.state.pods = {row["uid"]: row for row in pods}
        self.state.nodes = {row["name"]: row for row in nodes}
        self.board = Board("demo")
        self.view = BoardView(self.board)
        self.first = self.view.news(self.state, Changes(reset=True))

    def change(self, *pods, gone=()):
        for row in pods:
            self.state.pods[row["uid"]] = row
        for uid in gone:
            del self.state.pods[uid]
        return self.view.news(self.state, Changes(pods={row["uid"] for row in pods} | set(gone)))


def lane(html, name):
    """(uids in order, uids of the rows sent) of a lane in a message; None: not spoken of."""
    found = re.search(rf'<ol id="in-{name}"[^>]*data-order="([^"]*)">(.*?)</ol>', html, re.S)
    if found is None:
        return None
    return found[1].split(), re.findall(r'data-uid="([^"]*)"', found[2])


def order(html, name):
    return len(lane(html, name)[0])


def test_it_works():
    stage = Stage(pod("a", rank=2.0), pod("b", rank=1.0), pod("c", priority=9, rank=3.0))
    assert lane(stage.first.html, "active")[1] == ["c", "b", "a"]
    assert 'id="live"' in stage.first.html


def test_nothing_new_is_nothing_but_the_heartbeat():
    stage = Stage(pod("a"), nodes=[node("n1")])
    news = stage.change()
    assert lane(news.html, "active") is None
    assert "in-nodes" not in news.html
    assert not news.frames
    assert len(news.html) < 700


def test_only_the_changed_row_is_sent_again():
    stage = Stage(pod("a"), pod("b"))
    assert lane(stage.change(pod("b", moved_by="olga")).html, "active")[1] == ["b"]


def test_a_row_that_goes_changes_the_order_only():
    stage = Stage(pod("a"), pod("b"))
    ids, rows = lane(stage.change(gone=["a"]).html, "active")
    assert (len(ids), rows) == (1, [])


def test_a_pod_that_moves_leaves_one_lane_and_enters_the_other():
    stage = Stage(pod("a"))
    html = stage.change(pod("a", "bound", node_name="n1")).html
    assert lane(html, "active") == ([], [])
    assert lane(html, "bound")[1] == ["a"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("gated", 3), ("gated", 1)], [1, 0], id="gated: the longest first"),
        pytest.param([("bound", 1), ("bound", 3)], [1, 0], id="bound: the latest first"),
    ],
)
def test_each_lane_has_its_order(rows, expected):
    name = rows[0][0]
    stage = Stage(*[pod(f"p{i}", lane, since=since) for i, (lane, since) in enumerate(rows)])
    assert lane(stage.first.html, name)[1] == [f"p{i}" for i in expected]


def test_backoff_shows_the_next_retry_first():
    stage = Stage(pod("a", "backoff", retry_at=9.0), pod("b", "backoff", retry_at=4.0))
    assert lane(stage.first.html, "backoff")[1] == ["b", "a"]


def test_a_lane_shows_its_first_rows_and_says_how_many_more():
    stage = Stage(*[pod(f"p{i:03}", rank=float(i)) for i in range(100)])
    assert order(stage.first.html, "active") == board.ROWS_SHOWN
    assert "and 60 more" in stage.first.html
    assert lane(stage.change(gone=["p000"]).html, "active")[1] == ["p040"]


@pytest.mark.parametrize(
    ("n", "counted", "shown"),
    [
        pytest.param(3, 900, 3, id="few: those that are here, not all that ever were"),
        pytest.param(readers.BOUND_LATELY, 900, 900, id="many: as the session counts them"),
        pytest.param(readers.BOUND_LATELY, 5, readers.BOUND_LATELY, id="after a restart"),
    ],
)
def test_how_many_are_bound(n, counted, shown):
    stage = Stage(*[pod(f"p{i}", "bound", node_name="n1") for i in range(n)])
    stage.state.counters = {"bound": counted}
    html = BoardView(stage.board).news(stage.state, Changes()).html
    assert f'id="n-bound" hx-swap-oob="true" data-n="{shown}"' in html


def test_a_session_that_does_not_run_has_no_rate():
    stage = Stage()
    stage.state.counters = {"cycles_per_s": 6.4}
    assert "<b>6.4</b>" in stage.change().html
    stage.state.is_live = False
    html = stage.change().html
    assert "6.4" not in html
    assert "<b>–</b>" in html


def test_a_filter_shows_only_what_it_names():
    stage = Stage(pod("cart-1"), pod("pay-1"))
    stage.view.text = "pay"
    assert lane(stage.change().html, "active") is not None
    assert (
        len(lane(BoardView(stage.board, "shop/p").news(stage.state, Changes()).html, "active")[0])
        == 1
    )


def test_a_row_is_drawn_once_for_all_browsers():
    stage = Stage(pod("a"))
    first = stage.board.rows("active")[0].html
    other = BoardView(stage.board)
    other.news(stage.state, Changes(reset=True))
    assert stage.board.rows("active")[0].html is first


def test_a_new_snapshot_is_sorted_in_anew():
    stage = Stage(pod("a"), pod("b"))
    stage.state.pods = {"b": pod("b")}
    html = stage.view.news(stage.state, Changes(reset=True)).html
    assert order(html, "active") == 1


def test_what_only_a_view_heard_that_has_left_is_seen_by_the_next():
    """All views left, and before the feed ended one came: what it was not told it must not miss."""
    stage = Stage(pod("a"), pod("b"), nodes=[node("n1"), node("n2")])
    del stage.state.pods["a"], stage.state.nodes["n1"]
    stage.state.revision += 1
    came = Changes(reset=True, since=stage.state.revision, until=stage.state.revision)
    html = BoardView(stage.board).news(stage.state, came).html
    assert lane(html, "active")[1] == ["b"]
    assert ">n2<" in html
    assert ">n1<" not in html


def test_hostile_names_are_harmless():
    evil = "<script>\"'&\u202e"
    html = Stage(
        pod(evil, "unschedulable", message=evil, moved_by=evil), nodes=[node(evil)]
    ).first.html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("state", "is_live", "word"),
    [
        pytest.param("running", True, "live", id="live"),
        pytest.param("running", False, "stale", id="silent"),
        pytest.param("stopped", False, "stopped", id="stopped, not stale"),
        pytest.param("failed", True, "failed", id="failed"),
        pytest.param("starting", True, "starting", id="starting"),
    ],
)
def test_the_word_for_the_whole(state, is_live, word):
    assert board.status_word(BoardState(1, state=state, is_live=is_live)) == word


def test_a_cluster_that_is_silent_is_said():
    stage = Stage()
    stage.state.counters = {"cluster": {"connected": False, "message": "refused <b>"}}
    html = stage.change().html
    assert "The cluster does not answer" in html
    assert "refused &lt;b&gt;" in html


@pytest.mark.parametrize(
    ("message", "short"),
    [
        pytest.param(
            "0/3 nodes are available: 3 Insufficient cpu.", "3 Insufficient cpu", id="shortened"
        ),
        pytest.param(
            "0/9 nodes are available: 2 node(s) had a, b, 7 Insufficient cpu.",
            "7 Insufficient cpu, 2 node(s) had a, b",
            id="the most frequent first",
        ),
        pytest.param(
            "0/9 nodes are available: 9 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/9 nodes are available: 9 No preemption victims found for incoming pod.",
            "9 Insufficient cpu",
            id="without what PostFilter plugins tried",
        ),
        pytest.param(
            "0/2 nodes are available: 2 Insufficient example.com/gpu.",
            "2 Insufficient example.com/gpu",
            id="a resource with a dot in its name",
        ),
        pytest.param(
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            "pod has unbound immediate PersistentVolumeClaims",
            id="what PreFilter said",
        ),
        pytest.param(
            'running Bind plugin "DefaultBinder": no such node',
            "Bind: no such node",
            id="a plugin's error",
        ),
        pytest.param(
            "waiting for scheduling gates: [a.example/b c]",
            "a.example/b c",
            id="the gates by their names",
        ),
        pytest.param("something else", "something else", id="left as it is"),
    ],
)
def test_short_reasons(message, short):
    assert board.short_reason(message) == short
