"""Which pods must go, from which node, and when a pod may not ask for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework.rng import Rng
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.framework.steps import CycleRecord, Outcome, PodRef
from schedviz.scheduler.plugins.default_preemption import DefaultPreemption
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.schedule_one import scheduling_cycle
from tests import make
from tests.scheduler.framework.test_filtering import APP, BIG, apart, drained, near, ports
from tests.scheduler.framework.test_trials import spread_pods

NONE = " no new claims to deallocate, preemption: "
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def attempt(pod, nodes, *, profile: Framework | None = None, nominated=None):
    framework = profile or default_profile()
    framework.nominated = {
        name: {other.uid: other for other in pods} for name, pods in (nominated or {}).items()
    }
    record = CycleRecord(1, PodRef.of(pod), 1, pod.priority, "s", 0.0, nodes.names)
    return drained(scheduling_cycle(framework, pod, nodes, record=record, rng=Rng(0)))


def chosen(pod, nodes, **words):
    """(node, victims' names), or the words of PostFilter."""
    after = attempt(pod, nodes, **words).after
    if after.status.is_success:
        return after.nominated_node_name, "".join(sorted(victim.name for victim in after.victims))
    return after.status.message.removeprefix(NONE.strip() + " ")


def placed(name, priority=0, cpu="1", node="a", second=None, **words):
    at = {} if second is None else {"startTime": f"2026-01-01T00:00:{second:02}Z"}
    words["status"] = {**at, **words.get("status", {})}
    return make.pod(name, node=node, priority=priority, requests={"cpu": cpu}, **words)


def boss(cpu="3", priority=10, **words):
    return make.pod("boss", priority=priority, requests={"cpu": cpu}, **words)


def world(*pods, nodes="a", others=(), **words):
    made = make.snapshot([make.node(name, **words) for name in nodes], pods)
    return make.told(made, *others)


def budget(allowed, labels=APP):
    fields = {
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    return make.other("PodDisruptionBudget", "b", namespace="default", **fields)


# ---- victims -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "nodes", "expected"),
    [
        pytest.param(
            boss("2"), world(*(placed(n) for n in "wxyz")), ("a", "wx"), id="as few as needed"
        ),
        pytest.param(
            boss("2"),
            world(placed("x", 5), placed("y", 1), placed("z", 3), placed("w", 2)),
            ("a", "wy"),
            id="the least important ones",
        ),
        pytest.param(
            boss("2"),
            world(*(placed(n, second=s) for s, n in enumerate("wxyz"))),
            ("a", "yz"),
            id="of equals those that run shortest",
        ),
        pytest.param(
            boss("4"), world(placed("x", 10), placed("y", 1)), "no room", id="never its equals"
        ),
        pytest.param(
            boss("3"),
            world(placed("x", 5, "3"), placed("y", 1, "1")),
            ("a", "x"),
            id="a small less important pod is spared when a big one must go anyway",
        ),
        pytest.param(
            boss("2"),
            world(
                *(placed(n, labels=APP) for n in "xy"),
                placed("z"),
                placed("w"),
                others=[budget(0)],
            ),
            ("a", "wz"),
            id="pods that a budget protects are spared first",
        ),
        pytest.param(
            boss("1", **ports(80)),
            world(placed("x", **ports(80)), placed("y")),
            ("a", "x"),
            id="who holds the host port",
        ),
        pytest.param(
            boss("1", **apart()),
            world(placed("x", labels=APP), placed("y")),
            ("a", "x"),
            id="who the pod keeps away from",
        ),
        pytest.param(
            boss("1", labels=APP),
            world(placed("x", **apart()), placed("y")),
            ("a", "x"),
            id="who keeps the pod away",
        ),
    ],
)
def test_victims(pod, nodes, expected):
    said = chosen(pod, nodes)
    assert said == expected or (expected == "no room" and said.endswith("Insufficient cpu."))


# ---- which node --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param(
            [placed("x", labels=APP, cpu="4")], [placed("y", 9, "4")], "b", id="budgets first"
        ),
        pytest.param([placed("x", 2, "4")], [placed("y", 1, "4")], "b", id="least important"),
        pytest.param(
            [placed("x", 1, "2"), placed("y", 1, "2")], [placed("z", 1, "4")], "b", id="fewest"
        ),
        pytest.param(
            [placed("x", 1, "2"), placed("y", -2, "2")],
            [placed("z", 1, "4")],
            "b",
            id="a sum counts a pod of negative priority as more than none",
        ),
        pytest.param(
            [placed("x", cpu="4", second=1)], [placed("y", cpu="4", second=2)], "b", id="youngest"
        ),
        pytest.param(
            [placed("x", cpu="4", second=1)], [placed("y", cpu="4")], "b", id="not started yet"
        ),
    ],
)
def test_the_node_that_loses_least_is_chosen(a, b, expected):
    moved = [make.pod(p.name) and p for p in b]
    for pod in moved:
        pod.node_name = "b"
    nodes = world(*a, *moved, nodes="ab", others=[budget(0)])
    assert chosen(boss("3"), nodes)[0] == expected


