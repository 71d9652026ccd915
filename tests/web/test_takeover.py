"""What the last holder left open is settled when the new one knows the cluster."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework.steps import Lane
from schedviz.web import readers
from schedviz.web.models import Lease, NodeState, PodState
from tests.web import people, sample

pytestmark = pytest.mark.django_db
READING = {"cluster": {"connected": False, "message": "Reading the cluster."}}


@pytest.fixture
def left_open():
    """Three nodes and two cycles whose binding nobody heard the end of."""
    session = people.session()
    sink = sample.sink(session)
    nodes = {name: sample.node_view(name) for name in ("n1", "n2", "n3")}
    cycles = [sample.record(number, sample.pod_ref(number)) for number in (1, 2)]
    pods = {
        made.pod.uid: sample.pod_view(made.pod, Lane.BINDING, cycle=made.number) for made in cycles
    }
    sink.commit(sample.batch(nodes=nodes, cycles=cycles, pods=pods))
    Lease.objects.update(until=0)
    return session, cycles


def take_over(session, pods):
    sink = sample.sink(session)
    sink.commit(sample.batch(counters=READING, nodes={"n1": sample.node_view("n1")}))
    assert NodeState.objects.count() == 3, "the cluster is not read yet"
    sink.commit(sample.batch(nodes={"n2": sample.node_view("n2")}, pods=pods))
    sink.commit(sample.batch())
    return sink


def test_nodes_that_are_gone_are_forgotten(left_open):
    session, _ = left_open
    take_over(session, {})
    assert set(NodeState.objects.values_list("name", flat=True)) == {"n1", "n2"}


def test_a_binding_that_the_cluster_shows_is_closed_as_bound(left_open):
    session, (first, second) = left_open
    bound = sample.pod_view(first.pod, Lane.BOUND, node_name=first.chosen, attempts=0)
    waits = sample.pod_view(second.pod, Lane.ACTIVE, attempts=1)
    take_over(session, {first.pod.uid: bound, second.pod.uid: waits})
    detail = readers.cycle_detail(session, 1)
    assert (detail.row.outcome, detail.record.outcome) == ("bound", "bound")
    pod = PodState.objects.get(uid=first.pod.uid)
    assert (pod.cycle, pod.attempts) == (1, 1)
    detail = readers.cycle_detail(session, 2)
    assert (detail.row.outcome, detail.record.outcome) == ("bind_failed", "bind_failed")
    assert "tried again" in detail.record.message


def test_what_the_new_holder_does_is_left_alone(left_open):
    session, _ = left_open
    sink = take_over(session, {})
    sink.commit(sample.batch(cycles=[sample.record(3, sample.pod_ref(3))]))
    sink.commit(sample.batch())
    assert readers.cycle_detail(session, 3).row.outcome == "scheduled"
