"""Plays the kubelets and the garbage collector: bound pods run, deleted ones go, finished ones are cleared away.

One for each sandbox, started by `server`. Annotation `sandbox.schedviz.io/run-seconds`: a pod succeeds after so long;
without it pods run until they are deleted. Finished pods are removed a while later, as a job's ttl would.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import Any

from schedviz.sandbox import patches
from schedviz.sandbox.resources import timestamp
from schedviz.sandbox.storage import Event, Object, Storage

START_SECONDS = 0.7
GRACE_SECONDS = 1.0
KEPT_SECONDS = 20.0
RUN_SECONDS = "sandbox.schedviz.io/run-seconds"


class Kubelet:
    """Runs in the server's loop. What it owes is derived from the objects, so a restart resumes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._due: list[tuple[float, int, str, str, str]] = []
        self._numbers = itertools.count()
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stop_listening = storage.listen(self._heard)

    def start(self) -> None:
        for pod in self._storage.values("Pod"):
            self._look_at(pod)
        self._task = asyncio.create_task(self._run(), name=f"kubelet {self._storage.name}")

    async def stop(self) -> None:
        self._stop_listening()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _heard(self, event: Event) -> None:
        if event.kind == "Pod" and event.type != "DELETED":
            self._look_at(event.object)

    def _look_at(self, pod: Object) -> None:
        """What this pod will need next."""
        meta, phase = pod["metadata"], (pod.get("status") or {}).get("phase")
        if meta.get("deletionTimestamp"):
            self._owe(
                min(GRACE_SECONDS, float(meta.get("deletionGracePeriodSeconds") or 0)),
                "remove",
                pod,
            )
        elif phase in ("Succeeded", "Failed"):
            self._owe(KEPT_SECONDS, "remove", pod)
        elif phase == "Pending" and (pod.get("spec") or {}).get("nodeName"):
            self._owe(START_SECONDS, "run", pod)
        elif phase == "Running" and (seconds := _run_seconds(pod)) is not None:
            self._owe(seconds, "succeed", pod)

    def _owe(self, seconds: float, what: str, pod: Object) -> None:
        meta = pod["metadata"]
        at = asyncio.get_running_loop().time() + seconds
        entry = (at, next(self._numbers), what, f"{meta['namespace']}/{meta['name']}", meta["uid"])
        heapq.heappush(self._due, entry)
        self._awake.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while self._due and self._due[0][0] <= loop.time():
                _, _, what, key, uid = heapq.heappop(self._due)
                self._play(what, key, uid)
            self._awake.clear()
            wait = self._due[0][0] - loop.time() if self._due else None
            try:
                await asyncio.wait_for(self._awake.wait(), wait)
            except TimeoutError:
                continue

    def _play(self, what: str, key: str, uid: str) -> None:
        pod = self._storage.get("Pod", key)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        phase = (pod.get("status") or {}).get("phase")
        deleting = bool(pod["metadata"].get("deletionTimestamp"))
        if what == "remove" and (deleting or phase in ("Succeeded", "Failed")):
            self._storage.remove("Pod", key)
        elif what == "run" and phase == "Pending" and not deleting:
            node = self._storage.get("Node", pod["spec"]["nodeName"])
            if node is not None:
                self._set_status(key, pod, _running(pod))
        elif what == "succeed" and phase == "Running" and not deleting:
            self._set_status(key, pod, _succeeded())

    def _set_status(self, key: str, pod: Object, change: dict[str, Any]) -> None:
        status = patches.strategic_merge(pod.get("status") or {}, change)
        self._storage.put("Pod", key, {**pod, "metadata": dict(pod["metadata"]), "status": status})


def _run_seconds(pod: Object) -> float | None:
    text = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None


def _conditions(ready: str, reason: str | None = None) -> list[dict[str, Any]]:
    now = timestamp()
    extra = {"reason": reason} if reason else {}
    ready_ones = [
        {"type": name, "status": ready, "lastProbeTime": None, "lastTransitionTime": now, **extra}
        for name in ("Ready", "ContainersReady")
    ]
    return [
        {"type": "Initialized", "status": "True", "lastProbeTime": None, "lastTransitionTime": now},
        *ready_ones,
    ]


def _running(pod: Object) -> dict[str, Any]:
    now = timestamp()
    number = (
        int(pod["metadata"]["uid"].replace("-", "")[:6], 16) if "-" in pod["metadata"]["uid"] else 1
    )
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    containers = [c for c in pod["spec"].get("containers") or () if isinstance(c, dict)]
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions("True"),
        "containerStatuses": [
            {
                "name": c.get("name", ""),
                "image": c.get("image", ""),
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for c in containers
        ],
    }


def _succeeded() -> dict[str, Any]:
    return {"phase": "Succeeded", "conditions": _conditions("False", "PodCompleted")}
