"""Sessions that ask an HTTP extender in another process: a real sandbox, the real session, real HTTP on both sides."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedviz.scheduler.framework.steps import CycleRecord, Lane, Outcome, Step
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.scheduler import Scheduler
from tests.extending import FakeExtender, serving
from tests.sandbox.running import Running, running
from tests.test_session import PODS, KeepingSink, pod, session

WIDGET = "example.com/widget"
HIGH = {"metadata": {"name": "high"}, "value": 1000}


@pytest.fixture
def extender(tmp_path: Path) -> Iterator[FakeExtender]:
    with serving(tmp_path / "extender") as one:
        yield one


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    """n1 and n2, one CPU each."""
    with running(tmp_path, scenario="empty") as one:
        for name in ("n1", "n2"):
            room = {"cpu": "1", "memory": "4Gi", "pods": "20"}
            status = {"capacity": room, "allocatable": room}
            one.ok("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
        one.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", HIGH)
        yield one


@contextlib.contextmanager
def extended(sandbox: Running, url: str, **fields: Any) -> Iterator[KeepingSink]:
    """A session with one extender."""
    sink = KeepingSink()
    profiles = configured_profiles({"extenders": [{"urlPrefix": url, **fields}]})
    with session(sandbox, sink, profiles=profiles):
        yield sink


def create(sandbox: Running, name: str, cpu: str = "10m", **spec: Any) -> None:
    made: Any = pod(name, **spec)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    sandbox.ok("POST", PODS, made)


def asking_for(sandbox: Running, name: str, resource: str) -> None:
    made: Any = pod(name)
    amounts = {resource: "1"}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    sandbox.ok("POST", PODS, made)


def cycles(sink: KeepingSink, name: str) -> list[CycleRecord]:
    return [c for b in sink.batches for c in b.cycles if c.pod.name == name]


def last(sink: KeepingSink, name: str) -> CycleRecord:
    """The newest closed account of the pod's first attempt."""
    known = [c for b in sink.batches for c in (*b.cycles, *b.updates) if c.pod.name == name]
    number = known[0].number
    return [c for c in known if c.number == number][-1]


def asked_step(record: CycleRecord, point: str) -> Step:
    steps = [*record.steps, *record.binding_steps]
    return next(one for one in steps if one.point == point and one.call is not None)


def condition(sandbox: Running, name: str) -> dict[str, Any]:
    status = sandbox.ok("GET", f"{PODS}/{name}")["status"]
    found = [one for one in status.get("conditions", ()) if one["type"] == "PodScheduled"]
    return found[0] if found else {}


def node_of(sandbox: Running, name: str) -> str:
    return str(sandbox.ok("GET", f"{PODS}/{name}")["spec"].get("nodeName", ""))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# ---- what is sent, and what an answer means ------------------------------------------------------------------------


def test_nodes_are_sent_whole_unless_the_extender_caches_them(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("filter", {"Nodes": {"items": [{"metadata": {"name": "n2"}}]}})
    with extended(sandbox, extender.url, filterVerb="filter") as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    (body,) = extender.asked("filter")
    assert list(body) == ["Pod", "Nodes", "NodeNames"]
    assert body["NodeNames"] is None
    assert [one["metadata"]["name"] for one in body["Nodes"]["items"]] == ["n1", "n2"]
    assert body["Nodes"]["items"][0]["status"]["allocatable"]["cpu"] == "1"
    assert body["Pod"]["spec"]["containers"][0]["image"] == "luksa/kubia"
    assert "managedFields" not in body["Pod"]["metadata"]
    assert node_of(sandbox, "p") == "n2"


def test_an_extender_that_caches_nodes_is_sent_names(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("filter", {"nodeNames": ["n1"], "failedNodes": {"n2": "no disk"}})
    with extended(sandbox, extender.url, filterVerb="filter", nodeCacheCapable=True) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    (body,) = extender.asked("filter")
    assert body["Nodes"] is None
    assert body["NodeNames"] == ["n1", "n2"]
    step = asked_step(last(sink, "p"), "Filter")
    assert step.nodes is not None and step.call is not None
    assert [step.nodes.status(row).message for row in (0, 1)] == ["", "no disk"]
    assert step.call.url == f"{extender.url}/filter"
    assert step.call.request_bytes > 100
    assert node_of(sandbox, "p") == "n1"


def test_names_do_not_count_where_nodes_were_sent(sandbox: Running, extender: FakeExtender) -> None:
    extender.says("filter", {"NodeNames": ["n1", "n2"]})
    with extended(sandbox, extender.url, filterVerb="filter") as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.UNSCHEDULABLE)
        record = last(sink, "p")
    assert record.outcome is Outcome.UNSCHEDULABLE
    assert record.message.startswith("0/2 nodes are available: no new claims to deallocate, ")
    call = asked_step(record, "Filter").call
    assert call is not None and "NodeNames without Nodes" in call.hint


def test_nodes_count_also_where_names_were_sent(sandbox: Running, extender: FakeExtender) -> None:
    failed = {"n1": "no disk", "n2": "no disk"}
    extender.says("filter", {"Nodes": {"items": []}, "FailedNodes": failed})
    with extended(sandbox, extender.url, filterVerb="filter", nodeCacheCapable=True) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.UNSCHEDULABLE)
    assert last(sink, "p").message.startswith("0/2 nodes are available: 2 no disk. ")


