"""The live board as HTML: which rows stand in which lane, and what a browser has not seen of them yet.

One Board a session and process, shared by all its browsers: it keeps the lanes sorted and renders a changed row once.
One BoardView a browser: it remembers what it sent and hands on the difference. Called by `consumers` with the state and
the changes of `live`. A row's HTML says nothing that depends on the clock or on who looks: ages and countdowns run in
the page, so that the same text serves everybody for as long as the row itself stays as it is.

    BoardState (live) -> Board: sorted lanes, drawn rows -> BoardView: <ol id="in-LANE" data-order=...>changed rows</ol>
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.template.loader import get_template
from django.urls import reverse
from sortedcontainers import SortedList

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import node_map, readers, words
from schedviz.web.node_map import NodeMap
from schedviz.web.strip import strip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schedviz.web.live import BoardState, Changes

ROWS_SHOWN = 40
RATES_KEPT = 60
SPARK_HEIGHT = 14
COUNTED = re.compile(r"\d{1,9} .+?(?=, \d+ |$)")
SHORTER = (
    (re.compile(r'running (\w+) plugin "[^"]*": (.+)', re.DOTALL), "{0}: {1}"),
    (re.compile(r"waiting for scheduling gates: \[(.+)\]", re.DOTALL), "{0}"),
)
Row = dict[str, Any]


def sort_key(row: Row) -> tuple[float, float]:
    """Each lane's own order; within it a row stands still until it changes itself."""
    lane, since = row["lane"], row["since"] or 0.0
    if lane == "active":
        return -row["priority"], row["rank"] or 0.0
    if lane == "backoff":
        return row["retry_at"] or since, since
    if lane == "bound":
        return -since, 0.0
    return since, 0.0


def row_id(lane: str, uid: str) -> str:
    return f"{lane}-{hashlib.blake2b(uid.encode(), digest_size=6).hexdigest()}"


@dataclass(slots=True)
class Drawn:
    """A row with the HTML made of it."""

    source: Row
    id: str
    html: str


