"""A record arranged for its page: sums, orders and sentences are the record's own."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from schedviz.scheduler.framework.sampling import NOT_LOOKED_AT
from schedviz.web import cycle_page
from schedviz.web import matrix as matrices
from tests.web import sample


def made(**fields):
    return sample.record(3, sample.pod_ref(3), **fields)


def test_it_works():
    record = made(names=sample.node_names(12), n_passing=5)
    why = cycle_page.why(record)
    assert (why.n_nodes, why.n_feasible, why.chosen) == (12, 5, record.chosen)
    assert why.total == int(record.totals.max())
    assert why.ahead >= 0


def test_why_one_node_needs_no_score():
    assert cycle_page.why(made(n_passing=1)).is_only_one


def test_why_none():
    why = cycle_page.why(made(n_passing=0))
    assert (why.chosen, why.n_feasible) == ("", 0)


def test_a_tie_names_the_tied():
    record = made()
    record.totals[:] = 7
    record.n_ties = len(record.totals)
    why = cycle_page.why(record)
    assert why.n_ties == len(record.feasible)
    assert why.ties == tuple(record.node_names[row] for row in record.feasible[: len(why.ties)])
    assert why.chosen in why.ties


def test_the_funnel_ends_with_the_feasible():
    record = made(names=sample.node_names(30), n_passing=7)
    stages = cycle_page.funnel(record)
    assert stages[0].n == 30
    assert stages[-1].n == 7
    assert sum(stage.lost for stage in stages) == 23
    assert all(stage.lost for stage in stages[1:])


def test_the_totals_add_up():
    scoring = cycle_page.scoring(made(names=sample.node_names(40), n_passing=30), limit=10)
    assert (len(scoring.rows), scoring.n_rows) == (10, 30)
    for row in scoring.rows:
        assert sum(part.weighted for part in row.parts) == row.total
    totals = [row.total for row in scoring.rows]
    assert totals == sorted(totals, reverse=True)
    assert scoring.rows[0].is_chosen
    assert max(s.x + s.width for row in scoring.stacked for s in row.segments) <= 100.001


def test_the_matrix_marks_the_first_failure():
    record = made(names=sample.node_names(30), n_passing=7)
    matrix = matrices.matrix(record)
    assert matrix.names[0] == record.chosen
    firsts = np.isin(matrix.cells, (matrices.FIRST, matrices.FIRST_NEVER)).sum(axis=1)
    assert firsts.sum() == 23
    assert set(firsts.tolist()) == {0, 1}
    rejected = [bool(reason) for _, reason in matrix.outcomes]
    assert rejected == sorted(rejected)


def test_a_filter_with_nothing_to_do_keeps_its_column():
    record = made()
    record.steps = [s for s in record.steps if (s.point, s.plugin) != ("Filter", "NodeAffinity")]
    record.first_failure = np.full(6, -1, dtype=np.int16)
    matrix = matrices.matrix(record)
    column = matrix.plugins.index("NodeAffinity")
    assert (matrix.cells[:, column] == matrices.SKIPPED).all()


def test_a_node_that_was_not_looked_at_has_no_verdict():
    record = made()
    record.first_failure[0] = NOT_LOOKED_AT
    name = record.node_names[0]
    found = matrices.matrix(record)
    row = next(one for one in found.rows() if one["node"] == name)
    assert set(row["cells"]) == {matrices.SKIPPED}
    assert row["reason"] == matrices.ENOUGH
    assert found.names[-1] == name
    assert cycle_page.funnel(record)[1].lost == 1


def test_the_frame():
    record = made()
    matrix = matrices.matrix(record)
    frame = matrix.frame(record.chosen)
    length = int.from_bytes(frame[:4], "little")
    head = orjson.loads(frame[4 : 4 + length])
    assert head["names"] == matrix.names
    assert frame[4 + length :] == matrix.cells.tobytes()


def test_without_detail_there_is_neither_matrix_nor_score():
    record = made()
    record.first_failure = record.feasible = record.totals = None
    assert matrices.matrix(record) is None
    assert cycle_page.scoring(record, limit=5) is None
    assert cycle_page.funnel(record) == []


@pytest.mark.parametrize("n_passing", [0, 1, 3])
def test_every_step_is_told(n_passing):
    record = made(n_passing=n_passing)
    groups = cycle_page.groups(record)
    assert sum(len(group.spoken) for group in groups) == len(record.steps)
    assert sum(group.seconds for group in groups) == pytest.approx(sum(record.step_durations))
