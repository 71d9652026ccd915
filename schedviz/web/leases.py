"""Who runs a session: taking, renewing and giving back its lease row. Used by `runner`; `recording` checks the fence.

            take (fence + 1)              renew                     release
    free ------------------> held --------------------> held ------------------> free
      ^                        |  until < now: anybody may take it
      +------------------------+

Every moment compared here comes from one clock, the database's (SQLite: this machine's, which all its users share), so
that workers on machines with other clocks agree. The holder itself counts on its monotonic clock, from before the
database was asked: it stops believing in its lease before anybody else may take it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db import connection
from django.db.models import F

from schedviz.web.models import Lease, Session

TTL_SECONDS = 4.0
RENEW_SECONDS = 1.0
MARGIN_SECONDS = 0.5
"""The holder acts no more this long before its lease ends: a request on its way must not arrive after the end."""


@dataclass(slots=True)
class HeldLease:
    """A lease in our hands. `deadline`: monotonic; written by the renewing thread, read by all."""

    session_id: int
    holder: str
    fence: int
    deadline: float

    def may_act(self) -> bool:
        return time.monotonic() < self.deadline - MARGIN_SECONDS


def database_now() -> float:
    if connection.vendor != "postgresql":
        return time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        return cursor.fetchone()[0]


def take(session_id: int, holder: str) -> HeldLease | None:
    """The lease, when it is free or its time is up; None when another has it or was faster."""
    asked = time.monotonic()
    now = database_now()
    lease = Lease.objects.filter(session_id=session_id, until__lt=now).first()
    if lease is None:
        return None
    taken = Lease.objects.filter(session_id=session_id, fence=lease.fence, until=lease.until)
    if not taken.update(holder=holder, fence=F("fence") + 1, until=now + TTL_SECONDS):
        return None
    return HeldLease(session_id, holder, lease.fence + 1, asked + TTL_SECONDS)


def renew(lease: HeldLease) -> bool:
    """False: another has taken it. A lease that ran out without a taker is still ours."""
    asked = time.monotonic()
    until = database_now() + TTL_SECONDS
    if not _mine(lease).update(until=until):
        return False
    lease.deadline = asked + TTL_SECONDS
    return True


def release(lease: HeldLease) -> None:
    """Free for the next one at once. The fence stays: it only ever grows."""
    lease.deadline = 0.0
    _mine(lease).update(holder="", until=0.0)


def mark_stopped() -> None:
    """Sessions that should not run and that nobody holds are stopped, whatever their last holder left behind."""
    idle = Session.objects.filter(desired=Session.Desired.STOPPED, lease__until__lt=database_now())
    if idle.exclude(state=Session.State.STOPPED).exists():
        idle.exclude(state=Session.State.STOPPED).update(
            state=Session.State.STOPPED, state_message=""
        )


def _mine(lease: HeldLease):  # type: ignore[no-untyped-def]
    return Lease.objects.filter(session_id=lease.session_id, holder=lease.holder, fence=lease.fence)
