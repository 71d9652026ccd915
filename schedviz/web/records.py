"""A cycle's record on its way into a row and back: the journal's codec with the node names kept beside.

Used by `recording` (write) and `readers` (read). Node names are kept once a node set, not once a cycle.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import orjson
import zstandard

if TYPE_CHECKING:
    from schedviz.scheduler.framework.steps import CycleRecord
    from schedviz.web.models import Cycle

ZSTD_LEVEL = 3


def pack_names(names: tuple[str, ...]) -> bytes:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(orjson.dumps(names))


def unpack_names(blob: bytes) -> tuple[str, ...]:
    return _unpack_names(bytes(blob))


@functools.lru_cache(maxsize=64)
def _unpack_names(blob: bytes) -> tuple[str, ...]:
    return tuple(json.loads(zstandard.ZstdDecompressor().decompress(blob)))


def read(row: Cycle) -> CycleRecord:
    """The record that `recording` was given; without columns once the ring dropped them."""
    from schedviz.scheduler import journal

    blob = bytes(row.blob) if row.blob is not None else None
    return journal.decode(row.summary, blob, unpack_names(row.node_set.names))
