"""The sink: one transaction a batch, under the lease, and read back as it was written."""

from __future__ import annotations

import time

import numpy as np
import pytest
from django.db import OperationalError

from schedviz.scheduler.framework.steps import CommandResult, Lane, Move, Outcome
from schedviz.session import Fenced
from schedviz.web import leases, readers
from schedviz.web.answers import answer
from schedviz.web.models import Audit, Command, Cycle, Lease, NodeSet, NodeState, PodState
from schedviz.web.models import Move as MoveRow
from tests.web import people, sample

pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    return people.session()


@pytest.fixture
def sink(session):
    return sample.sink(session)


def assert_same(read, written):
    """Equal in all that was yielded; arrays compared by value."""
    for name in (
        "number",
        "pod",
        "attempt",
        "node_names",
        "chosen",
        "n_ties",
        "outcome",
        "message",
    ):
        assert getattr(read, name) == getattr(written, name)
    for name in ("first_failure", "feasible", "totals"):
        assert np.array_equal(getattr(read, name), getattr(written, name))
    assert len(read.steps) == len(written.steps)
    for one, other in zip(read.steps, written.steps, strict=True):
        assert (one.point, one.plugin, one.status) == (other.point, other.plugin, other.status)
        assert one.nodes == other.nodes
        if other.scores is not None:
            assert np.array_equal(one.scores.raw, other.scores.raw)
            assert np.array_equal(one.scores.normalized, other.scores.normalized)


def test_a_cycle_is_read_back_as_it_was_written(session, sink):
    written = sample.record(1, sample.pod_ref(1))
    sink.commit(sample.batch(cycles=[written]))
    detail = readers.cycle_detail(session, 1)
    assert_same(detail.record, written)
    assert detail.has_detail
    assert (detail.row.n_nodes, detail.row.n_feasible) == (6, 3)


def test_a_closed_binding_is_added_to_its_cycle(session, sink):
    written = sample.record(1, sample.pod_ref(1))
    sink.commit(sample.batch(cycles=[written]))
    sink.commit(sample.batch(updates=[sample.bound(written)]))
    detail = readers.cycle_detail(session, 1)
    assert detail.row.outcome == Outcome.BOUND
    assert [step.plugin for step in detail.record.binding_steps] == [
        "VolumeBinding",
        "DefaultBinder",
    ]
    assert_same(detail.record, written)


def test_a_new_holder_closes_what_the_old_one_opened(session, sink):
    written = sample.record(1, sample.pod_ref(1))
    sink.commit(sample.batch(cycles=[written]))
    Lease.objects.update(until=0)
    sample.sink(session).commit(sample.batch(updates=[sample.bound(written)]))
    assert readers.cycle_detail(session, 1).row.outcome == Outcome.BOUND


def test_node_names_are_kept_once(session, sink):
    names, others = sample.node_names(4), sample.node_names(5)
    for number, these in enumerate((names, names, others, names), start=1):
        made = sample.record(number, sample.pod_ref(number), names=tuple(these))
        sink.commit(sample.batch(cycles=[made]))
    assert NodeSet.objects.count() == 2
    assert readers.cycle_detail(session, 4).record.node_names == names


def test_a_lost_lease_writes_nothing(session, sink):
    Lease.objects.update(until=0)
    leases.take(session.pk, "another")
    with pytest.raises(Fenced):
        sink.commit(sample.batch(cycles=[sample.record(1, sample.pod_ref(1))]))
    assert not Cycle.objects.exists()
    session.refresh_from_db()
    assert session.seq == 0


def test_a_batch_whose_commit_was_not_heard_of_is_written_once(session, sink):
    batch = sample.batch(moves=[Move(sample.NOW, sample.pod_ref(1), None, Lane.ACTIVE, "PodAdd")])
    sink.commit(batch)
    sink._seq -= 1
    sink.commit(batch)
    assert MoveRow.objects.count() == 1
    session.refresh_from_db()
    assert session.seq == 1


