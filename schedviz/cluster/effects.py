"""Acts on the cluster: binds, writes conditions, events and evictions; each Bind is answered with a Reply.

Used by `session` inside its event loop. Binds go ahead of everything else. A Bind whose answer was lost is settled by
reading the pod: bound to our node is success. Events are best effort, as in client-go: late ones are dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from schedviz.cluster.client import ClusterClient, ClusterError
from schedviz.kube.kinds import KINDS
from schedviz.scheduler.framework.steps import (
    Bind,
    CreateEvent,
    DeletePod,
    Effect,
    PatchPodStatus,
    PodRef,
    Reply,
)

BIND_TASKS = 32
OTHER_TASKS = 8
MAX_WAITING_OTHERS = 20_000
SETTLE_SECONDS = 60.0
STRATEGIC = "application/strategic-merge-patch+json"
POD, EVENT = KINDS["Pod"], KINDS["Event"]


class Effects:
    """reply: takes the answers; may_act: asked right before every Bind. `n_failed` counts others that went wrong."""

    def __init__(
        self, client: ClusterClient, *, reply: Callable[[Reply], None], may_act: Callable[[], bool]
    ) -> None:
        self._client = client
        self._reply = reply
        self._may_act = may_act
        self._binds: asyncio.Queue[Effect] = asyncio.Queue()
        self._others: deque[Effect] = deque(maxlen=MAX_WAITING_OTHERS)
        self._awake = asyncio.Semaphore(0)
        self._numbers = 0
        self.n_failed = 0

    def submit(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect.action, Bind):
                self._binds.put_nowait(effect)
            else:
                self._others.append(effect)
                self._awake.release()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(BIND_TASKS):
                tasks.create_task(self._bind_all())
            for _ in range(OTHER_TASKS):
                tasks.create_task(self._do_others())

    async def _bind_all(self) -> None:
        while True:
            effect = await self._binds.get()
            if isinstance(effect.action, Bind):
                self._reply(await self._bind(effect.id, effect.action))

    async def _do_others(self) -> None:
        while True:
            await self._awake.acquire()
            if not self._others:
                continue
            effect = self._others.popleft()
            try:
                await self._do(effect.action)
            except ClusterError:
                self.n_failed += 1

    async def _bind(self, effect_id: int, bind: Bind) -> Reply:
        if not self._may_act():
            return Reply(effect_id, False, 0, "the session's lease is over: nothing was sent")
        pod = bind.pod
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node_name},
        }
        try:
            await self._client.request(
                "POST", POD.path(pod.namespace, pod.name, "binding"), body=body
            )
        except ClusterError as error:
            if error.status:
                return Reply(effect_id, False, error.status, str(error))
            return await self._settle(effect_id, bind, why=str(error))
        return Reply(effect_id, True, 201)

    async def _settle(self, effect_id: int, bind: Bind, *, why: str) -> Reply:
        """No answer came: the pod itself says whether the Bind was done."""
        loop = asyncio.get_running_loop()
        end = loop.time() + SETTLE_SECONDS
        wait = 0.1
        while True:
            try:
                pod = await self._client.request("GET", POD.path(bind.pod.namespace, bind.pod.name))
                break
            except ClusterError as error:
                if error.status:
                    return Reply(effect_id, False, error.status, str(error))
                if loop.time() > end:
                    return Reply(effect_id, False, 0, why)
            await asyncio.sleep(wait)
            wait = min(wait * 2, 2.0)
        if pod["metadata"]["uid"] != bind.pod.uid:
            return Reply(effect_id, False, 404, f"pod {bind.pod.key} was replaced")
        node_name = (pod.get("spec") or {}).get("nodeName") or ""
        if node_name == bind.node_name:
            return Reply(effect_id, True, 200, "the answer was lost; the pod is bound")
        return Reply(
            effect_id, False, 409 if node_name else 0, f"bound to {node_name}" if node_name else why
        )

    async def _do(self, action: Any) -> None:
        if isinstance(action, PatchPodStatus):
            await self._patch_status(action)
        elif isinstance(action, CreateEvent):
            path = EVENT.path(action.pod.namespace)
            await self._client.request("POST", path, body=self._event(action))
        elif isinstance(action, DeletePod):
            await self._delete(action)

    async def _patch_status(self, action: PatchPodStatus) -> None:
        status: dict[str, Any] = {}
        if action.condition is not None:
            status["conditions"] = [
                {**action.condition, "lastTransitionTime": _now("%Y-%m-%dT%H:%M:%SZ")}
            ]
        if action.nominated_node_name is not None:
            status["nominatedNodeName"] = action.nominated_node_name or None
        path = POD.path(action.pod.namespace, action.pod.name, "status")
        body = {"metadata": {"uid": action.pod.uid}, "status": status}
        await self._client.request("PATCH", path, body=body, content_type=STRATEGIC)

    async def _delete(self, action: DeletePod) -> None:
        if action.condition is not None:
            await self._patch_status(PatchPodStatus(action.pod, action.condition))
        options = {"preconditions": {"uid": action.pod.uid}}
        await self._client.request(
            "DELETE", POD.path(action.pod.namespace, action.pod.name), body=options
        )

    def _event(self, action: CreateEvent) -> dict[str, Any]:
        self._numbers += 1
        stamp = int(datetime.now(UTC).timestamp() * 1e6)
        return {
            "apiVersion": EVENT.api_version,
            "kind": "Event",
            "metadata": {
                "name": f"{action.pod.name[:200]}.{stamp:x}{self._numbers:x}",
                "namespace": action.pod.namespace,
            },
            "eventTime": _now("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": action.reporting_controller,
            "reportingInstance": f"{action.reporting_controller}-schedviz",
            "type": action.type,
            "reason": action.reason,
            "action": action.action,
            "note": action.note,
            "regarding": _regarding(action.pod),
        }


def _regarding(pod: PodRef) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "resourceVersion": pod.resource_version,
    }


def _now(form: str) -> str:
    return datetime.now(UTC).strftime(form)
