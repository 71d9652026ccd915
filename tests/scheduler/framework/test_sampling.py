"""Sampling: how many nodes are enough, where the search begins, and what becomes of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from schedviz.scheduler.framework.sampling import (
    NOT_LOOKED_AT,
    Sampling,
    num_feasible_nodes_to_find,
)
from schedviz.scheduler.framework.snapshot import Snapshot
from schedviz.scheduler.framework.steps import Change, CycleRecord
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from tests import make
from tests.scheduler.framework.test_filtering import drained

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("percentage", "nodes", "enough"),
    [
        pytest.param(0, 50, 50, id="a small cluster: all"),
        pytest.param(10, 99, 99, id="a small cluster, whatever the percentage"),
        pytest.param(0, 100, 100, id="never less than 100"),
        pytest.param(40, 1000, 400, id="40 % of 1,000"),
        pytest.param(5, 1000, 100, id="5 % of 1,000 is less than 100"),
        pytest.param(0, 1000, 420, id="adaptive: 42 % of 1,000"),
        pytest.param(0, 200, 100, id="adaptive: 49 % is less than 100"),
        pytest.param(0, 3000, 780, id="adaptive: 26 % of 3,000"),
        pytest.param(0, 5000, 500, id="adaptive: 10 % of 5,000"),
        pytest.param(0, 6000, 300, id="adaptive: never less than 5 %"),
        pytest.param(100, 5000, 5000, id="all"),
    ],
)
def test_num_feasible_nodes_to_find(percentage, nodes, enough):
    assert num_feasible_nodes_to_find(percentage, nodes) == enough


def cluster(n: int, zones: int = 1) -> Snapshot:
    return make.snapshot(
        make.node(f"n{number}", labels={ZONE: f"z{number * zones // n}"}) for number in range(n)
    )


def looked_at(sampling: Sampling, nodes: Snapshot, percentage: int, first=None) -> list[int]:
    """Rows, after one cycle in which all nodes pass unless said otherwise."""
    first = np.full(len(nodes), -1, dtype=np.int16) if first is None else first.copy()
    sampling.cut(percentage, nodes, first)
    return np.flatnonzero(first != NOT_LOOKED_AT).tolist()


def test_each_cycle_begins_where_the_last_one_stopped():
    sampling, nodes = Sampling(), cluster(250)
    assert looked_at(sampling, nodes, 40) == list(range(100))
    assert looked_at(sampling, nodes, 40) == list(range(100, 200))
    assert looked_at(sampling, nodes, 40) == [*range(50), *range(200, 250)]


def test_zones_are_taken_in_turn():
    found = looked_at(Sampling(), cluster(200, zones=2), 50)
    assert found == [*range(50), *range(100, 150)]


def test_the_search_goes_on_until_enough_fit():
    nodes = cluster(200)
    only_last = np.zeros(200, dtype=np.int16)
    only_last[199] = -1
    assert looked_at(Sampling(), nodes, 0, only_last) == list(range(200))


def test_nodes_outside_of_the_cycle_are_passed_over():
    nodes = cluster(300)
    some = np.full(300, -1, dtype=np.int16)
    some[:150] = -2
    assert looked_at(Sampling(), nodes, 50, some) == list(range(250))


def test_a_small_cluster_is_looked_at_whole():
    assert looked_at(Sampling(), cluster(50), 5) == list(range(50))


def test_a_scheduler_that_samples_scores_what_it_looked_at_and_goes_on_from_there():
    profile = default_profile()
    profile.sampling = Sampling()
    made = Scheduler({"default-scheduler": profile})
    for number in range(250):
        made.apply(Change("Node", None, make.node(f"n{number:03}")), 0.0)
    records = []
    for name in ("a", "b"):
        made.apply(Change("Pod", None, make.pod(name)), 1.0)
        cycle = made.start_cycle(2.0)
        assert cycle is not None
        outputs = drained(cycle)
        records += [one for one in outputs if isinstance(one, CycleRecord)]
    first, second = (one.feasible.tolist() for one in records)
    assert (first, second) == (list(range(120)), list(range(120, 240)))  # 48 % of 250
    assert all(len(one.totals) == 120 for one in records)
    assert int((records[0].first_failure == NOT_LOOKED_AT).sum()) == 130
