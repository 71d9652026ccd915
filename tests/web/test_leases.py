"""One holder at a time: whatever is tried, in whatever order."""

from __future__ import annotations

import time

import pytest

from schedviz.web import leases
from schedviz.web.models import Lease
from tests.web import people

pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    return people.session()


def test_a_free_lease_is_taken_by_one(session):
    first = leases.take(session.pk, "one")
    assert (first.holder, first.fence) == ("one", 1)
    assert first.may_act()
    assert leases.take(session.pk, "two") is None


def test_a_released_lease_is_free_at_once_and_its_fence_grows(session):
    leases.release(leases.take(session.pk, "one"))
    assert leases.take(session.pk, "two").fence == 2


def test_a_lease_that_ran_out_is_taken_and_the_old_holder_learns_it(session):
    old = leases.take(session.pk, "one")
    Lease.objects.update(until=time.time() - 0.1)
    new = leases.take(session.pk, "two")
    assert new.fence == 2
    assert not leases.renew(old)
    leases.release(old)
    assert leases.renew(new), "a loser's release changes nothing"


def test_a_lease_that_ran_out_without_a_taker_is_renewed(session):
    lease = leases.take(session.pk, "one")
    Lease.objects.update(until=time.time() - 0.1)
    lease.deadline = time.monotonic() - 0.1
    assert not lease.may_act()
    assert leases.renew(lease)
    assert lease.may_act()


def test_the_holder_stops_before_anybody_may_take_over(session):
    """Counted from before the database was asked, so a slow answer makes the holder's time shorter, not longer."""
    before = time.monotonic()
    lease = leases.take(session.pk, "one")
    ends = Lease.objects.get().until - time.time() + time.monotonic()
    assert before + leases.TTL_SECONDS <= lease.deadline + 1e-6
    assert lease.deadline - leases.MARGIN_SECONDS < ends


def test_what_a_dead_worker_left_running_is_marked_stopped(session):
    lease = leases.take(session.pk, "one")
    session.desired = "stopped"
    session.save()
    leases.mark_stopped()
    session.refresh_from_db()
    assert session.state == "running", "its holder still has the word"
    leases.release(lease)
    leases.mark_stopped()
    session.refresh_from_db()
    assert session.state == "stopped"


def test_the_same_holder_does_not_take_twice(session):
    leases.take(session.pk, "one")
    assert leases.take(session.pk, "one") is None


def test_two_at_the_same_moment_have_one_winner(session, monkeypatch):
    """The first takes it just after the second has seen it free."""
    clock = leases.database_now
    winners = []

    def take_in_between():
        monkeypatch.setattr(leases, "database_now", clock)
        now = clock()
        winners.append(leases.take(session.pk, "one"))
        return now

    monkeypatch.setattr(leases, "database_now", take_in_between)
    assert leases.take(session.pk, "two") is None
    assert winners[0].fence == 1
