"""The board's map of nodes: tiles by zone, and what the cycle shown said of each node.

A few dozen nodes are tiles of HTML, many are drawn on a canvas; both are coloured from the same binary frames. Used by
`board`: one NodeMap a session and process, one MapView a browser. Frames are little-endian and start with their kind:

    1 verdicts   u8 kind, 3 pad, u32 n, i32 lowest total, i32 highest, n x u32 node, n x i32 total, n x u8 verdict
    2 layout     u8 kind, then JSON [[zone, [[node, name, cpu, memory, pods, flags], ...]], ...]: canvas only
    3 usage      u8 kind, 3 pad, u32 n, n x u32 node, n x 4 x u8 (cpu, memory, pods in 1/200, flags): canvas only

`node` is a number given to a name once; usage is requested / allocatable, flags: 1 cordoned, 2 not ready, 4 tainted.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from django.template.loader import get_template

if TYPE_CHECKING:
    from collections.abc import Iterable

TILES = 150
"""Up to so many nodes are tiles of HTML."""
PASSED, NOT_YET, NEVER, WINNER = 1, 2, 3, 4
NEVER_CODE = 3  # UnschedulableAndUnresolvable
VERDICTS, LAYOUT, USAGE = 1, 2, 3
FULL = 200
Row = dict[str, Any]


@dataclass(slots=True)
class Tile:
    source: Row
    html: str


class NodeMap:
    def __init__(self, base: str) -> None:
        self._base = base
        self._rows: dict[str, Row] = {}
        self._numbers: dict[str, int] = {}
        self._tiles: dict[str, Tile] = {}
        self._zone_of: dict[str, str] = {}
        self._zones: list[tuple[str, list[str]]] = []
        self._verdicts: tuple[int, int, bytes] = (-1, -1, b"")
        self.version = 0
        """Grows when nodes come, go or change their zone."""
        self._tile = get_template("board/_tile.html")

    def take(self, rows: dict[str, Row], changed: Iterable[str] | None) -> None:
        """None: anything may have changed."""
        is_new = rows is not self._rows or changed is None
        if is_new or any(self._moves_the_map(rows, name) for name in changed or ()):
            self._rows = rows
            self._arrange()

    def _moves_the_map(self, rows: dict[str, Row], name: str) -> bool:
        """It is new, gone, or in another zone."""
        return name not in rows or self._zone_of.get(name) != rows[name]["zone"]

    def _arrange(self) -> None:
        zones: dict[str, list[str]] = {}
        for name, row in self._rows.items():
            self._numbers.setdefault(name, len(self._numbers) + 1)
            zones.setdefault(row["zone"], []).append(name)
        arranged = [(zone, sorted(zones[zone], key=natural)) for zone in sorted(zones)]
        if arranged != self._zones:
            self._zones = arranged
            self.version += 1
        self._zone_of = {name: row["zone"] for name, row in self._rows.items()}
        self._tiles = {name: tile for name, tile in self._tiles.items() if name in self._rows}

    @property
    def is_canvas(self) -> bool:
        return len(self._rows) > TILES

    # ---- tiles -----------------------------------------------------------------------------------------------------

    def tile(self, name: str) -> str:
        row = self._rows[name]
        tile = self._tiles.get(name)
        if tile is None or tile.source is not row:
            tile = self._tiles[name] = Tile(row, self._render(row))
        return tile.html

    def _render(self, row: Row) -> str:
        has, uses = row["allocatable"], row["requested"]
        context = {
            "n": self._numbers[row["name"]],
            "row": row,
            "base": self._base,
            "cpu": (uses.get("cpu", 0), has.get("cpu", 0)),
            "memory": (uses.get("memory", 0), has.get("memory", 0)),
            "cpu_part": share(row, "cpu") * 100,
            "memory_part": share(row, "memory") * 100,
        }
        return self._tile.render(context)

    def tiles(self) -> dict[str, str]:
        return {name: self.tile(name) for _, names in self._zones for name in names}

    def html(self) -> str:
        """The whole map: zones with tiles, or the canvas that frames will fill."""
        zones = (
            []
            if self.is_canvas
            else [(zone, [self.tile(name) for name in names]) for zone, names in self._zones]
        )
        context = {"zones": zones, "is_canvas": self.is_canvas, "n_nodes": len(self._rows)}
        return get_template("board/_map.html").render(context)

    def summary(self, cycle: dict[str, Any] | None) -> str:
        """In words, for everybody and for screen readers in the canvas' place."""
        context: dict[str, Any] = {
            "n_nodes": len(self._rows),
            "cycle": cycle,
            "n_zones": len(self._zones),
        }
        if cycle:
            codes = [code for _, code in cycle["rejected"].values()]
            n_never = sum(code == NEVER_CODE for code in codes)
            context |= {"n_never": n_never, "n_not_yet": len(codes) - n_never}
        return get_template("board/_node_summary.html").render(context)

    # ---- frames ----------------------------------------------------------------------------------------------------

    def layout_frame(self) -> bytes:
        zones = [
            [zone, [[self._numbers[name], name, *usage(self._rows[name])] for name in names]]
            for zone, names in self._zones
        ]
        return bytes([LAYOUT]) + orjson.dumps(zones)

    def usages(self) -> dict[int, tuple[int, int, int, int]]:
        return {self._numbers[name]: usage(row) for name, row in self._rows.items()}

    def verdicts_frame(self, cycle: dict[str, Any] | None) -> bytes:
        number = cycle["number"] if cycle else 0
        if self._verdicts[:2] != (number, self.version):
            self._verdicts = (number, self.version, self._pack_verdicts(cycle))
        return self._verdicts[2]

    def _pack_verdicts(self, cycle: dict[str, Any] | None) -> bytes:
        said: dict[str, tuple[int, int]] = {}
        if cycle:
            for name, (_, code) in cycle["rejected"].items():
                said[name] = (NEVER if code == NEVER_CODE else NOT_YET, 0)
            for name, total in cycle["totals"].items():
                said[name] = (PASSED, total)
            if cycle["chosen"]:
                said[cycle["chosen"]] = (WINNER, said.get(cycle["chosen"], (0, 0))[1])
        rows = [(self._numbers[name], *said[name]) for name in said if name in self._numbers]
        totals = list(cycle["totals"].values()) if cycle else []
        head = struct.pack(
            "<B3xIii", VERDICTS, len(rows), min(totals, default=0), max(totals, default=0)
        )
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return b"".join(
            [
                head,
                columns[:, 0].astype("<u4").tobytes(),
                columns[:, 2].astype("<i4").tobytes(),
                columns[:, 1].astype("u1").tobytes(),
            ]
        )