# ---- extenders that fail -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "said"),
    [
        pytest.param(
            {"body": {}, "status": 500},
            "failed filter with extender at URL {url}/filter, code 500",
            id="a server error",
        ),
        pytest.param(
            {"body": {"Error": "quota service says no"}},
            "quota service says no",
            id="an error of its own",
        ),
    ],
)
def test_an_extender_that_fails_fails_the_cycle(
    sandbox: Running, extender: FakeExtender, told: dict[str, Any], said: str
) -> None:
    extender.says("filter", **told)
    with extended(sandbox, extender.url, filterVerb="filter", httpTimeout="500ms") as sink:
        create(sandbox, "p")
        sink.until(lambda: len(cycles(sink, "p")) >= 2)  # tried again after its backoff
        seen = condition(sandbox, "p")
    assert (seen["status"], seen["reason"]) == ("False", "SchedulerError")
    assert seen["message"] == said.format(url=extender.url)


def test_a_dead_port_fails_the_cycle_with_the_url_and_the_cause(sandbox: Running) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with extended(sandbox, url, filterVerb="filter") as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BACKOFF)
        message = last(sink, "p").message
    cause = f"dial tcp {url[7:]}: connect: connection refused"
    assert message == f'Post "{url}/filter": {cause}'


def test_an_ignorable_extender_that_does_not_answer_is_passed_over(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("filter", {}, seconds=5.0)
    fields = {"filterVerb": "filter", "httpTimeout": "500ms", "ignorable": True}
    with extended(sandbox, extender.url, **fields) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    record = last(sink, "p")
    call = asked_step(record, "Filter").call
    assert call is not None and 0.45 < call.seconds < 2.0
    assert call.error.endswith("(Client.Timeout exceeded while awaiting headers)")
    assert record.duration > 0.45


def test_a_failed_prioritize_is_never_an_error(sandbox: Running, extender: FakeExtender) -> None:
    extender.says("prioritize", raw="[{]")
    with extended(sandbox, extender.url, prioritizeVerb="prioritize", weight=1) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    call = asked_step(last(sink, "p"), "Score").call
    assert call is not None
    assert call.error == "invalid character ']' looking for beginning of object key string"


def test_the_session_stops_while_it_waits_for_an_extender(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("filter", {}, seconds=60.0)
    with extended(sandbox, extender.url, filterVerb="filter", httpTimeout="1m") as sink:
        create(sandbox, "p")
        sink.until(lambda: bool(extender.asked("filter")))
    assert cycles(sink, "p") == []


# ---- resources that an extender manages ----------------------------------------------------------------------------


def managing(*, ignored: bool) -> dict[str, Any]:
    managed = [{"name": WIDGET, "ignoredByScheduler": ignored}]
    return {"filterVerb": "filter", "nodeCacheCapable": True, "managedResources": managed}


def test_only_pods_that_ask_for_its_resource_are_its_business(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("filter", {}, status=500)
    with extended(sandbox, extender.url, **managing(ignored=True)) as sink:
        create(sandbox, "plain")
        sink.until(lambda: sink.lane("plain") == Lane.BOUND)
        assert extender.asked() == []
        extender.says("filter", {"NodeNames": ["n2"], "FailedNodes": {"n1": "no widget"}})
        asking_for(sandbox, "special", WIDGET)
        sink.until(lambda: sink.lane("special") == Lane.BOUND)
    assert node_of(sandbox, "special") == "n2"


def test_a_resource_that_the_scheduler_counts_too_is_refused_before_the_extender_is_asked(
    sandbox: Running, extender: FakeExtender
) -> None:
    with extended(sandbox, extender.url, **managing(ignored=False)) as sink:
        asking_for(sandbox, "special", WIDGET)
        sink.until(lambda: sink.lane("special") == Lane.UNSCHEDULABLE)
    assert f"2 Insufficient {WIDGET}" in last(sink, "special").message
    assert extender.asked() == []


def test_a_pod_that_is_not_its_business_is_bound_without_it(
    sandbox: Running, extender: FakeExtender
) -> None:
    fields = {"bindVerb": "bind", "managedResources": [{"name": WIDGET}]}
    with extended(sandbox, extender.url, **fields) as sink:
        create(sandbox, "plain")
        sink.until(lambda: sink.lane("plain") == Lane.BOUND)
    assert extender.asked() == []
    assert node_of(sandbox, "plain") != ""


# ---- preemption ----------------------------------------------------------------------------------------------------


def has_pod(sink: KeepingSink, node: str) -> bool:
    views = [b.nodes[node] for b in sink.batches if node in b.nodes]
    return bool(views) and views[-1] is not None and views[-1].n_pods > 0


def low_pods(sandbox: Running, sink: KeepingSink, cpu: str) -> dict[str, str]:
    """One on each node; node -> uid."""
    for name, node in (("lo", "n1"), ("lo2", "n2")):
        create(sandbox, name, cpu, nodeName=node, terminationGracePeriodSeconds=1)
    there = sandbox.ok("GET", PODS)["items"]
    sink.until(lambda: all(has_pod(sink, node) for node in ("n1", "n2")))
    return {one["spec"]["nodeName"]: one["metadata"]["uid"] for one in there}


def test_where_only_the_extender_refuses_nobody_is_evicted(
    sandbox: Running, extender: FakeExtender
) -> None:
    failed = {"FailedNodes": {"n1": "gpu busy"}, "FailedAndUnresolvableNodes": {"n2": "no gpu"}}
    extender.says("filter", {"NodeNames": [], **failed})
    with extended(sandbox, extender.url, filterVerb="filter", nodeCacheCapable=True) as sink:
        low_pods(sandbox, sink, "10m")
        create(sandbox, "t", priorityClassName="high")
        sink.until(lambda: sink.lane("t") == Lane.UNSCHEDULABLE)
        message = last(sink, "t").message
    assert message == (
        "0/2 nodes are available: 1 gpu busy, 1 no gpu. "
        'preemption: expected at least one victim pod on node "n1"'
    )
    assert {one["metadata"]["name"] for one in sandbox.ok("GET", PODS)["items"]} == {
        "lo",
        "lo2",
        "t",
    }


def test_the_extender_chooses_among_the_victims(sandbox: Running, extender: FakeExtender) -> None:
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    with extended(sandbox, extender.url, **fields) as sink:
        uids = low_pods(sandbox, sink, "900m")
        kept = {"n1": {"Pods": [{"UID": uids["n1"]}], "NumPDBViolations": 0}}
        extender.says("preempt", {"NodeNameToMetaVictims": kept})
        create(sandbox, "t", "900m", priorityClassName="high")
        sink.until(lambda: sink.lane("t") == Lane.BOUND)
        record = cycles(sink, "t")[0]
    (body, *_) = extender.asked("preempt")
    assert body["NodeNameToVictims"] is None
    assert {name: one["Pods"] for name, one in body["NodeNameToMetaVictims"].items()} == {
        name: [{"UID": uid}] for name, uid in uids.items()
    }
    assert record.nominated_node_name == "n1"
    assert node_of(sandbox, "t") == "n1"
    assert asked_step(record, "PostFilter").call is not None


def test_victims_are_sent_whole_to_one_that_caches_nothing(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("preempt", {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "stranger"}]}}})
    with extended(sandbox, extender.url, preemptVerb="preempt") as sink:
        low_pods(sandbox, sink, "900m")
        create(sandbox, "t", "900m", priorityClassName="high")
        sink.until(lambda: sink.lane("t") == Lane.UNSCHEDULABLE)
        message = last(sink, "t").message
    (body, *_) = extender.asked("preempt")
    victims = body["NodeNameToVictims"]
    assert victims["n1"]["Pods"][0]["metadata"]["name"] == "lo"
    assert message.endswith(
        f"preemption: extender: {extender.url} claims to preempt pod (UID: &{{stranger}}) on node: n1, "
        "but the pod is not found on that node"
    )


