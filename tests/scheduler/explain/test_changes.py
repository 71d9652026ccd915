"""The smallest changes that would help: proposed from verdicts, told only when the filters let the pod through."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from schedviz.kube.objects import Node, Pod
from schedviz.scheduler.explain import find
from schedviz.scheduler.explain.proposals import amount
from schedviz.scheduler.explain.world import World
from schedviz.scheduler.profile import default_profile
from tests import make

ZONE = "topology.kubernetes.io/zone"


def found(pod: Pod, *others: Node | Pod):
    return find(default_profile(), [pod, *others], pod.uid)


def told(pod: Pod, *others: Node | Pod) -> dict[str, list[tuple[str, ...]]]:
    """kind -> the edits of its changes."""
    said: dict[str, list[tuple[str, ...]]] = {}
    for change in found(pod, *others).changes:
        said.setdefault(change.kind, []).append(change.edits)
    return said


def wanting(**requests: str) -> Pod:
    return make.pod("p", requests=requests)


def spread(key: str) -> dict:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "p"}},
    }


def anti(key: str) -> dict:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "p"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def node_affinity(*expressions: dict) -> dict:
    terms = [{"matchExpressions": list(expressions)}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


MINE = {"app": "p"}
CASES = [
    pytest.param(
        wanting(cpu="4"),
        [make.node("n", allocatable={"cpu": "4"}), make.pod("o", node="n", requests={"cpu": "1"})],
        [("ask for 3 cpu instead of 4",)],
        id="asking for less",
    ),
    pytest.param(
        wanting(cpu="1", **{"example.com/gpu": "1"}),
        [make.node("n")],
        [("ask for no example.com/gpu",)],
        id="a resource that no node has",
    ),
    pytest.param(
        make.pod("p"),
        [make.node("n", taints=["dedicated=ml:NoSchedule"])],
        [("tolerate the taint dedicated=ml:NoSchedule",)],
        id="a toleration",
    ),
    pytest.param(
        make.pod("p", nodeSelector={"disk": "ssd", ZONE: "a"}),
        [make.node("n", labels={ZONE: "a"})],
        [("drop disk=ssd from the node selector",)],
        id="the key of the selector that the node lacks, and no other",
    ),
    pytest.param(
        make.pod(
            "p",
            affinity=node_affinity(
                {"key": ZONE, "operator": "In", "values": ["a"]},
                {"key": "disk", "operator": "Exists"},
            ),
        ),
        [make.node("n", labels={ZONE: "a"})],
        [("drop disk Exists from the required node affinity",)],
        id="one expression of an affinity term",
    ),
    pytest.param(
        make.pod("p", containers=[make.container(ports=[{"containerPort": 80, "hostPort": 80}])]),
        [
            make.node("n"),
            make.pod(
                "o",
                node="n",
                containers=[make.container(ports=[{"containerPort": 80, "hostPort": 80}])],
            ),
        ],
        [("do without host port 80/TCP",)],
        id="a host port",
    ),
    pytest.param(
        make.pod("p", labels=MINE, topologySpreadConstraints=[spread(ZONE)]),
        [
            make.node("a", labels={ZONE: "a"}),
            make.node("b", labels={ZONE: "b"}, unschedulable=True),
            make.pod("o", node="a", labels=MINE),
        ],
        [(f"let the spread over {ZONE} be ScheduleAnyway",)],
        id="a spread constraint",
    ),
    pytest.param(
        make.pod("p", labels=MINE, affinity=anti(ZONE)),
        [make.node("a", labels={ZONE: "a"}), make.pod("o", node="a", labels=MINE)],
        [(f"drop the required podAntiAffinity term over {ZONE}",)],
        id="an anti-affinity term",
    ),
    pytest.param(
        make.pod("p", requests={"cpu": "5"}),
        [make.node("n", taints=["x:NoSchedule"])],
        [("ask for 4 cpu instead of 5", "tolerate the taint x:NoSchedule")],
        id="two changes where one is not enough",
    ),
]


@pytest.mark.parametrize(("pod", "others", "edits"), CASES)
def test_the_manifest_is_changed_as_little_as_helps(pod, others, edits):
    said = told(pod, *others)["pod"]
    assert [tuple(sorted(one)) for one in said] == [tuple(sorted(one)) for one in edits]


def test_the_smaller_change_comes_first_and_its_node_is_the_one_that_costs_least():
    near = make.node("near", allocatable={"cpu": "3"})
    far = make.node("far", allocatable={"cpu": "1"})
    other = make.node("tainted", taints=["x:NoSchedule"])
    said = told(wanting(cpu="4"), far, near, other)["pod"]
    assert said == [("tolerate the taint x:NoSchedule",), ("ask for 3 cpu instead of 4",)]


def test_a_pod_that_could_go_is_named_the_least_important_first():
    nodes = [make.node("n", allocatable={"cpu": "2"}), make.node("m", allocatable={"cpu": "2"})]
    there = [
        make.pod("small", node="n", requests={"cpu": "500m"}, priority=1),
        make.pod("low", node="n", requests={"cpu": "1500m"}, priority=5),
        make.pod("high", node="m", requests={"cpu": "2"}, priority=50),
    ]
    said = told(make.pod("p", requests={"cpu": "1500m"}, priority=10), *nodes, *there)["victim"]
    assert said == [
        ("pod default/low (priority 5) leaves its node",),
        ("pod default/high (priority 50) leaves its node",),
    ]


def test_a_cordoned_node_is_uncordoned_not_tolerated():
    taint = "node.kubernetes.io/unschedulable:NoSchedule"
    said = told(make.pod("p"), make.node("n", unschedulable=True, taints=[taint]))
    assert said["uncordon"] == [("uncordon node n",)]
    assert "pod" not in said


def test_a_node_that_was_uncordoned_in_thought_is_cordoned_for_the_next_question():
    cordoned = make.node("n", unschedulable=True)
    world = World(default_profile(), [make.pod("p"), cordoned], "default/p")
    with world.with_node(make.node("n")):
        assert world.tried(world.pod).passing == ["n"]
    tried = world.tried(world.pod)
    assert tried.passing == [] and tried.nodes.infos[0].node is cordoned


def test_a_node_of_the_right_shape_is_described():
    pod = make.pod("p", requests={"cpu": "64", "memory": "1Gi"}, nodeSelector={"disk": "ssd"})
    assert told(pod, make.node("n"))["node"] == [("add a node with 64 cpu, 1Gi memory, disk=ssd",)]


def test_a_new_node_must_stand_where_the_spread_allows_it():
    pod = make.pod(
        "p", labels=MINE, requests={"cpu": "8"}, topologySpreadConstraints=[spread(ZONE)]
    )
    nodes = [make.node("a", labels={ZONE: "a"}), make.node("b", labels={ZONE: "b"})]
    said = told(pod, *nodes, make.pod("o", node="a", labels=MINE))
    assert said["node"] == [(f"add a node with 8 cpu, {ZONE}=b",)]


def test_a_pod_that_fits_now_needs_nothing():
    said = found(make.pod("p"), make.node("n"))
    assert (said.passing, said.changes) == (("n",), ())


def test_without_nodes_a_node_helps():
    assert told(wanting(cpu="1")) == {"node": [("add a node with 1 cpu",)]}


def test_room_promised_to_others_counts():
    promised = make.pod("o", requests={"cpu": "4"}, priority=9, status={"nominatedNodeName": "n"})
    said = found(wanting(cpu="1"), make.node("n"), promised)
    assert said.passing == ()
    assert {one.kind for one in said.changes} == {"node"}


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([], id="gone"),
        pytest.param([make.pod("p", node="n"), make.node("n")], id="placed"),
    ],
)
def test_a_pod_that_is_not_pending_is_no_question(others):
    with pytest.raises(LookupError):
        find(default_profile(), others, "default/p")


@pytest.mark.parametrize(
    ("resource", "n", "words"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 3 << 30, "3Gi"),
        ("memory", 1000, "1000"),
        ("example.com/gpu", 1024, "1024"),
    ],
)
def test_amounts_are_written_as_in_a_manifest(resource, n, words):
    assert amount(resource, n) == words


NODES = some.lists(
    some.builds(
        lambda cpu, zone, taint, cordoned: {
            "allocatable": {"cpu": str(cpu)},
            "labels": {ZONE: zone},
            "taints": [taint] if taint else [],
            "unschedulable": cordoned,
        },
        some.integers(1, 4),
        some.sampled_from("ab"),
        some.sampled_from(["", "x:NoSchedule", "y=1:NoExecute"]),
        some.booleans(),
    ),
    max_size=4,
)


@settings(max_examples=60)
@given(NODES, some.integers(1, 6), some.sampled_from([{}, {ZONE: "a"}, {"disk": "ssd"}]))
def test_every_change_told_names_nodes_and_asking_leaves_the_world_as_it_was(nodes, cpu, selector):
    pod = make.pod("p", requests={"cpu": str(cpu)}, nodeSelector=selector)
    there = [make.node(f"n{i}", **words) for i, words in enumerate(nodes)]
    world = World(default_profile(), [pod, *there], pod.uid)
    before = world.tried(world.pod).passing
    said = found(pod, *there)
    assert said.n_nodes == len(there)
    assert list(said.passing) == before[:3]
    assert bool(before) != bool(said.changes)
    assert all(change.n_nodes >= 1 and change.edits for change in said.changes)
    assert [change.kind for change in said.changes].count("node") <= 1