def test_pods_and_nodes_have_their_last_state(session, sink):
    pod = sample.pod_ref(1)
    for lane in (Lane.ACTIVE, Lane.BACKOFF):
        sink.commit(sample.batch(pods={pod.uid: sample.pod_view(pod, lane)}))
    assert PodState.objects.get().lane == "backoff"
    nodes = {name: sample.node_view(name) for name in ("n1", "n2")}
    sink.commit(sample.batch(nodes=nodes))
    sink.commit(sample.batch(nodes={"n1": None, "n2": sample.node_view("n2", n_pods=7)}))
    node = NodeState.objects.get()
    assert (node.name, node.n_pods, node.allocatable["cpu"]) == ("n2", 7, 4000)


def test_the_sessions_row_counts_along(session, sink):
    sink.commit(sample.batch(cycles=[sample.record(41, sample.pod_ref(1))], counters={"active": 3}))
    session.refresh_from_db()
    assert (session.seq, session.last_cycle, session.heartbeat_at) == (1, 41, sample.NOW)
    assert session.counters == {"active": 3}
    assert session.ring_bytes == Cycle.objects.get().size_bytes > 0


def test_an_answer_ends_the_command_and_is_audited_once(session, sink):
    command = Command.objects.create(
        session=session,
        verb="move",
        args={"uid": "u", "pod": "a/p"},
        created_by=people.olga(),
        key="k",
    )
    result = CommandResult(command.pk, True, "moved", {"position": 3}, {"position": 1})
    sink.commit(sample.batch(results=[result]))
    answer(command.pk, ok=False, message="too late")
    command.refresh_from_db()
    assert (command.ok, command.message) == (True, "moved")
    audit = Audit.objects.get()
    assert (audit.user, audit.action, audit.object) == ("olga", "pod.move", "a/p")
    assert (audit.before, audit.after) == ({"position": 3}, {"position": 1})


def test_hostile_text_is_kept_harmless(session, sink):
    pod = sample.pod_ref(1)
    view = sample.pod_view(pod, Lane.MALFORMED, message="bad\0 <script>", moved_by="x" * 999)
    sink.commit(sample.batch(pods={pod.uid: view}, counters={"message": "a\0b"}))
    row = PodState.objects.get()
    assert row.message == "bad\ufffd <script>"
    assert len(row.moved_by) == 200


def test_a_database_that_stays_away_costs_the_lease(session, sink, monkeypatch):
    def away(*_):
        raise OperationalError("no database")

    monkeypatch.setattr(sink, "_hold_fence", away)
    monkeypatch.setattr("schedviz.web.recording.connection.close", lambda: None)
    sink._lease.deadline = time.monotonic() + leases.MARGIN_SECONDS + 0.3
    with pytest.raises(Fenced, match="did not answer"):
        sink.commit(sample.batch())


def test_a_deleted_pod_keeps_what_was_known_of_it(session, sink):
    pod = sample.pod_ref(1)
    view = sample.pod_view(pod, Lane.BOUND, node_name="n1", cycle=7, attempts=2)
    sink.commit(sample.batch(pods={pod.uid: view}))
    sink.commit(sample.batch(pods={pod.uid: sample.pod_view(pod, Lane.GONE, attempts=0)}))
    row = PodState.objects.get()
    assert (row.lane, row.node_name, row.cycle, row.attempts) == ("gone", "n1", 7, 2)


def test_a_silent_database_is_said_once(session, sink, monkeypatch, caplog):
    hold, failures = sink._hold_fence, iter(range(5))

    def full():
        if next(failures, None) is not None:
            raise OperationalError("database or disk is full")
        return hold()

    monkeypatch.setattr(sink, "_hold_fence", full)
    monkeypatch.setattr("schedviz.web.recording.connection.close", lambda: None)
    monkeypatch.setattr("schedviz.web.recording.RETRY_SECONDS", 0.0)
    sink.commit(sample.batch())
    waits, again = [record.getMessage() for record in caplog.records]
    assert "waits for the database: database or disk is full" in waits
    assert "the database answers again" in again
