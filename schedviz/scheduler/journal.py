"""How a cycle's record is written down: a summary that a page can list, and a blob with the columns over nodes.

`encode` is called by the sinks, `decode` by the readers; together they lose nothing. The blob is zstd over a JSON
header and small-dtype arrays; node names are not in it (a NodeSet keeps them once, see `node_set_digest`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from schedviz.scheduler.framework.status import Code, NodeStatuses, Status
from schedviz.scheduler.framework.steps import (
    Call,
    Candidate,
    CycleRecord,
    Outcome,
    PodRef,
    Preemption,
    Scores,
    Step,
)

VERSION = 1
ZSTD_LEVEL = 1
DERIVED = -1
_DTYPES = tuple(
    (int(np.iinfo(kind).min), int(np.iinfo(kind).max), np.dtype(kind))
    for kind in (np.int8, np.int16, np.int32, np.int64)
)
_HEAD = (
    "number",
    "attempt",
    "priority",
    "scheduler_name",
    "started_at",
    "chosen",
    "nominated_node_name",
    "n_ties",
)


def node_set_digest(names: Iterable[str]) -> str:
    """32 hex digits that name this order of nodes."""
    return hashlib.blake2b("\n".join(names).encode(), digest_size=16).hexdigest()


def encode(record: CycleRecord) -> tuple[dict[str, Any], bytes]:
    """(summary as JSON data, blob). What `decode` needs beside them: the node names."""
    summary: dict[str, Any] = {name: getattr(record, name) for name in _HEAD}
    summary |= {
        "v": VERSION,
        "pod": [record.pod.namespace, record.pod.name, record.pod.uid, record.pod.resource_version],
        "nominated_there": {node: list(pods) for node, pods in record.nominated_there.items()},
        "duration": record.duration,
        "steps": [_step_summary(step) for step in record.steps],
        "seconds": record.step_durations,
    }
    return summary | closing(record), _Columns().pack(record)


def closing(record: CycleRecord) -> dict[str, Any]:
    """The part of the summary that the end of a binding cycle makes new."""
    return {
        "outcome": record.outcome.value,
        "message": record.message,
        "binding": [_step_summary(step) for step in record.binding_steps],
        "binding_seconds": record.binding_durations,
    }


def decode(summary: dict[str, Any], blob: bytes | None, node_names: tuple[str, ...]) -> CycleRecord:
    """The record as it was; without a blob its columns are None."""
    if summary.get("v") != VERSION:
        raise ValueError(
            f"a record of version {summary.get('v')!r}: this release reads version {VERSION}"
        )
    record = CycleRecord(
        pod=PodRef(*summary["pod"]),
        node_names=node_names,
        steps=[_step(one) for one in summary["steps"]],
        binding_steps=[_step(one) for one in summary["binding"]],
        outcome=Outcome(summary["outcome"]),
        message=summary["message"],
        nominated_there={node: tuple(pods) for node, pods in summary["nominated_there"].items()},
        duration=summary["duration"],
        step_durations=list(summary["seconds"]),
        binding_durations=list(summary["binding_seconds"]),
        **{name: summary[name] for name in _HEAD},
    )
    if blob is not None:
        _unpack(record, blob)
    return record


def _step_summary(step: Step) -> dict[str, Any]:
    one = _said(step.point, step.plugin, step.status)
    if step.scores is not None:
        one = {**one, "weight": step.scores.weight}
    if step.node_names is not None:
        one = {**one, "nodes": list(step.node_names)}
    if step.call is not None:
        one = {**one, "call": dataclasses.astuple(step.call)}
    return one


@functools.lru_cache(maxsize=1024)
def _said(point: str, plugin: str, status: Status) -> dict[str, Any]:
    """Most steps say the same in every cycle: never write to what this gives."""
    one: dict[str, Any] = {"point": point, "plugin": plugin, "code": status.code.title}
    if status.plugin != plugin:
        one["by"] = status.plugin
    if status.reasons:
        one["reasons"] = list(status.reasons)
    return one


_CODES = {code.title: code for code in Code}


def _step(one: dict[str, Any]) -> Step:
    status = Status(
        _CODES[one["code"]], tuple(one.get("reasons", ())), one.get("by", one["plugin"])
    )
    names = one.get("nodes")
    made = Step(
        one["point"], one["plugin"], status, node_names=None if names is None else tuple(names)
    )
    if "call" in one:
        made.call = Call(*one["call"])
    return made


class _Columns:
    """Collects arrays; the header says where each lies: [dtype, length], and [dtype, length, value] where all values
    are one. Columns that follow from others are left out (DERIVED)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._layout: list[tuple[str, int] | tuple[str, int, int]] = []
        self._constants: dict[tuple[int, int], int] = {}

    def pack(self, record: CycleRecord) -> bytes:
        header = {
            "first_failure": self._maybe(record.first_failure),
            "feasible": self._unless(record.feasible, _passed(record)),
            "totals": self._unless(record.totals, _summed(record)),
            "steps": [self._step(step, record) for step in record.steps],
        }
        head = orjson.dumps({**header, "layout": self._layout})
        plain = b"".join([len(head).to_bytes(4, "little"), head, *self._parts])
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(plain)

    def _maybe(self, array: NDArray[Any] | None) -> int | None:
        return None if array is None else self._add(array)

    def _unless(self, array: NDArray[Any] | None, derived: NDArray[Any] | None) -> int | None:
        if array is not None and _same(array, derived):
            return DERIVED
        return self._maybe(array)

    def _add(self, array: NDArray[Any]) -> int:
        low, high = (int(array.min()), int(array.max())) if len(array) else (0, 0)
        if low == high:
            return self._constant(len(array), low)
        dtype = _smallest(low, high)
        self._parts.append(array.astype(dtype).tobytes())
        self._layout.append((dtype.str, len(array)))
        return len(self._layout) - 1

    def _constant(self, length: int, value: int) -> int:
        """A column of one value is written once, however many steps have it."""
        key = (length, value)
        if key not in self._constants:
            self._constants[key] = len(self._layout)
            self._layout.append((_smallest(value, value).str, length, value))
        return self._constants[key]

    def _step(self, step: Step, record: CycleRecord) -> dict[str, Any] | None:
        if step.nodes is not None:
            nodes = step.nodes
            if len(nodes.table) == 1 and not nodes.codes.any():  # nobody was refused
                none = self._constant(len(nodes), 0)
                return {"codes": none, "ids": none, "table": nodes.table}
            return {
                "codes": self._add(nodes.codes),
                "ids": self._add(nodes.reason_ids),
                "table": nodes.table,
            }
        if step.scores is not None:
            scores = step.scores
            raw = self._add(scores.raw)
            return {
                "rows": None if _same(scores.rows, record.feasible) else self._add(scores.rows),
                "raw": raw,
                "normalized": None
                if _same(scores.raw, scores.normalized)
                else self._add(scores.normalized),
                "weight": scores.weight,
            }
        if step.preemption is not None:
            told = step.preemption
            candidates = [tuple(one) for one in told.candidates]
            return {"preemption": [told.n_tried, candidates, told.ties, told.chosen]}
        return None