def test_one_that_is_not_interested_is_not_asked_about_victims(
    sandbox: Running, extender: FakeExtender
) -> None:
    fields = {"preemptVerb": "preempt", "managedResources": [{"name": WIDGET}]}
    with extended(sandbox, extender.url, **fields) as sink:
        low_pods(sandbox, sink, "900m")
        create(sandbox, "t", "900m", priorityClassName="high")
        sink.until(lambda: sink.lane("t") == Lane.BOUND)
    assert extender.asked() == []


# ---- binding -------------------------------------------------------------------------------------------------------


def test_an_extender_may_refuse_to_bind(sandbox: Running, extender: FakeExtender) -> None:
    extender.says("bind", {"Error": "binder refused"})
    fields = {"bindVerb": "bind", "nodeCacheCapable": True}
    with extended(sandbox, extender.url, **fields) as sink:
        create(sandbox, "p", "600m")
        sink.until(lambda: len(cycles(sink, "p")) >= 2)
        seen = condition(sandbox, "p")
    assert (seen["reason"], seen["message"]) == ("SchedulerError", "binder refused")
    uid = sandbox.ok("GET", f"{PODS}/p")["metadata"]["uid"]
    names = {"PodName": "p", "PodNamespace": "default", "PodUID": uid}
    assert extender.asked("bind")[0] in ({**names, "Node": "n1"}, {**names, "Node": "n2"})
    record = last(sink, "p")
    assert record.outcome is Outcome.BIND_FAILED
    assert len(record.binding_durations) == len(record.binding_steps)


