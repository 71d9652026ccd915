"""The live board as fragments of HTML: what one browser has been sent, and what must change in it.

Made by `consumers` for each connection. A change of the state becomes out-of-band swaps of the rows that differ; a
first look, or an order that can't be mended row by row, becomes the lane's whole list.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
from django.template.loader import get_template

from schedviz.scheduler.framework.interface import EXTENSION_POINTS
from schedviz.scheduler.framework.steps import Lane

if TYPE_CHECKING:
    from schedviz.web.live import BoardState

ROWS = 40
MAX_TILES = 400
"""More nodes than this are drawn on a canvas."""
Pod = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LaneView:
    """One column: which lanes' pods it shows and what it says of itself."""

    name: str
    title: str
    caption: str
    empty: str
    lanes: tuple[str, ...]


LANES = (
    LaneView(
        "gated", "Gated", "waiting for gates", "No pod waits for a scheduling gate.", (Lane.GATED,)
    ),
    LaneView(
        "unschedulable",
        "Unschedulable",
        "until an event helps",
        "Every pod that was tried has found a node.",
        (Lane.MALFORMED, Lane.UNSCHEDULABLE),
    ),
    LaneView(
        "backoff", "Backoff", "next retry first", "No pod waits for a retry.", (Lane.BACKOFF,)
    ),
    LaneView(
        "active",
        "Active",
        "tried next, top first",
        "Nothing is waiting to be tried.",
        (Lane.SCHEDULING, Lane.ACTIVE),
    ),
    LaneView(
        "binding", "Binding", "node chosen, not yet bound", "No bind is under way.", (Lane.BINDING,)
    ),
    LaneView(
        "bound", "Bound", "lately, newest first", "Nothing has been bound yet.", (Lane.BOUND,)
    ),
)
LANE_OF = {lane: view.name for view in LANES for lane in view.lanes}
PLAIN_POINTS = [point for point in EXTENSION_POINTS if point not in ("PreEnqueue", "QueueSort")]


@functools.lru_cache(maxsize=65536)
def row_id(uid: str) -> str:
    """An id for the page that no hostile uid can break."""
    return "p" + hashlib.blake2b(uid.encode(), digest_size=8).hexdigest()


def _order(view: LaneView, pods: list[Pod]) -> list[Pod]:
    if view.name == "active":
        return sorted(
            pods, key=lambda p: (p["lane"] != Lane.SCHEDULING, -p["priority"], p["rank"], p["uid"])
        )
    if view.name == "backoff":
        return sorted(pods, key=lambda p: (p["retry_at"] or 0, p["uid"]))
    if view.name == "bound":
        return sorted(pods, key=lambda p: (-p["since"], p["uid"]))
    return sorted(pods, key=lambda p: (p["lane"] != Lane.MALFORMED, p["since"], p["uid"]))


@dataclass(slots=True)
class Board:
    """What one connection has. `sent`: row ids and their HTML by lane, in order."""

    session_name: str
    sent: dict[str, dict[str, str]] = field(default_factory=dict)
    tiles: dict[str, str] = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)

    def lanes(self, state: BoardState) -> str:
        """Fragments for the lanes: rows that differ, and counts."""
        by_lane: dict[str, list[Pod]] = {view.name: [] for view in LANES}
        for pod in state.pods.values():
            if pod["lane"] in LANE_OF:
                by_lane[LANE_OF[pod["lane"]]].append(pod)
        gone: list[str] = []
        come: list[str] = []
        for view in LANES:
            pods = _order(view, by_lane[view.name])
            rows = {
                row_id(pod["uid"]): self._row(view, pod, n) for n, pod in enumerate(pods[:ROWS], 1)
            }
            self._diff(view, rows, gone, come)
            come += self._count(view, state, len(pods))
        return "".join((*gone, *come))

    def _row(self, view: LaneView, pod: Pod, position: int) -> str:
        shown = position if view.name == "active" else 0
        return _render_row(orjson.dumps(pod), view.name, shown, self.session_name)

    def _diff(self, view: LaneView, rows: dict[str, str], gone: list[str], come: list[str]) -> None:
        before = self.sent.get(view.name)
        self.sent[view.name] = rows
        if before is None or [i for i in before if i in rows] != [i for i in rows if i in before]:
            if before is None or rows != before:
                come.append(
                    f'<ol id="rows-{view.name}" hx-swap-oob="innerHTML">{"".join(rows.values())}</ol>'
                )
            return
        gone += [f'<li id="{i}" hx-swap-oob="delete"></li>' for i in before if i not in rows]
        after = ""
        for i, html in rows.items():
            if i not in before:
                where = f"afterend:#{after}" if after else f"afterbegin:#rows-{view.name}"
                come.append(f'<div hx-swap-oob="{where}">{html}</div>')
            elif html != before[i]:
                come.append(html.replace("<li ", '<li hx-swap-oob="true" ', 1))
            after = i

    def _count(self, view: LaneView, state: BoardState, shown: int) -> list[str]:
        total = int(state.counters.get("bound", shown)) if view.name == "bound" else shown
        more = max(0, shown - ROWS) if view.name != "bound" else 0
        html = _template("parts/lane_count.html").render(
            {
                "view": view,
                "total": total,
                "more": more,
                "session_name": self.session_name,
                "n_rows": shown,
            }
        )
        if self.counts.get(view.name) == html:
            return []
        self.counts[view.name] = html
        return [html]

    def nodes(self, state: BoardState) -> str:
        """Fragments for the nodes: tiles that differ, or all of them when the set of nodes did."""
        if len(state.nodes) > MAX_TILES:
            return _node_map(state)
        cycle = state.cycle or {}
        totals, rejected = cycle.get("totals") or {}, cycle.get("rejected") or {}
        best = max(totals.values(), default=0)
        least = min(totals.values(), default=0)
        tiles = {
            name: _render_tile(
                orjson.dumps(node),
                totals.get(name),
                _shade(totals.get(name), least, best),
                tuple(rejected.get(name) or ()),
                name == cycle.get("chosen"),
            )
            for name, node in state.nodes.items()
        }
        before, self.tiles = self.tiles, tiles
        if tiles.keys() != before.keys():
            return self._all_tiles(state, tiles)
        return "".join(
            html.replace("<div ", '<div hx-swap-oob="true" ', 1)
            for name, html in tiles.items()
            if before[name] != html
        )

    def _all_tiles(self, state: BoardState, tiles: dict[str, str]) -> str:
        zones: dict[str, list[str]] = {}
        for name, node in sorted(
            state.nodes.items(), key=lambda item: (item[1]["zone"], _natural(item[0]))
        ):
            zones.setdefault(node["zone"], []).append(tiles[name])
        return _template("parts/node_tiles.html").render({"zones": zones, "n_nodes": len(tiles)})


