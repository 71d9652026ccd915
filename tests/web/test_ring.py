"""The ring drops detail first, then cycles, by count, age and size; pages can say what is kept."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import readers, ring
from schedviz.web.models import Cycle, Move, NodeSet, PodState
from tests.web import people, sample

pytestmark = pytest.mark.django_db
DAY = 86400.0


@pytest.fixture
def session():
    session = people.session()
    sample.fill(session, n_bound=8, n_pending=2)
    return session


def limits(*, cycles=1000, seconds=DAY, max_bytes=10**9, summary_factor=2):
    return ring.Limits(cycles, seconds, max_bytes, summary_factor)


def trim(session, kept, now=sample.NOW + 20, rows=ring.STEP_ROWS):
    while ring.trim(session.pk, now, kept, rows):
        pass
    session.refresh_from_db()
    return readers.ring_state(session)


def numbers(**fields):
    return list(Cycle.objects.filter(**fields).order_by("number").values_list("number", flat=True))


def test_nothing_is_dropped_within_the_limits(session):
    state = trim(session, limits())
    assert (state.kept_from, state.detail_from) == (1, 1)
    assert not state.has_dropped_cycles
    assert numbers() == list(range(1, 11))


def test_by_count_detail_goes_before_summaries(session):
    state = trim(session, limits(cycles=3))
    assert numbers(blob=None) == [5, 6, 7]
    assert numbers() == [5, 6, 7, 8, 9, 10]
    assert (state.kept_from, state.detail_from) == (5, 8)
    assert state.has_dropped_cycles
    assert state.has_dropped_detail


def test_what_is_left_of_a_cycle_without_detail_can_be_read(session):
    trim(session, limits(cycles=3))
    detail = readers.cycle_detail(session, 6)
    assert not detail.has_detail
    assert detail.record.chosen == detail.row.node_name
    assert [step.plugin for step in detail.record.steps if step.point == "Filter"]


def test_by_age(session):
    trim(session, limits(seconds=5.0), now=sample.NOW + 12)
    assert numbers(blob=None) == [2, 3, 4, 5, 6]
    assert numbers() == list(range(2, 11))


def test_by_size_all_detail_goes_first(session):
    sizes = dict(Cycle.objects.values_list("number", "size_bytes"))
    summaries = trim(session, limits(max_bytes=0, cycles=1000), rows=10)
    assert numbers() == []
    assert summaries.bytes == 0
    assert sizes


def test_size_is_counted_exactly(session):
    state = trim(session, limits(max_bytes=session.ring_bytes - 1))
    assert numbers(blob=None) == [1]
    assert state.bytes == sum(Cycle.objects.values_list("size_bytes", flat=True))


def test_small_steps_come_to_the_same_end(session):
    state = trim(session, limits(cycles=3), rows=1)
    assert (state.kept_from, state.detail_from) == (5, 8)


def test_moves_and_deleted_pods_go_with_the_cycles_of_their_time(session):
    PodState.objects.filter(uid__in=["uid-1", "uid-10"]).update(lane=Lane.GONE)
    trim(session, limits(cycles=3))
    oldest = Cycle.objects.earliest("number").started_at
    assert Move.objects.exists()
    assert not Move.objects.filter(at__lt=oldest).exists()
    gone = PodState.objects.filter(lane=Lane.GONE)
    assert [pod.uid for pod in gone] == ["uid-10"]
    assert PodState.objects.filter(uid="uid-2").exists(), "a pod that is still there stays"


def test_node_sets_go_with_their_last_cycle(session):
    trim(session, limits(max_bytes=0))
    assert not NodeSet.objects.exists()


def test_another_sessions_record_is_left_alone(session):
    other = people.session("other")
    sample.fill(other, n_bound=2, n_pending=0)
    trim(session, limits(max_bytes=0))
    assert numbers(session=other) == [1, 2]