def _smallest(low: int, high: int) -> np.dtype[Any]:
    for least, most, dtype in _DTYPES:
        if least <= low and high <= most:
            return dtype
    raise ValueError("a column beyond int64")


def _same(one: NDArray[Any], other: NDArray[Any] | None) -> bool:
    return other is not None and (one is other or np.array_equal(one, other))


def _passed(record: CycleRecord) -> NDArray[Any] | None:
    """The feasible rows, as a rule: those that no filter rejected."""
    if record.first_failure is None:
        return None
    return np.flatnonzero(record.first_failure == -1)


def _summed(record: CycleRecord) -> NDArray[Any] | None:
    """The totals, as a rule: the sum of all weighted scores."""
    scores = [step.scores for step in record.steps if step.scores is not None]
    if not scores or record.feasible is None:
        return None
    if any(len(one.normalized) != len(record.feasible) for one in scores):
        return None
    totals = np.zeros(len(record.feasible), dtype=np.int64)
    for one in scores:
        totals += one.normalized * one.weight
    return totals


def _unpack(record: CycleRecord, blob: bytes) -> None:
    plain = zstandard.ZstdDecompressor().decompress(blob)
    size = int.from_bytes(plain[:4], "little")
    header = orjson.loads(plain[4 : 4 + size])
    arrays: list[NDArray[Any]] = []
    offset = 4 + size
    for dtype, length, *value in header["layout"]:
        if value:
            arrays.append(np.full(length, value[0], dtype=np.dtype(dtype)))
            continue
        array = np.frombuffer(plain, dtype=np.dtype(dtype), count=length, offset=offset)
        arrays.append(array)
        offset += array.nbytes

    def column(number: int | None, dtype: type[Any]) -> NDArray[Any] | None:
        return None if number is None else arrays[number].astype(dtype)

    record.first_failure = column(header["first_failure"], np.int16)
    derived = header["feasible"] == DERIVED
    record.feasible = _passed(record) if derived else column(header["feasible"], np.intp)
    for step, one in zip(record.steps, header["steps"], strict=True):
        if one is None:
            continue
        if "table" in one:
            step.nodes = _node_statuses(one, arrays)
            continue
        if "preemption" in one:
            step.preemption = _preemption(*one["preemption"])
            continue
        raw = column(one["raw"], np.int64)
        rows = record.feasible if one["rows"] is None else column(one["rows"], np.intp)
        normalized = raw if one["normalized"] is None else column(one["normalized"], np.int64)
        if raw is None or rows is None or normalized is None:
            raise ValueError(f"cycle {record.number}: the columns of {step.plugin} are damaged")
        step.scores = Scores(rows, raw, normalized, one["weight"])
    derived = header["totals"] == DERIVED
    record.totals = _summed(record) if derived else column(header["totals"], np.int64)


def _preemption(
    n_tried: int, candidates: list[list[Any]], ties: list[str], chosen: str
) -> Preemption:
    made = (Candidate(name, tuple(victims), *rest) for name, victims, *rest in candidates)
    return Preemption(n_tried, tuple(made), tuple(ties), chosen)


def _node_statuses(one: dict[str, Any], arrays: list[NDArray[Any]]) -> NodeStatuses:
    nodes = NodeStatuses(len(arrays[one["codes"]]))
    for reasons in one["table"]:
        nodes.reason_id(tuple(reasons))
    nodes.codes = arrays[one["codes"]].astype(np.uint8)
    nodes.reason_ids = arrays[one["ids"]].astype(np.uint16)
    return nodes
