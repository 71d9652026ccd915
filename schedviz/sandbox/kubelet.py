"""Plays the kubelets and the garbage collectors: bound pods run, deleted ones go, finished ones are cleared away.

One for each sandbox, started by `server`. How long a pod runs is in its `annotations`. Finished pods are removed a
while later, as a job's ttl would; pods whose node has gone follow it, as the pod garbage collector would have it;
Events go when they are an hour old.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
import uuid
from typing import Any

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import patches, resources
from schedviz.sandbox.annotations import END_EVERY_SECONDS, RUN_SECONDS, age, seconds_of
from schedviz.sandbox.defaults import condition, timestamp
from schedviz.sandbox.resources import Target
from schedviz.sandbox.storage import Event, Object, Storage

START_SECONDS = 0.7
GRACE_SECONDS = 1.0
KEPT_SECONDS = 20.0
ORPHAN_SECONDS = 40.0
EVENT_SECONDS = 3600.0


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
        for event in self._storage.values("Event"):
            self._owe(EVENT_SECONDS - age(event["metadata"]), "forget", event)
        self._task = asyncio.create_task(self._run(), name=f"kubelet {self._storage.name}")

    async def stop(self) -> None:
        self._stop_listening()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _heard(self, event: Event | None) -> None:
        if event is None:
            return
        if event.kind == "Pod" and event.type != "DELETED":
            self._look_at(event.object)
        elif event.kind == "Event" and event.type == "ADDED":
            self._owe(EVENT_SECONDS, "forget", event.object)
        elif event.kind == "Node" and event.type != "MODIFIED":
            for pod in self._storage.values("Pod"):
                if (pod.get("spec") or {}).get("nodeName") == event.object["metadata"]["name"]:
                    self._look_at(pod)

    def _look_at(self, pod: Object) -> None:
        """What this pod will need next."""
        meta, status = pod["metadata"], pod.get("status") or {}
        phase, node = status.get("phase"), (pod.get("spec") or {}).get("nodeName")
        if meta.get("deletionTimestamp"):
            grace = float(meta.get("deletionGracePeriodSeconds") or 0)
            self._owe(min(GRACE_SECONDS, grace), "remove", pod)
        elif phase in ("Succeeded", "Failed"):
            self._owe(KEPT_SECONDS, "remove", pod)
        elif node and self._storage.get("Node", node) is None:
            self._owe(ORPHAN_SECONDS, "orphan", pod)
        elif phase == "Pending" and node:
            self._owe(START_SECONDS, "run", pod)
        elif phase == "Running" and (left := seconds_left(pod)) is not None:
            self._owe(left, "succeed", pod)

    def _owe(self, seconds: float, what: str, one: Object) -> None:
        meta = one["metadata"]
        at = asyncio.get_running_loop().time() + max(0.0, seconds)
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
        kind = "Event" if what == "forget" else "Pod"
        one = self._storage.get(kind, key)
        if one is None or one["metadata"]["uid"] != uid:
            return
        if what == "forget":
            self._storage.remove(kind, key)
        else:
            self._play_pod(what, key, one)

    def _play_pod(self, what: str, key: str, pod: Object) -> None:
        phase = (pod.get("status") or {}).get("phase")
        deleting = bool(pod["metadata"].get("deletionTimestamp"))
        is_alone = self._storage.get("Node", pod["spec"].get("nodeName") or "") is None
        if (what == "remove" and (deleting or phase in ("Succeeded", "Failed"))) or (
            what == "orphan" and is_alone
        ):
            target = Target(KINDS["Pod"], pod["metadata"]["namespace"], pod["metadata"]["name"])
            resources.finish_delete(self._storage, target)
        elif deleting or is_alone:
            return
        elif what == "run" and phase == "Pending":
            self._set_status(key, pod, _running(pod))
        elif what == "succeed" and phase == "Running":
            self._set_status(key, pod, _succeeded(pod))

    def _set_status(self, key: str, pod: Object, change: dict[str, Any]) -> None:
        status = patches.strategic_merge(pod.get("status") or {}, change)
        self._storage.put("Pod", key, {**pod, "metadata": dict(pod["metadata"]), "status": status})


def seconds_left(pod: Object) -> float | None:
    """Seconds that the pod has yet to run; None: until it is deleted."""
    run = seconds_of(pod, RUN_SECONDS)
    if run is None:
        return None
    left = max(0.0, run - age(pod["status"], "startTime"))
    every = seconds_of(pod, END_EVERY_SECONDS)
    return left + -(time.time() + left) % every if every else left


def _running(pod: Object) -> dict[str, Any]:
    now = timestamp()
    number = uuid.UUID(pod["metadata"]["uid"]).int
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    names = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [condition(name, "True") for name in names],
        "containerStatuses": [
            {
                "name": one.get("name", ""),
                "image": one.get("image", ""),
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for one in pod["spec"].get("containers") or ()
        ],
    }


def _succeeded(pod: Object) -> dict[str, Any]:
    status = pod["status"]
    ended = {"exitCode": 0, "reason": "Completed", "finishedAt": timestamp()}
    ended["startedAt"] = status.get("startTime") or timestamp()
    return {
        "phase": "Succeeded",
        "conditions": [
            condition(name, "False", reason="PodCompleted") for name in ("ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {**one, "ready": False, "started": False, "state": {"terminated": ended}}
            for one in status.get("containerStatuses") or ()
        ],
    }