def test_equal_candidates_are_chosen_among_at_random_and_named():
    nodes = world(*(placed(n, node=n, cpu="4") for n in "abc"), nodes="abc")
    profile, found = default_profile(), set()
    for _ in range(40):
        said = attempt(boss(), nodes, profile=profile).after
        assert sorted(said.preemption.ties) == ["a", "b", "c"]
        assert said.preemption.chosen == said.nominated_node_name
        found.add(said.nominated_node_name)
    assert found == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param((10, 100), 100, id="a hundred at least"),
        pytest.param((60, 10), 150, id="or a share of the nodes"),
        pytest.param((0, 1000), 250, id="never more than there are"),
    ],
)
def test_so_many_candidates_are_looked_for(args, expected):
    names = [f"n{number:03}" for number in range(250)]
    nodes = world(*(placed(n, node=n, cpu="4") for n in names), nodes=names)
    profile = default_profile()
    plugin = profile.plugins["DefaultPreemption"]
    plugin.args = DefaultPreemption.Args(*args)
    told = attempt(boss(), nodes, profile=profile).after.preemption
    assert (len(told.candidates), told.n_tried) == (expected, expected)


def test_the_search_goes_on_while_every_candidate_breaks_a_budget():
    names = [f"n{number:03}" for number in range(150)]
    pods = [placed(n, node=n, cpu="4", labels=APP if n != "n007" else None) for n in names]
    nodes = world(*pods, nodes=names, others=[budget(0)])
    assert chosen(boss(), nodes) == ("n007", "n007")


# ---- words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "nodes", "expected"),
    [
        pytest.param(
            boss(preemptionPolicy="Never"),
            world(placed("x", cpu="4")),
            "not eligible due to preemptionPolicy=Never.",
            id="it may not",
        ),
        pytest.param(
            boss("8"),
            world(placed("x", cpu="4")),
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no node is big enough",
        ),
        pytest.param(
            boss("4"),
            world(placed("x", 10, "1"), placed("y", 0, "1"), placed("z", 10, node="b"), nodes="ab"),
            "0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for "
            "incoming pod.",
            id="not enough can go",
        ),
        pytest.param(
            make.pod("boss", priority=9, labels={"app": "y"}, requests=BIG, **near()),
            world(placed("x", cpu="4", labels=APP)),
            "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
            id="a victim would have been its company",
        ),
    ],
)
def test_what_is_said_when_nothing_helps(pod, nodes, expected):
    made = attempt(pod, nodes)
    assert made.record.message.endswith(NONE + expected)
    assert made.record.outcome is Outcome.UNSCHEDULABLE


def test_success_adds_nothing_to_the_message():
    record = attempt(boss(), world(placed("x", cpu="4"))).record
    assert record.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert record.nominated_node_name == "a"


# ---- nominations -------------------------------------------------------------------------------------------------


def promised(priority=10):
    return make.pod("boss", priority=priority, requests=BIG, status={"nominatedNodeName": "a"})


def leaving(name="x", priority=0, reason="PreemptionByScheduler", **words):
    status = {"conditions": [{**PREEMPTED, "reason": reason}]}
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return placed(name, priority, "4", status=status, meta=meta, **words)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(
            world(leaving(), placed("y", node="b", cpu="4"), nodes="ab"),
            "not eligible due to a terminating pod on the nominated node.",
            id="its victim is on the way out: wait",
        ),
        pytest.param(
            world(leaving(reason="Evicted"), placed("y", 1, "4", "b"), nodes="ab"),
            ("a", "x"),
            id="another reason is not ours",
        ),
        pytest.param(
            world(leaving(priority=10), placed("y", node="b", cpu="4"), nodes="ab"),
            ("b", "y"),
            id="one that is no less important does not count",
        ),
        pytest.param(
            world(leaving(), placed("y", node="b", cpu="4"), nodes="ab", unschedulable=True),
            "0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            id="the nominated node is out of the question by now",
        ),
    ],
)
def test_a_pod_waits_for_its_victims(nodes, expected):
    assert chosen(promised(), nodes) == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(world(placed("x", 10, "4")), "", id="nothing found: cleared"),
        pytest.param(world(leaving()), None, id="waiting: left alone"),
        pytest.param(world(placed("x", 0, "4")), "a", id="found: set"),
    ],
)
def test_what_becomes_of_the_nomination(nodes, expected):
    assert attempt(promised(), nodes).after.nominated_node_name == expected