class Board:
    """Shared by all views of one session in this process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.base = reverse("board", args=[name])
        self.nodes = NodeMap(self.base)
        self._pods: dict[str, Row] | None = None  # the dict of the state that is sorted in
        self._seen = 0  # the state's revision up to which it is
        self._lanes: dict[str, SortedList] = {lane: SortedList() for lane in words.LANES}
        self._places: dict[str, tuple[str, tuple[tuple[float, float], str]]] = {}
        self._drawn: dict[str, Drawn] = {}
        self._rates: deque[tuple[int, float]] = deque(maxlen=RATES_KEPT)
        self._cycle: tuple[int, str, str] = (-1, "", "")  # number, outcome, html
        self._row = get_template("board/_row.html")
        self._pieces = get_template("board/_pieces.html")

    # ---- taking news in ------------------------------------------------------------------------------------------

    def take(self, state: BoardState, changes: Changes) -> None:
        """Sorts in what changed. A view passes all changes since it last asked; those that were passed only to a view
        that has left are made good by sorting anew."""
        if self._pods is not state.pods or changes.since > self._seen:
            self._pods, self._seen = state.pods, state.revision
            self._sort_anew(state.pods)
            self.nodes.take(state.nodes, None)
        else:
            self._seen = max(self._seen, changes.until)
            for uid in changes.pods:
                self._place(uid, state.pods.get(uid))
            self.nodes.take(state.nodes, changes.nodes)
        self._note_rate(state)

    def _sort_anew(self, pods: dict[str, Row]) -> None:
        self._places.clear()
        for lane in self._lanes.values():
            lane.clear()
        self._drawn = {uid: drawn for uid, drawn in self._drawn.items() if uid in pods}
        for uid, row in pods.items():
            self._place(uid, row)

    def _place(self, uid: str, row: Row | None) -> None:
        held = self._places.pop(uid, None)
        if held is not None:
            self._lanes[held[0]].discard(held[1])
        if row is None:
            self._drawn.pop(uid, None)
            return
        if row["lane"] in self._lanes:
            entry = (sort_key(row), uid)
            self._lanes[row["lane"]].add(entry)
            self._places[uid] = (row["lane"], entry)

    def _note_rate(self, state: BoardState) -> None:
        second, rate = int(state.at), float(state.counters.get("cycles_per_s") or 0.0)
        if self._rates and self._rates[-1][0] == second:
            self._rates[-1] = (second, rate)
        elif state.is_live:
            self._rates.append((second, rate))

    # ---- rows ----------------------------------------------------------------------------------------------------

    def rows(self, lane: str, text: str = "") -> list[Drawn]:
        """The first rows of a lane, of those whose `namespace/name` has the text in it."""
        return [self._draw(uid) for uid in self._first(lane, text)]

    def _first(self, lane: str, text: str) -> Iterator[str]:
        n_found = 0
        for _, uid in self._lanes[lane]:
            if text and text not in self._full_name(uid):
                continue
            yield uid
            n_found += 1
            if n_found == ROWS_SHOWN:
                return

    def _full_name(self, uid: str) -> str:
        row = (self._pods or {})[uid]
        return f"{row['namespace']}/{row['name']}"

    def _draw(self, uid: str) -> Drawn:
        row = (self._pods or {})[uid]
        drawn = self._drawn.get(uid)
        if drawn is None or drawn.source is not row:
            drawn = self._drawn[uid] = self._render(row)
        return drawn

    def _render(self, row: Row) -> Drawn:
        name = row_id(row["lane"], row["uid"])
        context = {
            "row": row,
            "id": name,
            "url": f"{self.base}pods/{quote(row['uid'], safe='')}/",
            "reason": short_reason(row["message"]),
        }
        return Drawn(row, name, self._row.render(context))

    def n_rows(self, lane: str) -> int:
        return len(self._lanes[lane])

    # ---- the pieces around them ------------------------------------------------------------------------------------

    def pieces(self, state: BoardState) -> dict[str, str]:
        """The small parts by their id: a view sends those that changed."""
        counts = {lane: self._count(state, lane) for lane in words.LANES}
        cluster = state.counters.get("cluster") or {}
        context = {
            "word": status_word(state),
            "state": state,
            "now": time.time(),
            "counts": counts,
            "more": {lane: max(0, n - ROWS_SHOWN) for lane, n in counts.items()},
            "rate": state.counters.get("cycles_per_s") or 0.0 if state.is_live else "–",
            "spark": spark([rate for _, rate in self._rates]),
            "cluster": cluster,
            "pause": state.counters.get("pause"),
            "is_cluster_down": cluster.get("connected") is False,
            "base": self.base,
        }
        text = self._pieces.render(context)
        pieces = dict(part.strip().split("\n", 1) for part in text.split("<!--piece-->")[1:])
        pieces["cycle"] = self._cycle_html(state)
        pieces["node-summary"] = self.nodes.summary(state.cycle)
        return pieces

    def _count(self, state: BoardState, lane: str) -> int:
        """All are here, but of bound pods only the latest when they are many: then the session has counted them."""
        n = self.n_rows(lane)
        if lane != Lane.BOUND or n < readers.BOUND_LATELY:
            return n
        return max(n, int(state.counters.get("bound") or 0))

    def _cycle_html(self, state: BoardState) -> str:
        cycle = state.cycle
        number, outcome = (cycle["number"], cycle["outcome"]) if cycle else (0, "")
        if self._cycle[:2] != (number, outcome):
            reason = short_reason(cycle["message"]) if cycle else ""
            shown = strip(cycle) if cycle else None
            context = {"cycle": cycle, "strip": shown, "reason": reason, "base": self.base}
            html = get_template("board/_cycle.html").render(context)
            self._cycle = (number, outcome, html)
        return self._cycle[2]


@dataclass(slots=True)
class News:
    """What a browser must be sent: one text of out-of-band swaps, then binary frames."""

    html: str = ""
    frames: list[bytes] = field(default_factory=list)


class BoardView:
    """What one browser has been sent so far. `text`: it wants to see only pods with this in their name."""

    def __init__(self, board: Board, text: str = "") -> None:
        self.board = board
        self.text = text
        self._pieces: dict[str, str] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, dict[str, str]] = {lane: {} for lane in words.LANES}
        self._map = node_map.MapView(board.nodes)

    def news(self, state: BoardState, changes: Changes) -> News:
        """The difference to what the browser has. Small when little happened, whatever the cluster's size."""
        self.board.take(state, changes)
        parts = [*self._new_pieces(state)]
        for lane in words.LANES:
            parts += self._lane(lane)
        html, frames = self._map.news(state.cycle)
        return News("".join([*parts, *html]), frames)

    def _new_pieces(self, state: BoardState) -> Iterable[str]:
        for name, html in self.board.pieces(state).items():
            if self._pieces.get(name) != html:
                self._pieces[name] = html
                yield html

    def _lane(self, lane: str) -> Iterable[str]:
        rows = self.board.rows(lane, self.text)
        order = tuple(row.id for row in rows)
        had, now = self._rows[lane], {row.id: row.html for row in rows}
        changed = [row.html for row in rows if had.get(row.id) != row.html]
        if not changed and self._orders.get(lane) == order:
            return
        self._rows[lane], self._orders[lane] = now, order
        yield (
            f'<ol id="in-{lane}" hidden hx-swap-oob="true" data-lane="{lane}" '
            f'data-order="{" ".join(order)}">{"".join(changed)}</ol>'
        )


# ---- in words and lines --------------------------------------------------------------------------------------------


def status_word(state: BoardState) -> str:
    """live, stale, or what the session itself says when it does not run."""
    if state.state in ("stopped", "failed"):
        return state.state
    if state.is_live:
        return "starting" if state.state == "starting" else "live"
    return "stale"


def short_reason(message: str) -> str:
    """What of kube-scheduler's sentence fits into a row, the most frequent reason first:
    `12 Insufficient cpu, 3 node(s) had untolerated taint(s)`. The whole is in the row's title."""
    for pattern, short in SHORTER:
        if found := pattern.fullmatch(message):
            return short.format(*found.groups())
    head, colon, rest = message.partition(" nodes are available: ")
    if not colon or not head.startswith("0/"):
        return message
    why = rest.partition(". ")[0].rstrip(".")  # what PostFilter plugins tried comes behind it
    counted = COUNTED.findall(why)
    counted.sort(key=lambda reason: -int(reason.split(" ", 1)[0]))
    return ", ".join(counted) or why


def spark(values: list[float]) -> str:
    """The points of a polyline, 60 wide; flat at the bottom when nothing happened."""
    top = max([*values, 1.0])
    start = RATES_KEPT - len(values)
    return " ".join(
        f"{start + i},{SPARK_HEIGHT - 1 - value / top * (SPARK_HEIGHT - 2):.1f}"
        for i, value in enumerate(values)
    )


_boards: dict[int, Board] = {}


def shared_board(session_id: int, name: str) -> Board:
    """The process's board of this session."""
    board = _boards.get(session_id)
    if board is None or board.name != name:
        board = _boards[session_id] = Board(name)
    return board
