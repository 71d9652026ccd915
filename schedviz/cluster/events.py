"""Events about pods, best effort: the same thing said again is counted in a series instead of written again.

Used by `effects`. Mirrors client-go's tools/events/event_broadcaster.go (v1.36): what recurs is patched at its first
recurrence and then every six minutes. Late events are dropped, oldest first; nothing waits for any of them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.kube.kinds import KINDS
from schedviz.scheduler.framework.steps import CreateEvent, PodRef

TASKS = 4
MAX_WAITING = 5_000
MAX_SERIES = 5_000
SERIES_SECONDS = 360.0
MERGE = "application/merge-patch+json"
EVENT = KINDS["Event"]


@dataclass(slots=True)
class _Series:
    """An event that was written, and how often it was seen since."""

    event: CreateEvent
    name: str
    count: int = 1
    seen_at: float = 0.0
    written_at: float = 0.0


class Events:
    """n_failed: not accepted by the API server; n_dropped: too late."""

    def __init__(self, client: ClusterClient) -> None:
        self.n_failed = 0
        self.n_dropped = 0
        self._client = client
        self._known: OrderedDict[tuple[Any, ...], _Series] = OrderedDict()
        self._waiting: deque[_Series] = deque()
        self._awake = asyncio.Event()
        self._last_stamp = 0

    def submit(self, event: CreateEvent) -> None:
        now = time.monotonic()
        key = (event.pod, event.type, event.reason, event.action, event.reporting_controller)
        series = self._known.get(key)
        if series is None or now - series.seen_at > SERIES_SECONDS:
            series = self._known[key] = _Series(event, self._name(event.pod), written_at=now)
        else:
            series.count += 1
        series.seen_at = now
        self._known.move_to_end(key)
        if len(self._known) > MAX_SERIES:
            self._known.popitem(last=False)
        if series.count <= 2 or now - series.written_at > SERIES_SECONDS:
            series.written_at = now
            self._wait(series)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(TASKS):
                tasks.create_task(self._write_all())

    def _wait(self, series: _Series) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self.n_dropped += 1
        self._waiting.append(series)
        self._awake.set()

    async def _write_all(self) -> None:
        while True:
            while not self._waiting:
                self._awake.clear()
                await self._awake.wait()
            series = self._waiting.popleft()
            try:
                await self._write(series)
            except ClusterError:
                self.n_failed += 1

    async def _write(self, series: _Series) -> None:
        path = EVENT.path(series.event.pod.namespace)
        if series.count > 1:
            body = {"series": {"count": series.count, "lastObservedTime": micro_time()}}
            try:
                await self._client.request(
                    "PATCH", f"{path}/{series.name}", body=body, content_type=MERGE
                )
                return
            except ClusterError as error:
                if error.status != 404:  # else: its beginning was dropped, or is too old
                    raise
        await self._client.request("POST", path, body=_body(series))

    def _name(self, pod: PodRef) -> str:
        """As client-go names them: the pod's name and the time, here never the same time twice."""
        self._last_stamp = max(time.time_ns(), self._last_stamp + 1)
        return f"{pod.name[:230]}.{self._last_stamp:x}"


def micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _body(series: _Series) -> dict[str, Any]:
    event, pod = series.event, series.event.pod
    return {
        "apiVersion": EVENT.api_version,
        "kind": "Event",
        "metadata": {"name": series.name, "namespace": pod.namespace},
        "eventTime": micro_time(),
        "reportingController": event.reporting_controller,
        "reportingInstance": f"{event.reporting_controller}-schedviz"[:128],
        "type": event.type,
        "reason": event.reason,
        "action": event.action,
        "note": event.note,
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
            "resourceVersion": pod.resource_version,
        },
    }
