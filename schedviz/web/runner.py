"""The runner: takes the leases of sessions that should run, runs them, and stops each at once when its lease is lost.

Started in the Celery worker by `bootstep`. Threads: the runner's own (looks at the sessions, submits commands), one
that renews the leases and does nothing else, one for each running session (`running`), and the publisher's.

    desired=running, lease free -> take -> starting -> running -> (desired=stopped) stop -> release -> stopped
                                     ^        | error: failed, release, again after a while
                                     +--------+ lease lost: stop, write nothing more
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import DatabaseError, connection
from django.utils import timezone

from schedviz.scheduler.framework import steps
from schedviz.web import leases
from schedviz.web.answers import answer
from schedviz.web.models import Command, Session
from schedviz.web.publishing import Publisher
from schedviz.web.running import RunningSession

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
COMMAND_SECONDS = 0.15
UNANSWERED_SECONDS = 30
MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 30.0
HEALTHY_SECONDS = 60.0
"""A session that ran this long begins with the shortest backoff again."""


class Runner:
    """One a worker."""

    def __init__(self, holder: str = "") -> None:
        self.holder = holder or f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(3)}"
        self._publisher = Publisher()
        self._running: dict[int, RunningSession] = {}
        self._failures: dict[
            int, tuple[int, float]
        ] = {}  # session: (in a row, monotonic of next try)
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=args, name=name, daemon=True)
            for name, args in (
                ("runner", (self._work, COMMAND_SECONDS)),
                ("leases", (self._renew, leases.RENEW_SECONDS)),
            )
        ]
        self._look_at = 0.0

    def start(self) -> None:
        log.info("runner %s", self.holder)
        self._publisher.start()
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Stops every session and gives its lease back: another worker may go on at once."""
        deadline = time.monotonic() + timeout
        self._stopping.set()
        running = list(self._running.values())
        for session in running:
            session.stop("the worker stops; another one takes over")
        for session in running:
            session.join(max(0.0, deadline - time.monotonic()))
        self._publisher.stop()
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))

    def _repeat(self, work: Callable[[], None], seconds: float) -> None:
        try:
            while not self._stopping.wait(seconds):
                try:
                    work()
                except DatabaseError as error:
                    log.warning("runner: the database did not answer: %s", error)
                    connection.close()
                except Exception:  # one odd row must not end the care for all the others
                    log.exception("runner: unexpected")
        finally:
            connection.close()

    # ---- the runner's own thread -------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._submit_commands()
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            self._reap()
            self._look()
            self._expire_commands()

    def _look(self) -> None:
        wanted = Session.objects.filter(desired=Session.Desired.RUNNING).select_related("cluster")
        rows = {row.pk: row for row in wanted}
        self._failures = {pk: entry for pk, entry in self._failures.items() if pk in rows}
        leases.mark_stopped()
        for pk, running in self._running.items():
            if pk not in rows:
                running.stop("", state=Session.State.STOPPED)
        for pk, row in rows.items():
            _, next_try = self._failures.get(pk, (0, 0.0))
            if pk in self._running or time.monotonic() < next_try or self._stopping.is_set():
                continue
            lease = leases.take(pk, self.holder)
            if lease is not None:
                log.info("session %s: taken, fence %s", row.name, lease.fence)
                running = RunningSession(row, lease, publisher=self._publisher)
                self._running[pk] = running
                running.start()

    def _reap(self) -> None:
        """Sessions whose thread has ended; one that failed waits longer each time."""
        for pk, running in list(self._running.items()):
            if running.is_alive():
                continue
            del self._running[pk]
            if not running.failed:
                self._failures.pop(pk, None)
                continue
            in_a_row, _ = self._failures.get(pk, (0, 0.0))
            if running.lived > HEALTHY_SECONDS:
                in_a_row = 0
            pause = min(MIN_BACKOFF_SECONDS * 2**in_a_row, MAX_BACKOFF_SECONDS)
            self._failures[pk] = (in_a_row + 1, time.monotonic() + pause)

    def _submit_commands(self) -> None:
        ready = {pk: running for pk, running in self._running.items() if running.takes_commands}
        if not ready:
            return
        waiting = Command.objects.filter(session_id__in=ready, answered_at=None).order_by("id")
        for row in waiting.select_related("created_by"):
            ready[row.session_id].submit(
                steps.Command(row.pk, row.verb, row.args, row.created_by.get_username())
            )

    def _expire_commands(self) -> None:
        """A wish that nobody answered in time is answered here: a late surprise is worse than a refusal."""
        before = timezone.now() - timedelta(seconds=UNANSWERED_SECONDS)
        late = Command.objects.filter(answered_at=None, created_at__lt=before)
        for pk in list(late.values_list("pk", flat=True)):
            answer(pk, ok=False, message="The session did not answer in time; nothing was changed.")

    # ---- the leases' thread ------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        trouble = None
        for running in list(self._running.values()):
            if not running.is_alive():
                continue
            try:
                if not leases.renew(running.lease):
                    running.lose("another worker has taken it")
            except DatabaseError as error:
                trouble = error
                if not running.lease.may_act():
                    running.lose("the database does not answer")
        if trouble is not None:
            raise trouble
