"""One session that this worker runs: its thread, its lease, and what the session's row says of it.

Made by `runner`. Here the parts are put together: the cluster's client, the scheduler, the sink behind them.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import DatabaseError, connection

from schedviz.cluster.client import ClusterClient
from schedviz.scheduler.commands import Pause
from schedviz.scheduler.config import ConfigError
from schedviz.scheduler.framework.node_info import Hold
from schedviz.scheduler.framework.sampling import Sampling
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Scheduler
from schedviz.scheduler.views import Remembered
from schedviz.session import Fenced, RestoredPod
from schedviz.session import Session as Engine
from schedviz.web import configs, leases
from schedviz.web.models import PodState, Session
from schedviz.web.recording import DatabaseSink

if TYPE_CHECKING:
    from schedviz.scheduler.framework import steps
    from schedviz.scheduler.framework.node_info import QueueConfig
    from schedviz.scheduler.framework.runtime import Framework
    from schedviz.session import Batch
    from schedviz.web.leases import HeldLease
    from schedviz.web.publishing import Publisher

log = logging.getLogger(__name__)
State = Session.State


class RunningSession:
    """Runs until `stop`, until its lease is lost, or until it fails. It is the engine's sink."""

    def __init__(self, row: Session, lease: HeldLease, *, publisher: Publisher) -> None:
        self.lease = lease
        self.failed = False
        self._row = row
        self._publisher = publisher
        self._sink = DatabaseSink(lease, session=row, publisher=publisher)
        self._engine: Engine | None = None
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._lost = False
        self._end_state: tuple[str, str] = (State.STARTING, "")
        self._said: tuple[str, str] = ("", "")
        self._submitted = 0
        self._thread = threading.Thread(target=self._run, name=f"session {row.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    @property
    def lived(self) -> float:
        return time.monotonic() - self._began

    def stop(self, message: str, state: str = State.STARTING) -> None:
        """Ends it in good order. `state`, `message`: what the session's row says afterwards."""
        self._end_state = (state, message)
        self._stop.set()

    def lose(self, why: str) -> None:
        """The lease is not ours any more: nothing is written or bound after this."""
        log.warning("session %s: lease %s lost: %s", self._row.name, self.lease.fence, why)
        self._lost = True
        self.lease.deadline = 0.0
        self._stop.set()

    @property
    def takes_commands(self) -> bool:
        return self._engine is not None and self.is_alive() and not self._stop.is_set()

    def submit(self, command: steps.Command) -> None:
        """Hands a command over, each only once; commands come in the order of their ids."""
        if self._engine is not None and command.id > self._submitted:
            self._submitted = command.id
            self._engine.submit(command)

    def commit(self, batch: Batch) -> None:
        """On the engine's writer thread: the record first, then what the row says of the cluster."""
        self._sink.commit(batch)
        cluster = batch.counters.get("cluster", {})
        if cluster.get("connected"):
            self._say(State.RUNNING, "")
        elif cluster.get("failing"):
            was_running = self._said[0] == State.RUNNING
            self._say(State.RUNNING if was_running else State.FAILED, cluster["message"])

    # ---- the session's thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._say(State.STARTING, "Reading the cluster.")
            self._engine = self._build()
            self._engine.run(self._stop)
            if not self._stop.is_set():
                self._fail("it ended by itself")
        except Fenced as fenced:
            self.lose(str(fenced))
        except ConfigError as error:
            self._fail(f"{self._row.config['name']}: {error.summary}")
        except (
            Exception
        ) as error:  # the thread's outermost frame: the log and the page say what it was
            log.exception("session %s failed", self._row.name)
            self._fail(str(error) or type(error).__name__)
        finally:
            self._end()

    def _fail(self, message: str) -> None:
        self.failed = True
        self._end_state = (State.FAILED, message)

    def _build(self) -> Engine:
        row = self._row
        profiles, queue = _configured(row)
        if settings.SAMPLE_NODES:
            sampling = Sampling()
            for profile in profiles.values():
                profile.sampling = sampling
        client = ClusterClient.from_kubeconfig(row.cluster.kubeconfig_path, row.cluster.context)
        scheduler = Scheduler(
            profiles,
            seed=row.seed,
            config=queue,
            first_cycle=row.last_cycle + 1,
            pause=Pause(**pause) if (pause := row.counters.get("pause")) else None,
        )
        pods = PodState.objects.filter(session=row).exclude(lane=Lane.GONE)
        return Engine(
            client=client,
            scheduler=scheduler,
            sink=self,
            restored=[_restored(pod) for pod in pods.iterator()],
            may_act=self.lease.may_act,
        )

    def _end(self) -> None:
        """Says how it ended and gives the lease back; without the database the lease just runs out."""
        try:
            self._sink.close()
            if not self._lost:
                self._say(*self._end_state)
                leases.release(self.lease)
        except DatabaseError as error:
            log.warning("session %s: the database did not answer: %s", self._row.name, error)
        finally:
            connection.close()

    def _say(self, state: str, message: str) -> None:
        if (state, message) == self._said:
            return
        self._said = (state, message)
        now = time.time()
        mine = Session.objects.filter(
            pk=self._row.pk, lease__holder=self.lease.holder, lease__fence=self.lease.fence
        )
        news: dict[str, Any] = {"state": state, "state_message": message}
        if state == State.STARTING:
            news["started_at"] = now
        if mine.update(**news):
            log.info("session %s: %s %s", self._row.name, state, message)
            self._publisher.offer_state(self._row.pk, state, message, now)


def _restored(pod: PodState) -> RestoredPod:
    """A backoff goes on; what a pod in another lane waited for may have come while nobody looked."""
    is_backing_off = pod.lane == Lane.BACKOFF
    kept = Remembered(
        attempts=pod.attempts,
        rank=pod.rank or None,
        moved_by=pod.moved_by,
        hold=None if pod.hold is None else Hold(**pod.hold),
        cycle=pod.cycle,
        retry_at=pod.retry_at if is_backing_off else None,
        plugins=tuple(pod.plugins) if is_backing_off else (),
        message=pod.message if is_backing_off else "",
    )
    return RestoredPod(pod.uid, pod.namespace, pod.name, Lane(pod.lane), kept)


def _configured(row: Session) -> tuple[dict[str, Framework], QueueConfig | None]:
    """The profiles by scheduler name and the queue's times: the configuration's, or the defaults."""
    if not row.config:
        return {name: default_profile(name) for name in row.scheduler_names}, None
    config = configs.checked(row.config["name"], row.config["text"])
    return config.profiles, config.queue