def head(state: BoardState) -> str:
    """The header's live mark, counters and rate; `at` lets the page tell how old it all is."""
    return _template("parts/board_head.html").render({"state": state, "counters": state.counters})


def strip(state: BoardState, session_name: str) -> str:
    """The last cycle as the row of extension points."""
    cycle = state.cycle
    ran = {point["point"]: point for point in cycle["points"]} if cycle else {}
    points = [{"point": point, **ran.get(point, {})} for point in PLAIN_POINTS]
    return _template("parts/strip.html").render(
        {"cycle": cycle, "points": points, "session_name": session_name}
    )


def results(found: Iterable[dict[str, Any]]) -> str:
    """Answers to operators' commands, as they come."""
    return "".join(_template("parts/toast.html").render({"result": result}) for result in found)


def _template(name: str) -> Any:
    return _templates(name)


@functools.lru_cache(maxsize=32)
def _templates(name: str) -> Any:
    return get_template(name)


@functools.lru_cache(maxsize=20_000)
def _render_row(pod: bytes, lane: str, position: int, session_name: str) -> str:
    """Once a process for all who look."""
    row: Pod = orjson.loads(pod)
    context = {
        "pod": row,
        "lane": lane,
        "position": position,
        "row_id": row_id(row["uid"]),
        "session_name": session_name,
    }
    return _squeezed(_template("parts/pod_row.html").render(context))


@functools.lru_cache(maxsize=20_000)
def _render_tile(
    node: bytes, total: int | None, shade: int, rejected: tuple[Any, ...], is_chosen: bool
) -> str:
    row = orjson.loads(node)
    context = {
        "node": row,
        "tile_id": "n" + row_id(row["name"]),
        "total": total,
        "shade": shade,
        "rejected_by": rejected[0] if rejected else "",
        "is_never": bool(rejected) and rejected[1] == 3,
        "is_chosen": is_chosen,
        "cpu": _percent(row, "cpu"),
        "memory": _percent(row, "memory"),
    }
    return _squeezed(_template("parts/node_tile.html").render(context))


def _node_map(state: BoardState) -> str:
    """Thousands of nodes: one compact attribute that the page draws on a canvas."""
    cycle = state.cycle or {}
    totals, rejected = cycle.get("totals") or {}, cycle.get("rejected") or {}
    rows = [
        [
            name,
            _percent(node, "cpu"),
            _percent(node, "memory"),
            totals.get(name, -1),
            (rejected.get(name) or [0, 0])[1],
        ]
        for name, node in state.nodes.items()
    ]
    return _template("parts/node_map.html").render(
        {"data": orjson.dumps(rows).decode(), "n_nodes": len(rows)}
    )


def _percent(node: dict[str, Any], resource: str) -> int:
    have = node["allocatable"].get(resource) or 0
    return min(100, round(100 * (node["requested"].get(resource) or 0) / have)) if have else 0


def _shade(total: int | None, least: int, best: int) -> int:
    """0 (not scored) to 9 (the best)."""
    if total is None:
        return 0
    return 1 + round(8 * (total - least) / (best - least)) if best > least else 5


def _natural(name: str) -> tuple[Any, ...]:
    head = name.rstrip("0123456789")
    return (head, int(name[len(head) :] or 0), name)


def _squeezed(html: str) -> str:
    return " ".join(html.split())