class MapView:
    """What one browser has of the map."""

    def __init__(self, nodes: NodeMap) -> None:
        self._nodes = nodes
        self._version = -1
        self._tiles: dict[str, str] = {}
        self._usages: dict[int, tuple[int, int, int, int]] = {}
        self._verdicts = b""

    def news(self, cycle: dict[str, Any] | None) -> tuple[list[str], list[bytes]]:
        html: list[str] = []
        frames: list[bytes] = []
        if self._version != self._nodes.version:
            self._version = self._nodes.version
            html.append(self._nodes.html())
            self._tiles, self._usages, self._verdicts = {}, {}, b""
            if self._nodes.is_canvas:
                self._usages = self._nodes.usages()
                frames.append(self._nodes.layout_frame())
            else:
                self._tiles = self._nodes.tiles()
        elif self._nodes.is_canvas:
            frames += self._new_usages()
        else:
            html += self._new_tiles()
        verdicts = self._nodes.verdicts_frame(cycle)
        if verdicts != self._verdicts:
            self._verdicts = verdicts
            frames.append(verdicts)
        return html, frames

    def _new_tiles(self) -> list[str]:
        tiles = self._nodes.tiles()
        changed = [html for name, html in tiles.items() if self._tiles.get(name) is not html]
        self._tiles = tiles
        if not changed:
            return []
        return [f'<ol id="in-nodes" hidden hx-swap-oob="true">{"".join(changed)}</ol>']

    def _new_usages(self) -> list[bytes]:
        now = self._nodes.usages()
        changed = [(node, *use) for node, use in now.items() if self._usages.get(node) != use]
        self._usages = now
        if not changed:
            return []
        columns = np.array(changed, dtype=np.int64)
        head = struct.pack("<B3xI", USAGE, len(changed))
        return [
            head + columns[:, 0].astype("<u4").tobytes() + columns[:, 1:].astype("u1").tobytes()
        ]


def usage(row: Row) -> tuple[int, int, int, int]:
    flags = row["unschedulable"] * 1 + (not row["ready"]) * 2 + bool(row["taints"]) * 4
    parts = [round(share(row, name) * FULL) for name in ("cpu", "memory")]
    most = row["allocatable"].get("pods") or 0
    pods = round(min(1.0, row["n_pods"] / most) * FULL) if most else 0
    return parts[0], parts[1], pods, flags


def share(row: Row, name: str) -> float:
    """requested / allocatable, at most 1."""
    most = row["allocatable"].get(name) or 0
    return min(1.0, (row["requested"].get(name) or 0) / most) if most else 0.0


def natural(name: str) -> list[tuple[int, str]]:
    """node-9 before node-10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
