"""Acts on the cluster: binds, evicts, patches objects, writes conditions and events. All but the last two are answered
with a Reply.

Used by `session` inside its event loop. A Bind whose answer was lost is settled by reading the pod: bound to our node
is success; so is a patch by reading its object. Conditions: only the newest per pod is sent, one at a time, and none
once the pod is being bound (as upstream's API dispatcher has it); saying the same again is left out. Events (`events`)
never hold up anything.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.errors import ClusterError
from schedviz.cluster.events import Events
from schedviz.cluster.extenders import Extenders
from schedviz.kube.kinds import KINDS
from schedviz.scheduler.framework.steps import (
    Bind,
    CallExtenders,
    CreateEvent,
    DeletePod,
    Effect,
    ExtenderAnswer,
    PatchObject,
    PatchPodStatus,
    Reply,
)

BIND_TASKS = 64
DELETE_TASKS = 16
PATCH_TASKS = 8
OBJECT_TASKS = 8
TRIES = 5
FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 5.0
SETTLE_SECONDS = 60.0
MAX_SAID = 20_000
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
POD = KINDS["Pod"]
OVER = "the session's lease is over: nothing was sent"


class Effects:
    """reply: takes the answers; may_act: asked right before what is answered is sent. n_failed: conditions that
    the API server did not take."""

    def __init__(
        self,
        client: ClusterClient,
        *,
        reply: Callable[[Reply], None],
        may_act: Callable[[], bool],
        extenders: Extenders,
    ) -> None:
        self.events = Events(client)
        self.n_failed = 0
        self._client = client
        self._reply = reply
        self._may_act = may_act
        self._extenders = extenders
        self._binds: asyncio.Queue[tuple[int, Bind | CallExtenders]] = asyncio.Queue()
        self._deletes: asyncio.Queue[tuple[int, DeletePod]] = asyncio.Queue()
        self._objects: asyncio.Queue[tuple[int, PatchObject]] = asyncio.Queue()
        self._patches: dict[str, PatchPodStatus] = {}  # by uid, waiting
        self._patch_turns: asyncio.Queue[str] = asyncio.Queue()
        self._patching: dict[str, asyncio.Future[None]] = {}  # by uid, under way
        self._said: OrderedDict[str, PatchPodStatus] = OrderedDict()  # by uid, accepted last

    def submit(self, effects: list[Effect]) -> None:
        for effect in effects:
            action = effect.action
            if isinstance(action, Bind | CallExtenders):
                self._patches.pop(action.pod.uid, None)
                self._said.pop(action.pod.uid, None)
                self._binds.put_nowait((effect.id, action))
            elif isinstance(action, DeletePod):
                self._deletes.put_nowait((effect.id, action))
            elif isinstance(action, PatchObject):
                self._objects.put_nowait((effect.id, action))
            elif isinstance(action, PatchPodStatus):
                self._note_patch(action)
            elif isinstance(action, CreateEvent):
                self.events.submit(action)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.events.run())
            for work, n in (
                (self._bind_all, BIND_TASKS),
                (self._delete_all, DELETE_TASKS),
                (self._patch_objects, OBJECT_TASKS),
                (self._patch_all, PATCH_TASKS),
            ):
                for _ in range(n):
                    tasks.create_task(work())

    # ---- binding ---------------------------------------------------------------------------------------------------

    async def _bind_all(self) -> None:
        while True:
            effect_id, bind = await self._binds.get()
            await self._quiet(bind.pod.uid)
            if isinstance(bind, Bind):
                self._reply(await self._bind(effect_id, bind))
            else:
                self._reply(await self._ask(effect_id, bind))

    async def answer(self, effect: Effect) -> Reply:
        """What a scheduling cycle waits for: extenders' answers."""
        if not isinstance(effect.action, CallExtenders):
            raise TypeError(f"a cycle cannot wait for {type(effect.action).__name__}")
        return await self._ask(effect.id, effect.action)

    async def _ask(self, effect_id: int, asked: CallExtenders) -> Reply:
        """All side by side."""
        if not self._may_act():
            answers = tuple(ExtenderAnswer(error=OVER) for _ in asked.calls)
            return Reply(effect_id, False, 0, OVER, answers)
        told = await asyncio.gather(*(self._extenders.call(one) for one in asked.calls))
        return Reply(effect_id, True, 200, answers=tuple(told))

    async def _bind(self, effect_id: int, bind: Bind) -> Reply:
        pod = bind.pod
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node_name},
        }
        path = POD.path(pod.namespace, pod.name, "binding")
        n_left = TRIES
        while self._may_act():
            n_left -= 1
            try:
                await self._client.request("POST", path, body=body)
                return Reply(effect_id, True, 201)
            except ClusterError as error:
                if n_left and error.retry_after:  # it was not even looked at
                    await asyncio.sleep(min(error.retry_after, LONGEST_WAIT_SECONDS))
                elif error.is_unanswered or error.status == 409:
                    return await self._settle(effect_id, bind, error)
                else:
                    return Reply(effect_id, False, error.status, str(error))
        return Reply(effect_id, False, 0, OVER)

    async def _settle(self, effect_id: int, bind: Bind, refusal: ClusterError) -> Reply:
        """Was it done after all? The pod itself says so."""
        try:
            pod = await self._read(bind)
        except ClusterError as error:
            said = refusal if error.is_unanswered else error
            return Reply(effect_id, False, said.status, str(said))
        if pod["metadata"].get("uid") != bind.pod.uid:
            return Reply(effect_id, False, 404, f"pod {bind.pod.key} was replaced by another one")
        node_name = (pod.get("spec") or {}).get("nodeName") or ""
        if node_name == bind.node_name:
            return Reply(effect_id, True, 200, "the answer was lost; the pod is bound")
        if node_name and refusal.status != 409:
            return Reply(effect_id, False, 409, f"pod {bind.pod.key} is bound to {node_name}")
        return Reply(effect_id, False, refusal.status, str(refusal))

    async def _read(self, bind: Bind) -> Any:
        """The pod as it is; while no answer comes, try again."""
        loop = asyncio.get_running_loop()
        end, wait = loop.time() + SETTLE_SECONDS, FIRST_WAIT_SECONDS
        while True:
            try:
                pod = await self._client.request("GET", POD.path(bind.pod.namespace, bind.pod.name))
                if not isinstance(pod, dict) or not isinstance(pod.get("metadata"), dict):
                    raise ClusterError(f"GET {bind.pod.key}: the answer is not a pod")
                return pod
            except ClusterError as error:
                if not error.is_unanswered or loop.time() > end:
                    raise
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    # ---- evictions -------------------------------------------------------------------------------------------------

    async def _delete_all(self) -> None:
        while True:
            effect_id, delete = await self._deletes.get()
            self._reply(await self._delete(effect_id, delete))

    async def _delete(self, effect_id: int, delete: DeletePod) -> Reply:
        pod = delete.pod
        options = {"preconditions": {"uid": pod.uid}}
        if not self._may_act():
            return Reply(effect_id, False, 0, OVER)
        try:
            if delete.condition is not None:
                await self._send_patch(PatchPodStatus(pod, delete.condition))
            await self._patiently("DELETE", POD.path(pod.namespace, pod.name), options)
        except ClusterError as error:
            # 404: gone already; 409: that name is another pod's by now.
            return Reply(effect_id, error.status in (404, 409), error.status, str(error))
        return Reply(effect_id, True, 200)

    # ---- objects ---------------------------------------------------------------------------------------------------

    async def _patch_objects(self) -> None:
        while True:
            effect_id, patch = await self._objects.get()
            self._reply(await self._patch_object(effect_id, patch))

    async def _patch_object(self, effect_id: int, patch: PatchObject) -> Reply:
        """Once only: a second time, the version is another, and what it says tells whether the first was heard."""
        path = KINDS[patch.kind].path(patch.namespace, patch.name)
        version = {"resourceVersion": patch.resource_version} if patch.resource_version else {}
        body = {**patch.patch, "metadata": {**patch.patch.get("metadata", {}), **version}}
        wait, is_unsure = FIRST_WAIT_SECONDS, False
        for n_left in reversed(range(TRIES)):
            if not self._may_act():
                break
            try:
                await self._client.request("PATCH", path, body=body, content_type=MERGE)
                return Reply(effect_id, True, 200)
            except ClusterError as error:
                if is_unsure and error.status == 409 and await self._is_as_patched(path, patch):
                    return Reply(effect_id, True, 200, "the answer was lost; it was done")
                if not n_left or not (error.is_unanswered or error.status == 429):
                    return Reply(effect_id, False, error.status, str(error))
                is_unsure = is_unsure or error.is_unanswered
                await asyncio.sleep(min(error.retry_after or wait, LONGEST_WAIT_SECONDS))
                wait *= 2
        return Reply(effect_id, False, 0, OVER)

    async def _is_as_patched(self, path: str, patch: PatchObject) -> bool:
        try:
            return _holds(await self._client.request("GET", path), patch.patch)
        except ClusterError:
            return False

    # ---- conditions ------------------------------------------------------------------------------------------------

    def _note_patch(self, patch: PatchPodStatus) -> None:
        uid = patch.pod.uid
        waiting = self._patches.get(uid)
        if waiting is None:
            self._patch_turns.put_nowait(uid)
        else:
            patch = _merged(waiting, patch)
        self._patches[uid] = patch

    async def _patch_all(self) -> None:
        while True:
            uid = await self._patch_turns.get()
            await self._quiet(uid)
            patch = self._patches.pop(uid, None)
            if patch is None or self._is_said(patch):
                continue
            self._patching[uid] = asyncio.get_running_loop().create_future()
            try:
                await self._send_patch(patch)
                self._said[uid] = patch
                if len(self._said) > MAX_SAID:
                    self._said.popitem(last=False)
            except ClusterError:
                self.n_failed += 1
            finally:
                self._patching.pop(uid).set_result(None)

    async def _quiet(self, uid: str) -> None:
        """Returns when no condition of this pod is under way."""
        while (under_way := self._patching.get(uid)) is not None:
            await asyncio.shield(under_way)

    def _is_said(self, patch: PatchPodStatus) -> bool:
        said = self._said.get(patch.pod.uid)
        return said is not None and (_words(said), said.nominated_node_name) == (
            _words(patch),
            patch.nominated_node_name,
        )

    async def _send_patch(self, patch: PatchPodStatus) -> None:
        status: dict[str, Any] = {}
        if patch.condition is not None:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            condition = {"lastTransitionTime": now, **patch.condition}
            said = self._said.get(patch.pod.uid)
            if said is not None and said.condition is not None and _agree(said, patch):
                del condition["lastTransitionTime"]  # no transition: the old time stays
            status["conditions"] = [condition]
        if patch.nominated_node_name is not None:
            status["nominatedNodeName"] = patch.nominated_node_name or None
        path = POD.path(patch.pod.namespace, patch.pod.name, "status")
        await self._patiently("PATCH", path, {"metadata": {"uid": patch.pod.uid}, "status": status})

    async def _patiently(self, method: str, path: str, body: dict[str, Any]) -> None:
        """Again and again, for what may be done twice."""
        form = STRATEGIC if method == "PATCH" else "application/json"
        wait = FIRST_WAIT_SECONDS
        for n_left in reversed(range(TRIES)):
            try:
                await self._client.request(method, path, body=body, content_type=form)
                return
            except ClusterError as error:
                if not n_left or not (error.is_unanswered or error.status == 429):
                    raise
                await asyncio.sleep(min(error.retry_after or wait, LONGEST_WAIT_SECONDS))
                wait *= 2


def _holds(one: Any, patch: Any) -> bool:
    """Whether all that the patch says is so."""
    if not isinstance(patch, dict):
        return bool(one == patch)
    return isinstance(one, dict) and all(_holds(one.get(k), v) for k, v in patch.items())


def _merged(old: PatchPodStatus, new: PatchPodStatus) -> PatchPodStatus:
    """What the new one leaves open is as the old one said."""
    nominated = new.nominated_node_name
    return replace(
        new,
        condition=old.condition if new.condition is None else new.condition,
        nominated_node_name=old.nominated_node_name if nominated is None else nominated,
    )


def _words(patch: PatchPodStatus) -> dict[str, Any]:
    """The condition without its time."""
    condition = patch.condition or {}
    return {name: word for name, word in condition.items() if name != "lastTransitionTime"}


def _agree(old: PatchPodStatus, new: PatchPodStatus) -> bool:
    """Whether both conditions have the same status, so that nothing turned."""
    before, after = old.condition or {}, new.condition or {}
    return all(before.get(field) == after.get(field) for field in ("type", "status"))