def test_what_an_extender_says_it_bound_is_assumed_until_the_watch_shows_it(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("bind", {"Error": ""})
    fields = {"bindVerb": "bind", "nodeCacheCapable": True}
    with extended(sandbox, extender.url, **fields) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BINDING and "confirmed" in sink.message("p"))
        chosen = cycles(sink, "p")[0].chosen
        assert sink.message("p").startswith(f"assumed on {chosen}, not confirmed: 127.0.0.1:")
        assert (node_of(sandbox, "p"), condition(sandbox, "p")) == ("", {})
        target = {"apiVersion": "v1", "kind": "Node", "name": chosen}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}
        sandbox.ok("POST", f"{PODS}/p/binding", {**binding, "target": target})
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    assert last(sink, "p").outcome is Outcome.BOUND


def test_an_ignorable_binder_that_fails_leaves_the_pod_to_the_default_binder(
    sandbox: Running, extender: FakeExtender
) -> None:
    extender.says("bind", {}, status=503)
    with extended(sandbox, extender.url, bindVerb="bind", ignorable=True) as sink:
        create(sandbox, "p")
        sink.until(lambda: sink.lane("p") == Lane.BOUND)
    steps = [one for one in last(sink, "p").binding_steps if one.point == "Bind"]
    assert [one.status.code.title for one in steps] == ["Skip", "Success"]
    assert node_of(sandbox, "p") != ""


# ---- the worked example --------------------------------------------------------------------------------------------


def test_the_extender_prefers_one_node_and_refuses_another(
    tmp_path: Path, extender: FakeExtender
) -> None:
    names = ["ceph1", "ceph2"]
    extender.says("filter", {"NodeNames": names, "FailedNodes": {"ceph3": "ceph3 is kept free"}})
    hosts = [{"Host": "ceph1", "Score": 10}, {"Host": "ceph2", "Score": 5}]
    extender.says("prioritize", hosts)
    fields = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 100000}
    with (
        running(tmp_path, scenario="ceph") as sandbox,
        extended(sandbox, extender.url, nodeCacheCapable=True, **fields) as sink,
    ):
        create(sandbox, "kubia")
        sink.until(lambda: sink.lane("kubia") == Lane.BOUND)
        assert node_of(sandbox, "kubia") == "ceph1"
    record = last(sink, "kubia")
    scores = asked_step(record, "Score").scores
    assert scores is not None and record.totals is not None
    assert (scores.raw.tolist(), scores.normalized.tolist()) == ([10, 5], [100, 50])
    assert scores.weight == 100000
    assert int(record.totals[0] - record.totals[1]) >= 50 * 100000 - 1000


def test_a_scheduler_without_extenders_keeps_no_json() -> None:
    assert not Scheduler(configured_profiles(None)).has_extenders
