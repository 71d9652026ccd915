"""A session's side to the cluster: all informers and effects in one event loop, in a thread of their own.

Used by `session`. Changes and Replies go to `receive`; Signal.SYNCED follows when every first list has been received.
Nodes are listed before pods, so that the first pods meet the nodes they are on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import enum
import threading
from collections.abc import Callable, Iterable
from typing import Any

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.effects import Effects
from schedviz.cluster.extenders import Extenders
from schedviz.cluster.reflector import Reflector
from schedviz.kube.kinds import WATCHED
from schedviz.scheduler.framework.steps import Change, Effect, Reply

STOP_SECONDS = 5.0
ASK_SECONDS = 0.1
SENT_KINDS = ("Node", "Pod")
"""What extenders are sent."""


class Signal(enum.Enum):
    """What the inbox carries besides the three words. WAKE: look up, something outside of the inbox has changed."""

    SYNCED = enum.auto()
    WAKE = enum.auto()


class Connection:
    """receive, may_act, failed are called on the connection's thread. keeps_wire: pods and nodes keep their JSON."""

    def __init__(
        self,
        client: ClusterClient,
        *,
        receive: Callable[[Iterable[Change | Reply | Signal]], None],
        may_act: Callable[[], bool],
        failed: Callable[[BaseException], None],
        keeps_wire: bool = False,
    ) -> None:
        self._client = client
        self._keeps_wire = keeps_wire
        self._receive = receive
        self._may_act = may_act
        self._failed = failed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._effects: Effects | None = None
        self._reflectors: list[Reflector] = []
        self._ready = threading.Event()
        name = f"{threading.current_thread().name} io"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """At once: what is under way is cut off."""
        if not self._thread.is_alive():
            return
        self._ready.wait(STOP_SECONDS)
        if self._loop is not None and self._main is not None:
            self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(STOP_SECONDS)

    def submit(self, effects: list[Effect]) -> None:
        """From any thread, for effects of a durable batch; before the client is ready nothing can have an effect."""
        loop, accepted = self._loop, self._effects
        if effects and loop is not None and accepted is not None and not loop.is_closed():
            loop.call_soon_threadsafe(accepted.submit, effects)

    def ask(self, effect: Effect, *, until: Callable[[], bool]) -> Reply | None:
        """Carry it out now and wait for the Reply; None when `until` says that it is not needed any more."""
        loop, accepted = self._loop, self._effects
        if loop is None or accepted is None or loop.is_closed():
            return None
        answer = asyncio.run_coroutine_threadsafe(accepted.answer(effect), loop)
        while not until():
            try:
                return answer.result(ASK_SECONDS)
            except TimeoutError:
                continue
            except (concurrent.futures.CancelledError, RuntimeError):
                return None
        answer.cancel()
        return None

    @property
    def error(self) -> str:
        """Why the cluster can't be heard now; "" while all is well."""
        return next((one.state.error for one in self._reflectors if one.state.error), "")

    def counts(self) -> dict[str, int]:
        """What was not accepted, or came too late to be sent."""
        if self._effects is None:
            return {}
        events = self._effects.events
        failed = {"conditions_failed": self._effects.n_failed, "events_failed": events.n_failed}
        return failed | {"events_dropped": events.n_dropped}

    # ---- the connection's thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except asyncio.CancelledError:
            return
        except BaseException as error:
            self._failed(_first(error))
        finally:
            self._ready.set()

    async def _live(self) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        self._ready.set()
        async with self._client as client, Extenders() as extenders:
            self._effects = Effects(
                client,
                reply=lambda reply: self._receive([reply]),
                may_act=self._may_act,
                extenders=extenders,
            )
            reflectors = {
                kind.kind: Reflector(
                    client,
                    kind,
                    emit=self._receive,
                    keeps_wire=self._keeps_wire and kind.kind in SENT_KINDS,
                )
                for kind in WATCHED
            }
            self._reflectors = list(reflectors.values())
            pods, nodes = reflectors["Pod"], reflectors["Node"]
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._effects.run())
                tasks.create_task(self._announce())
                tasks.create_task(_after(nodes, pods))
                for reflector in self._reflectors:
                    if reflector is not pods:
                        tasks.create_task(reflector.run())

    async def _announce(self) -> None:
        for reflector in self._reflectors:
            await reflector.synced.wait()
        self._receive([Signal.SYNCED])


async def _after(first: Reflector, second: Reflector) -> None:
    await first.synced.wait()
    await second.run()


def _first(error: BaseException) -> BaseException:
    """What went wrong, without the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def says(connection: Connection, *, is_synced: bool) -> dict[str, Any]:
    """What the board says of the connection."""
    error = connection.error
    return {
        "connected": is_synced and not error,
        "failing": bool(error),
        "message": error or ("" if is_synced else "Reading the cluster."),
    }
