"""The journal's written form: nothing is lost, whatever a record holds, and little room is taken."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler import journal
from schedviz.scheduler.framework.status import Code, NodeStatuses, Status
from schedviz.scheduler.framework.steps import (
    Candidate,
    CycleRecord,
    Outcome,
    PodRef,
    Preemption,
    Scores,
    Step,
)

WORDS = st.text(max_size=8)
STATUSES = st.builds(
    Status, st.sampled_from(Code), st.lists(WORDS, max_size=2).map(tuple), st.just("P")
)
NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62))

CANDIDATES = st.builds(
    Candidate,
    WORDS,
    st.lists(WORDS, min_size=1, max_size=2).map(tuple),
    st.integers(0, 3),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**40),
    st.none() | st.floats(0, 2**33),
)
PREEMPTIONS = st.none() | st.builds(
    Preemption,
    st.integers(0, 9),
    st.lists(CANDIDATES, max_size=2).map(tuple),
    st.lists(WORDS, max_size=2).map(tuple),
    WORDS,
)


def column(draw, n: int, numbers=NUMBERS) -> np.ndarray:
    """All one value, or each its own."""
    if draw(st.booleans()):
        return np.full(n, draw(numbers), dtype=np.int64)
    return np.array(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=np.int64)


@st.composite
def node_statuses(draw, n: int) -> NodeStatuses:
    made = NodeStatuses(n)
    for row in range(n):
        if draw(st.booleans()):
            made.reject(row, draw(STATUSES))
    return made


@st.composite
def records(draw) -> CycleRecord:
    n = draw(st.integers(0, 6))
    first = column(draw, n, st.integers(-2, 3)).astype(np.int16)
    rows = np.flatnonzero(first == -1)
    if draw(st.booleans()):  # a nominated node, or a sample: not all that passed
        rows = rows[: draw(st.integers(0, n))]
    scores = [
        Scores(rows, column(draw, len(rows)), column(draw, len(rows), st.integers(0, 100)), weight)
        for weight in draw(st.lists(st.integers(1, 3), max_size=3))
    ]
    totals = sum((one.normalized * one.weight for one in scores), np.zeros(len(rows), np.int64))
    if draw(st.booleans()):
        totals = column(draw, len(rows))
    steps = [
        Step("PreFilter", "P", draw(STATUSES), node_names=draw(st.none() | st.just(("n0", "n1")))),
        Step("Filter", "P", draw(STATUSES), nodes=draw(node_statuses(n))),
        Step("PostFilter", "D", draw(STATUSES), preemption=draw(PREEMPTIONS)),
        *(
            Step("Score", f"S{number}", draw(STATUSES), scores=one)
            for number, one in enumerate(scores)
        ),
    ]
    return CycleRecord(
        number=draw(st.integers(1, 2**40)),
        pod=PodRef(draw(WORDS), draw(WORDS), draw(WORDS), "7"),
        attempt=3,
        priority=draw(st.integers(-(2**31), 2**31 - 1)),
        scheduler_name="default-scheduler",
        started_at=12.5,
        node_names=tuple(f"n{number}" for number in range(n)),
        steps=steps,
        binding_steps=[Step("Bind", "B", draw(STATUSES))],
        first_failure=draw(st.sampled_from([None, first])),
        feasible=draw(st.sampled_from([None, rows])),
        totals=draw(st.sampled_from([None, totals])),
        chosen=draw(WORDS),
        n_ties=draw(st.integers(0, 3)),
        nominated_node_name=draw(WORDS),
        outcome=draw(st.sampled_from(Outcome)),
        message=draw(WORDS),
        nominated_there=draw(st.dictionaries(WORDS, st.just(("d/p",)), max_size=2)),
        step_durations=[0.001] * len(steps),
        binding_durations=[0.5],
        duration=0.25,
    )


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def assert_same_columns(read: CycleRecord, written: CycleRecord) -> None:
    for name in ("first_failure", "feasible", "totals"):
        assert same(getattr(read, name), getattr(written, name)), name
    for one, other in zip(read.steps, written.steps, strict=True):
        assert one.nodes == other.nodes
        assert one.preemption == other.preemption
        assert (one.scores is None) == (other.scores is None)
        if one.scores is not None and other.scores is not None:
            assert one.scores.weight == other.scores.weight
            for name in ("rows", "raw", "normalized"):
                assert same(getattr(one.scores, name), getattr(other.scores, name)), name


def read_back(written: CycleRecord) -> CycleRecord:
    summary, blob = journal.encode(written)
    return journal.decode(orjson.loads(orjson.dumps(summary)), blob, written.node_names)


SAID = ("number", "pod", "attempt", "priority", "scheduler_name", "started_at", "node_names")
SAID += (
    "chosen",
    "n_ties",
    "nominated_node_name",
    "outcome",
    "message",
    "nominated_there",
    "duration",
)
SAID += ("step_durations", "binding_durations")


@given(records())
def test_what_is_read_is_what_was_written(written):
    read = read_back(written)
    assert [getattr(read, name) for name in SAID] == [getattr(written, name) for name in SAID]
    for mine, theirs in ((read.steps, written.steps), (read.binding_steps, written.binding_steps)):
        assert [(s.point, s.plugin, s.status, s.node_names) for s in mine] == [
            (s.point, s.plugin, s.status, s.node_names) for s in theirs
        ]
    assert_same_columns(read, written)


@given(records())
def test_without_its_columns_a_record_still_says_what_was_decided(written):
    summary, _ = journal.encode(written)
    read = journal.decode(orjson.loads(orjson.dumps(summary)), None, written.node_names)
    assert [getattr(read, name) for name in SAID] == [getattr(written, name) for name in SAID]
    assert (read.feasible, read.totals, read.first_failure) == (None, None, None)


@given(records())
def test_the_same_record_is_written_alike(written):
    assert journal.encode(written) == journal.encode(written)


def test_columns_that_follow_from_others_take_no_room():
    n = 5000
    rows = np.arange(n)
    chance = np.random.default_rng(1)
    scores = [Scores(rows, chance.integers(98, 100, n), chance.integers(98, 100, n), 2)]
    written = CycleRecord(1, PodRef("d", "p", "u"), 1, 0, "s", 0.0, tuple(map(str, rows)))
    written.steps = [Step("Score", "S", Status(Code.SUCCESS, plugin="S"), scores=scores[0])]
    written.first_failure = np.full(n, -1, dtype=np.int16)
    written.feasible, written.totals = rows, scores[0].normalized * 2
    _, blob = journal.encode(written)
    assert len(blob) < 2500  # two columns of 5,000 bits


def test_a_record_of_another_release_is_refused_in_words():
    summary, blob = journal.encode(CycleRecord(1, PodRef("d", "p", "u"), 1, 0, "s", 0.0, ()))
    with pytest.raises(ValueError, match="version 99: this release reads"):
        journal.decode({**summary, "v": 99}, blob, ())
