"""A pod with a node waits for what PreBind asks of the world, and nothing of it is left behind when that fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedviz.kube import volumes
from schedviz.kube.objects import KubeObject
from schedviz.scheduler.framework import SUCCESS, Error, Plugin, PreBindResult
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.steps import (
    Bind,
    Change,
    CreateEvent,
    CycleRecord,
    Effect,
    Lane,
    Move,
    Outcome,
    PatchObject,
    PatchPodStatus,
    Reply,
)
from schedviz.scheduler.plugins.default_binder import DefaultBinder
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.scheduler import Scheduler
from tests import make
from tests.scheduler.plugins.storage import claim, on, storage_class, volume

PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
FAST = storage_class("fast", "csi.example.com")


class Stage:
    """One scheduler and its world; every output is kept."""

    def __init__(
        self, *things: KubeObject, seconds: float = 600, plugins: tuple[Plugin, ...] = ()
    ) -> None:
        """plugins: those of its only profile, instead of the default ones."""
        args = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": seconds}}]
        profiles = configured_profiles({"profiles": [{"pluginConfig": args}]})
        if plugins:
            profiles = {"default-scheduler": Framework("default-scheduler", plugins, weights={})}
        self.scheduler = Scheduler(profiles, seed=1)
        self.now = 0.0
        self.outputs: list = []
        self.told: dict[tuple[str, str], KubeObject] = {}
        for thing in things:
            self.tell(thing)

    def take(self, outputs: list) -> list:
        self.outputs += outputs
        self.scheduler.check_invariants()
        return outputs

    def tell(self, new: KubeObject) -> None:
        old = self.told.get((new.kind, new.key))
        self.told[new.kind, new.key] = new
        self.take(self.scheduler.apply(Change(new.kind, old, new), self.now))

    def lose(self, kind: str, key: str) -> None:
        self.take(self.scheduler.apply(Change(kind, self.told.pop((kind, key)), None), self.now))

    def cycle(self) -> list:
        steps = self.scheduler.start_cycle(self.now)
        assert steps is not None, "nothing to schedule"
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return self.take(end.value)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.take(self.scheduler.tick(self.now))

    def effect(self, kind: type) -> Effect:
        """The newest of its kind."""
        return [o for o in self.outputs if isinstance(o, Effect) and isinstance(o.action, kind)][-1]

    def answer(self, effect: Effect, ok: bool = True, status: int = 200, message: str = "") -> None:
        self.take(self.scheduler.apply(Reply(effect.id, ok, status, message), self.now))

    def record(self) -> CycleRecord:
        return [o for o in self.outputs if isinstance(o, CycleRecord)][-1]

    def lane(self) -> Lane:
        return [o for o in self.outputs if isinstance(o, Move)][-1].target

    def requested(self, node: str) -> int:
        view = self.scheduler.node_view(node)
        return view.requested.get("cpu", 0) if view else 0

    def bound(self, volume_name: str = "v", node: str = "n2") -> None:
        """The volume controller has done its part."""
        self.tell(volume(volume_name, kept_for="x uid-x", phase="Bound", **on(node)))
        self.tell(claim("x", storage_class="fast", bound_to=volume_name, node=node))


def making(*nodes: str, seconds: float = 600) -> Stage:
    """A pod whose volume is to be made; its first cycle is over."""
    told = claim("x", storage_class="fast")
    stage = Stage(FAST, told, *map(make.node, nodes), seconds=seconds)
    port = make.container(requests={"cpu": "1"}, ports=[{"containerPort": 1, "hostPort": 80}])
    stage.tell(make.using("x", containers=[port]))
    stage.cycle()
    return stage


def steps(stage: Stage) -> list[tuple[str, str, str]]:
    return [(s.point, s.plugin, s.status.code.name) for s in stage.record().binding_steps]


def test_volumes_come_first_and_the_bind_last():
    stage = making("n2")
    first, record, told, effect = stage.outputs[-4:]
    assert isinstance(first, Move) and isinstance(record, CycleRecord)
    assert told.action == PatchPodStatus(record.pod, None, "n2")  # nominated before it is bound
    assert isinstance(effect.action, PatchObject)
    assert effect.action.patch == {"metadata": {"annotations": {volumes.SELECTED_NODE: "n2"}}}
    stage.answer(effect)
    assert stage.lane() is Lane.BINDING
    stage.now = 3.0
    stage.tell(claim("x", storage_class="fast", node="n2"))
    stage.bound()
    stage.answer(stage.effect(Bind), status=201)
    assert stage.lane() is Lane.BOUND
    assert stage.record().outcome is Outcome.BOUND
    assert steps(stage) == [
        ("PreBind", "VolumeBinding", "SUCCESS"),
        ("PreBind", "DynamicResources", "SKIP"),
        ("Bind", "DefaultBinder", "SUCCESS"),
    ]
    assert stage.record().binding_durations[0] == 3.0


def test_the_board_is_told_what_a_pod_waits_for():
    stage = making("n2", seconds=5)
    stage.now = 2.0
    stage.answer(stage.effect(PatchObject))
    view = stage.scheduler.pod_view("default/p")
    assert (view.lane, view.since, view.node_name) == (Lane.BINDING, 0.0, "n2")
    assert view.message == "it waits for VolumeBinding, 5s at most"
    stage.bound()
    assert stage.scheduler.pod_view("default/p").message == ""


def test_a_claim_that_is_bound_before_the_answer_comes_is_enough():
    stage = making("n2")
    stage.bound()
    stage.answer(stage.effect(PatchObject))
    assert isinstance(stage.outputs[-1].action, Bind)


def test_volumes_are_asked_for_one_after_the_other():
    stage = Stage(
        storage_class(), claim("x", "1Gi"), claim("y"), volume("v", "1Gi"), volume("w"), make.node()
    )
    stage.tell(make.using("x", "y"))
    stage.cycle()
    assert [stage.effect(PatchObject).action.name] == ["v"]
    stage.answer(stage.effect(PatchObject))
    assert stage.effect(PatchObject).action.name == "w"
    stage.answer(stage.effect(PatchObject), ok=False, status=409, message="has been modified")
    assert stage.record().message == 'running PreBind plugin "VolumeBinding": has been modified'
    assert stage.lane() is Lane.BACKOFF
    assert all(stage.scheduler._cache.listers.get(PV, n) is stage.told[PV, n] for n in "vw")


def test_a_provisioner_that_is_late():
    """The volume is made on the first node while the pod is on its way again: it can only go there, and says so."""
    stage = making("n2", "n3", seconds=5)
    first = stage.record().chosen
    other = "n3" if first == "n2" else "n2"
    stage.answer(stage.effect(PatchObject))
    stage.tell(claim("x", storage_class="fast", node=first))
    assert stage.scheduler.next_due() == 5.0
    assert stage.requested(first) == 1000
    stage.wait(5)
    words = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    assert (stage.record().outcome, stage.record().message) == (Outcome.ERROR, words)
    event = stage.effect(CreateEvent).action
    assert (event.reason, event.note) == ("FailedScheduling", words)
    assert stage.effect(PatchPodStatus).action.nominated_node_name == ""
    assert stage.requested(first) == 0
    assert not stage.scheduler._cache.node_info(first).used_ports
    stage.wait(3)
    stage.bound(node=first)
    stage.cycle()
    assert stage.record().chosen == first
    refused = next(
        s for s in stage.record().steps if (s.point, s.plugin) == ("Filter", "VolumeBinding")
    )
    row = stage.record().node_names.index(other)
    assert refused.nodes.status(row).reasons == (
        "node(s) didn't match PersistentVolume's node affinity",
    )
    stage.answer(stage.effect(Bind), status=201)
    assert stage.lane() is Lane.BOUND
    assert stage.record().attempt == 2


def test_a_provisioner_that_gives_up_lets_the_pod_try_elsewhere():
    stage = making("n2")
    stage.answer(stage.effect(PatchObject))
    stage.tell(claim("x", storage_class="fast"))
    words = 'binding volumes: selectedNode annotation reset for PVC "x"'
    assert stage.record().message == f'running PreBind plugin "VolumeBinding": {words}'
    assert stage.requested("n2") == 0
    assert stage.lane() is Lane.BACKOFF


@pytest.mark.parametrize(
    ("kind", "key", "words"),
    [
        pytest.param("Node", "n2", 'failed to get node "n2": node "n2" not found', id="node"),
        pytest.param(
            PVC,
            "default/x",
            'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "default/x"',
            id="claim",
        ),
    ],
)
def test_what_a_pod_waits_for_may_be_deleted(kind, key, words):
    stage = making("n2")
    stage.answer(stage.effect(PatchObject))
    stage.lose(kind, key)
    words = f'running PreBind plugin "VolumeBinding": binding volumes: {words}'
    assert stage.record().message == words


@pytest.mark.parametrize("is_asked", [False, True], ids=["it waits", "an answer is awaited"])
@pytest.mark.parametrize(
    ("change", "lane", "word"),
    [
        pytest.param(lambda pod: None, Lane.GONE, "deleted", id="deleted"),
        pytest.param(
            lambda pod: replace(pod, deletion_timestamp=1.0), Lane.GONE, "deleted", id="going"
        ),
        pytest.param(
            lambda pod: replace(pod, node_name="n9"), Lane.BOUND, "bound by another", id="bound"
        ),
    ],
)
def test_a_pod_that_needs_no_binding_any_more_waits_no_longer(is_asked, change, lane, word):
    stage = making("n2")
    effect = stage.effect(PatchObject)
    if not is_asked:
        stage.answer(effect)
    pod = stage.told["Pod", "default/p"]
    changed = change(pod)
    if changed is None:
        stage.lose("Pod", pod.key)
    else:
        stage.tell(changed)
    if is_asked:
        stage.answer(effect)
    assert stage.record().message == f"pod was {word} while it waited at PreBind"
    assert stage.lane() is lane
    assert stage.requested("n2") == 0
    assert stage.scheduler.counts()[Lane.BINDING] == 0


class Patient(Plugin):
    """Answers what it was told to, one after the other."""

    def __init__(self, *answers) -> None:
        super().__init__()
        self.answers = list(answers)

    def pre_bind(self, state, pod, node_name):
        return PreBindResult(
            (),
            until=lambda listers, node: self.answers.pop(0),
            kinds=frozenset({PVC}),
            timeout_seconds=1.0,
            timed_out=Error("too late"),
        )


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        pytest.param([SUCCESS], "", id="at once"),
        pytest.param([None, SUCCESS], "", id="later"),
        pytest.param([Error("no")], 'running PreBind plugin "Patient": no', id="refused"),
        pytest.param([None, Error("no")], 'running PreBind plugin "Patient": no', id="later not"),
        pytest.param([None, None], 'running PreBind plugin "Patient": too late', id="never"),
        pytest.param(
            [],
            'running PreBind plugin "Patient": IndexError: pop from empty list',
            id="a plugin that fails",
        ),
    ],
)
def test_any_plugin_may_wait(answers, message):
    plugins = (PrioritySort(), Patient(*answers), DefaultBinder())
    stage = Stage(make.node(), make.pod(), plugins=plugins)
    stage.cycle()
    stage.tell(claim("other"))
    stage.wait(1)
    if not message:
        stage.answer(stage.effect(Bind), status=201)
    assert stage.record().message == message
    assert (stage.lane() is Lane.BOUND) == (not message)
