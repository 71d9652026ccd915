"""Effects against a server that loses answers and refuses: a pod is bound once, and what was said of it is true."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from schedviz.cluster.client import ClusterClient
from schedviz.cluster.effects import Effects
from schedviz.cluster.extenders import Extenders
from schedviz.scheduler.framework.steps import (
    Bind,
    CreateEvent,
    DeletePod,
    Effect,
    PatchObject,
    PatchPodStatus,
    PodRef,
    Reply,
)
from tests.cluster.faulty import Fault, FaultyServer, hang_up, refuse

PODS = "/api/v1/namespaces/default/pods"
CONDITION = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class Acting:
    def __init__(self, client: ClusterClient, server: FaultyServer) -> None:
        self.server = server
        self.replies: dict[int, Reply] = {}
        self.may_act: Callable[[], bool] = lambda: True
        self.effects = Effects(
            client, reply=self.take, may_act=lambda: self.may_act(), extenders=Extenders()
        )

    def take(self, reply: Reply) -> None:
        assert reply.effect_id not in self.replies
        self.replies[reply.effect_id] = reply
        self.server.bell.ring()

    def pod(self, name: str = "p") -> PodRef:
        meta = self.server.put(f"{PODS}/{name}")["metadata"]
        return PodRef("default", name, meta["uid"], meta["resourceVersion"])

    def submit(self, *actions: Any) -> None:
        self.effects.submit([Effect(n, 1, action) for n, action in enumerate(actions, start=1)])

    async def reply(self, *actions: Any) -> Reply:
        """To the first."""
        self.submit(*actions)
        await self.server.bell.until(lambda: 1 in self.replies)
        return self.replies[1]


@pytest.fixture
async def acting(client: ClusterClient, server: FaultyServer) -> AsyncIterator[Acting]:
    made = Acting(client, server)
    task = asyncio.create_task(made.effects.run())
    yield made
    assert not task.done()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def node_of(server: FaultyServer, name: str = "p") -> str:
    return str(server.objects[f"{PODS}/{name}"]["spec"].get("nodeName", ""))


async def test_binds_by_uid(acting: Acting, server: FaultyServer) -> None:
    pod = acting.pod()
    assert (await acting.reply(Bind(pod, "n1"))).ok
    _, _, _, body = server.seen("POST", "/binding")[0]
    assert body["metadata"] == {"name": "p", "namespace": "default", "uid": pod.uid}
    assert node_of(server) == "n1"


async def test_a_lost_answer_is_settled_by_reading_the_pod(
    acting: Acting, server: FaultyServer
) -> None:
    pod = acting.pod()
    server.lose_answers(1)
    reply = await acting.reply(Bind(pod, "n1"))
    assert reply.ok
    assert len(server.seen("POST", "/binding")) == 1
    assert node_of(server) == "n1"


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        pytest.param(hang_up, 0, id="no answer, and it was not done"),
        pytest.param(refuse(500, "Internal"), 500, id="the server failed before it was done"),
        pytest.param(refuse(403, "Forbidden"), 403, id="not allowed"),
        pytest.param(refuse(404, "NotFound"), 404, id="the pod is gone"),
    ],
)
async def test_a_bind_that_was_not_done_fails(
    acting: Acting, server: FaultyServer, fault: Fault, status: int
) -> None:
    pod = acting.pod()
    server.faults.append(fault)
    reply = await acting.reply(Bind(pod, "n1"))
    assert (reply.ok, reply.status_code) == (False, status)
    assert node_of(server) == ""


async def test_bound_by_another_is_a_failure(acting: Acting, server: FaultyServer) -> None:
    pod = acting.pod()
    server.put(f"{PODS}/p", spec={"nodeName": "n2", "containers": []})
    reply = await acting.reply(Bind(pod, "n1"))
    assert (reply.ok, reply.status_code) == (False, 409)
    assert node_of(server) == "n2"


async def test_a_pod_of_the_same_name_is_not_bound(acting: Acting, server: FaultyServer) -> None:
    pod = acting.pod()
    server.delete(f"{PODS}/p")
    acting.pod()
    assert not (await acting.reply(Bind(pod, "n1"))).ok
    assert node_of(server) == ""


async def test_nothing_is_sent_without_the_lease(acting: Acting, server: FaultyServer) -> None:
    acting.may_act = lambda: False
    pod = acting.pod()
    assert not (await acting.reply(Bind(pod, "n1"))).ok
    acting.replies.clear()
    assert not (await acting.reply(DeletePod(pod))).ok
    assert server.requests == []


async def test_two_hundred_pods_are_bound_once(acting: Acting, server: FaultyServer) -> None:
    pods = [acting.pod(f"p{n}") for n in range(200)]
    server.lose_answers(20)
    acting.submit(*[Bind(pod, f"n{n}") for n, pod in enumerate(pods)])
    await server.bell.until(lambda: len(acting.replies) == 200, 30)
    assert all(reply.ok for reply in acting.replies.values())
    assert [node_of(server, f"p{n}") for n in range(200)] == [f"n{n}" for n in range(200)]
    assert len(server.seen("POST", "/binding")) == 200


async def test_a_condition_is_tried_again_and_not_repeated(
    acting: Acting, server: FaultyServer
) -> None:
    pod = acting.pod()
    server.faults.extend([refuse(500), refuse(429)])
    acting.submit(PatchPodStatus(pod, CONDITION))
    await server.bell.until(lambda: len(server.seen("PATCH")) == 3)
    acting.submit(PatchPodStatus(pod, CONDITION), PatchPodStatus(pod, nominated_node_name="n1"))
    await server.bell.until(lambda: len(server.seen("PATCH")) == 4)
    body = server.seen("PATCH")[2][3]
    assert body["metadata"]["uid"] == pod.uid
    said = body["status"]["conditions"][0]
    assert CONDITION.items() <= said.items()
    assert said["lastTransitionTime"].endswith("Z")
    assert server.seen("PATCH")[3][3]["status"]["nominatedNodeName"] == "n1"
    assert acting.effects.n_failed == 0


async def test_a_condition_of_a_pod_being_bound_is_left_out(
    acting: Acting, server: FaultyServer
) -> None:
    pod = acting.pod()
    acting.submit(PatchPodStatus(pod, CONDITION), Bind(pod, "n1"))
    await server.bell.until(lambda: 2 in acting.replies)
    assert server.seen("PATCH") == []


async def test_an_event_that_fails_holds_up_nothing(acting: Acting, server: FaultyServer) -> None:
    pod = acting.pod()
    event = CreateEvent(pod, "Warning", "FailedScheduling", "Scheduling", "no", "default-scheduler")
    server.faults.append(refuse(403, "Forbidden"))
    acting.submit(event)
    await server.bell.until(lambda: len(server.requests) == 1)
    assert (await acting.reply(Bind(pod, "n1"))).ok
    body = server.seen("POST", "/events")[0][3]
    assert body["regarding"]["uid"] == pod.uid
    assert (body["type"], body["reason"], body["note"]) == ("Warning", "FailedScheduling", "no")
    assert acting.effects.events.n_failed == 1


async def test_an_eviction_says_why_first(acting: Acting, server: FaultyServer) -> None:
    pod = acting.pod()
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    assert (await acting.reply(DeletePod(pod, condition))).ok
    assert [one[0] for one in server.requests] == ["PATCH", "DELETE"]
    assert server.requests[1][3]["preconditions"] == {"uid": pod.uid}
    assert server.objects == {}


NODE = "/api/v1/nodes/n1"
MARK = {"metadata": {"annotations": {"a": "b"}}}


def marking(server: FaultyServer, version: str | None = None) -> PatchObject:
    made = server.put(NODE)["metadata"]["resourceVersion"]
    return PatchObject("Node", "", "n1", version or made, MARK)


def marks(server: FaultyServer) -> dict[str, str]:
    return dict(server.objects[NODE]["metadata"].get("annotations") or {})


async def test_an_object_is_patched_if_it_has_not_changed(
    acting: Acting, server: FaultyServer
) -> None:
    assert (await acting.reply(marking(server))).ok
    assert marks(server) == {"a": "b"}
    acting.replies.clear()
    reply = await acting.reply(marking(server, version="1"))
    assert (reply.ok, reply.status_code) == (False, 409)


async def test_a_patch_whose_answer_was_lost_is_done(acting: Acting, server: FaultyServer) -> None:
    patch = marking(server)
    server.lose_answers(1)
    assert (await acting.reply(patch)).ok
    assert marks(server) == {"a": "b"}
    assert len(server.seen("PATCH")) == 2


async def test_a_patch_that_another_overtook_is_not_done(
    acting: Acting, server: FaultyServer
) -> None:
    patch = marking(server)
    server.put(NODE, spec={})
    server.faults.append(hang_up)
    reply = await acting.reply(patch)
    assert (reply.ok, reply.status_code) == (False, 409)
    assert marks(server) == {}


@pytest.mark.parametrize(
    ("fault", "is_ok"),
    [
        pytest.param(refuse(429, "TooMany", Retry_After="0"), True, id="too many: tried again"),
        pytest.param(refuse(500, "Internal"), True, id="the server failed: tried again"),
        pytest.param(refuse(403, "Forbidden"), False, id="not allowed"),
    ],
)
async def test_a_patch_that_is_refused(
    acting: Acting, server: FaultyServer, fault: Fault, is_ok: bool
) -> None:
    patch = marking(server)
    server.faults.append(fault)
    assert (await acting.reply(patch)).ok == is_ok


async def test_no_object_is_patched_without_the_lease(acting: Acting, server: FaultyServer) -> None:
    acting.may_act = lambda: False
    assert not (await acting.reply(marking(server))).ok
    assert server.requests == []
