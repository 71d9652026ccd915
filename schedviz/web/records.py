"""A cycle's record on its way into a row and back: the journal's codec, with the node names kept beside.

Used by `recording` (write) and `readers` (read). Node names are kept once a node set, not once a cycle.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import zstandard

from schedviz.scheduler import journal
from schedviz.web.tables import json_text

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord
    from schedviz.web.models import Cycle

ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Encoded:
    """A cycle as its row keeps it. `content` is what `summary` says in JSON."""

    content: dict[str, Any]
    summary: str
    blob: bytes

    @property
    def size(self) -> int:
        return len(self.summary) + len(self.blob)


def encode(record: CycleRecord) -> Encoded:
    content, blob = journal.encode(record)
    return Encoded(content, json_text(content), blob)


def close(opened: Encoded, record: CycleRecord) -> Encoded:
    """The same cycle once its binding is answered: only what `summary` says is new."""
    content = opened.content | journal.closing(record)
    return Encoded(content, json_text(content), opened.blob)


def pack_names(names: tuple[str, ...]) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(orjson.dumps(names))


@functools.lru_cache(maxsize=64)
def unpack_names(blob: bytes) -> tuple[str, ...]:
    return tuple(orjson.loads(zstandard.ZstdDecompressor().decompress(blob)))


def read(row: Cycle) -> CycleRecord:
    """The record that `recording` was given; without columns once the ring dropped them."""
    blob = bytes(row.blob) if row.blob is not None else None
    return journal.decode(row.summary, blob, unpack_names(bytes(row.node_set.names)))