def test_room_for_nominated_pods_is_not_given_away():
    """A more important pod waits for node a: making room there would take both pods."""
    nodes = world(placed("x", cpu="4"), placed("y", 1, "4", "b"), nodes="ab")
    waiting = make.pod("w", priority=20, requests={"cpu": "2"})
    assert chosen(boss("3"), nodes, nominated={"a": [waiting]}) == ("b", "y")


@pytest.mark.parametrize("preempting", [set(), {"default/boss"}])
def test_a_pod_is_held_back_while_its_victims_are_asked_to_go(preempting):
    profile = default_profile()
    profile.preempting = preempting
    said = profile.pre_enqueue(boss())
    assert said.is_success is not bool(preempting)
    assert said.message in ("", "waiting for the preemption for this pod to be finished")


# ---- properties --------------------------------------------------------------------------------------------------


@st.composite
def full_clusters(draw):
    """(nodes, pods, incoming pod): pods of mixed priority, size and age, some of them protected."""
    some = [
        make.node(
            f"n{number}",
            allocatable={
                "cpu": draw(st.sampled_from(["2", "4"])),
                "pods": draw(st.sampled_from(["2", "9"])),
            },
            unschedulable=draw(st.sampled_from([False, False, True])),
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    sizes = st.fixed_dictionaries({"cpu": st.sampled_from("0123"), "memory": st.just("1Gi")})
    pods = [
        make.pod(
            f"b{number}",
            node=draw(st.sampled_from(some)).name,
            labels=draw(st.sampled_from([None, APP])),
            priority=draw(st.integers(-1, 3)),
            requests=draw(sizes),
            status=draw(
                st.sampled_from(
                    [None, *({"startTime": f"2026-01-01T00:00:0{s}Z"} for s in range(3))]
                )
            ),
        )
        for number in range(draw(st.integers(0, 12)))
    ]
    return some, pods, make.pod("boss", priority=2, requests=draw(sizes))


@st.composite
def minding_clusters(draw):
    """The same, but pods mind their neighbours, and nodes have zones."""
    some = [
        make.node(f"n{number}", labels=draw(st.dictionaries(st.just("a"), st.sampled_from("xy"))))
        for number in range(draw(st.integers(1, 4)))
    ]
    pods = [
        draw(spread_pods(name=f"b{number}", node=draw(st.sampled_from(some)).name))
        for number in range(draw(st.integers(0, 8)))
    ]
    for number, pod in enumerate(pods):
        pod.priority = draw(st.integers(0, 3))
        if draw(st.booleans()):
            pod.deletion_timestamp = float(number)
    return some, pods, draw(spread_pods(name="boss"))


def weighed(pod, nodes, profile, nominated):
    made = attempt(pod, nodes, profile=profile, nominated=nominated)
    told = made.after and made.after.preemption
    found = (
        {(c.node_name, c.victims, c.n_pdb_violations) for c in told.candidates} if told else None
    )
    return found, sorted(told.ties) if told else None, made.record.message


@given(full_clusters() | minding_clusters(), st.none() | st.integers(0, 2), st.data())
def test_many_at_once_say_the_same_as_one_by_one(cluster, allowed, data):
    some, pods, pod = cluster
    pod.priority = 2
    others = [] if allowed is None else [budget(allowed)]
    nodes = make.told(make.snapshot(some, pods), *others)
    nominated = {
        name: [
            make.pod(f"w-{name}", priority=data.draw(st.integers(1, 3)), requests=BIG),
            data.draw(spread_pods(name=f"s-{name}")),
        ]
        for name in nodes.names
        if data.draw(st.booleans())
    }
    at_once, single = default_profile(), default_profile()
    single.room_trial = lambda *args: None  # type: ignore[method-assign]
    assert weighed(pod, nodes, at_once, nominated) == weighed(pod, nodes, single, nominated)


@given(full_clusters(), st.randoms())
def test_the_order_of_nodes_means_nothing(cluster, chance):
    some, pods, pod = cluster
    mixed = some.copy()
    chance.shuffle(mixed)
    one = weighed(pod, make.snapshot(some, pods), default_profile(), {})
    assert one == weighed(pod, make.snapshot(mixed, pods), default_profile(), {})


@given(full_clusters())
def test_with_the_victims_gone_the_pod_fits_and_none_of_them_could_have_stayed(cluster):
    some, pods, pod = cluster
    after = attempt(pod, make.snapshot(some, pods)).after
    if after is None or after.status.code is not Code.SUCCESS:
        return
    left = [one for one in pods if one not in after.victims]
    promised = make.pod("boss", status={"nominatedNodeName": after.nominated_node_name})
    pod.nominated_node_name = promised.nominated_node_name
    assert attempt(pod, make.snapshot(some, left)).chosen == after.nominated_node_name
    for victim in after.victims:
        assert victim.priority < pod.priority
        nodes = make.snapshot(some, [*left, victim])
        assert attempt(pod, nodes).chosen != after.nominated_node_name
