"""Each default plugin's hints: which change may help a pod that it refused, and which can't."""

from __future__ import annotations

from typing import Any

import pytest

from schedviz.kube.objects import KubeObject, Pod
from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent, Hinted, event_of
from schedviz.scheduler.plugins import IN_TREE
from tests.make import claim, container, node, other, pod, using

ADD, DELETE = ActionType.ADD, ActionType.DELETE
NODE_ADD = ClusterEvent("Node", ADD)
NODE_DELETE = ClusterEvent("Node", DELETE)
NODE_LABEL = ClusterEvent("Node", ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent("Node", ActionType.UPDATE_NODE_TAINT)
NODE_ROOM = ClusterEvent("Node", ActionType.UPDATE_NODE_ALLOCATABLE)
NODE_FEATURE = ClusterEvent("Node", ActionType.UPDATE_NODE_DECLARED_FEATURE)
POD_ADD = ClusterEvent("AssignedPod", ADD)
POD_DELETE = ClusterEvent("AssignedPod", DELETE)
POD_LABEL = ClusterEvent("AssignedPod", ActionType.UPDATE_POD_LABEL)
POD_LESS = ClusterEvent("AssignedPod", ActionType.UPDATE_POD_SCALE_DOWN)
OWN_TOLERATION = ClusterEvent("UnscheduledPod", ActionType.UPDATE_POD_TOLERATIONS)
OWN_GATES = ClusterEvent("UnscheduledPod", ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
OWN = ClusterEvent("UnscheduledPod", ActionType.UPDATE_OTHER)


def event(kind: str, action: ActionType = ActionType.UPDATE_OTHER) -> ClusterEvent:
    return ClusterEvent(kind, action)


def wakes(
    plugin: str,
    happened: ClusterEvent,
    refused: Pod,
    old: KubeObject | None,
    new: KubeObject | None,
) -> bool:
    """As the queue asks: any registration that the event matches, and its hint."""
    registered = IN_TREE[plugin]().events_to_register()
    return any(
        not isinstance(one, Hinted) or one.may_help(refused, old, new)
        for one in registered
        if happened.matches(event_of(one))
    )


def check(plugin: str, case: tuple[Any, ...]) -> None:
    happened, refused, old, new, expected = case
    assert wakes(plugin, happened, refused, old, new) is expected


P = pod("p", requests={"cpu": "2"})
CORDONED = node("n", unschedulable=True)
TOLERANT = pod("p", tolerations=["node.kubernetes.io/unschedulable:NoSchedule"])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((NODE_ADD, P, None, node("n"), True), id="a node that is open"),
        pytest.param((NODE_ADD, P, None, CORDONED, False), id="a cordoned node"),
        pytest.param((NODE_TAINT, P, CORDONED, node("n"), True), id="a node is uncordoned"),
        pytest.param((OWN_TOLERATION, P, P, TOLERANT, True), id="it tolerates cordons now"),
        pytest.param(
            (OWN_TOLERATION, P, P, pod("p", tolerations=["x:NoSchedule"]), False),
            id="it tolerates something else",
        ),
        pytest.param(
            (OWN_TOLERATION, pod("q"), P, TOLERANT, False), id="another pod tolerates cordons"
        ),
        pytest.param((POD_DELETE, P, pod("x", node="n"), None, False), id="a pod leaves"),
    ],
)
def test_node_unschedulable(case):
    check("NodeUnschedulable", case)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((NODE_ADD, P, None, node("n"), True), id="a node joins"),
        pytest.param((NODE_LABEL, P, node("n"), node("n"), False), id="a node changes"),
        pytest.param((POD_DELETE, P, pod("x", node="n"), None, False), id="a pod leaves"),
    ],
)
def test_node_name(case):
    check("NodeName", case)


TAINTED = node("n", taints=["a=x:NoSchedule"])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((NODE_ADD, P, None, node("n"), True), id="a node without taints"),
        pytest.param((NODE_ADD, P, None, TAINTED, False), id="a node with such a taint"),
        pytest.param((NODE_TAINT, P, TAINTED, node("n"), True), id="the taint is gone"),
        pytest.param(
            (NODE_TAINT, P, node("n"), node("n", taints=["b:PreferNoSchedule"]), False),
            id="a node that was no trouble before",
        ),
        pytest.param((NODE_TAINT, P, TAINTED, TAINTED, False), id="the taint is still there"),
        pytest.param((OWN_TOLERATION, P, P, pod("p"), True), id="its own tolerations"),
        pytest.param((OWN_TOLERATION, P, pod("x"), pod("x"), False), id="another's tolerations"),
    ],
)
def test_taint_toleration(case):
    check("TaintToleration", case)


ON_SSD = pod("p", nodeSelector={"disk": "ssd"})
SSD, HDD = node("n", labels={"disk": "ssd"}), node("n", labels={"disk": "hdd"})
IN_ZONE = pod(
    "p",
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    },
)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((NODE_ADD, ON_SSD, None, SSD, True), id="a node that it selects"),
        pytest.param((NODE_ADD, ON_SSD, None, HDD, False), id="a node that it does not select"),
        pytest.param((NODE_LABEL, ON_SSD, HDD, SSD, True), id="it selects the node now"),
        pytest.param((NODE_LABEL, ON_SSD, SSD, SSD, False), id="it selected the node before"),
        pytest.param((NODE_LABEL, ON_SSD, SSD, HDD, False), id="it selects the node no more"),
        pytest.param(
            (NODE_ADD, IN_ZONE, None, node("n", labels={"zone": "a"}), True), id="a required term"
        ),
        pytest.param((NODE_ADD, IN_ZONE, None, SSD, False), id="a required term without match"),
        pytest.param((NODE_TAINT, ON_SSD, HDD, SSD, False), id="taints"),
    ],
)
def test_node_affinity(case):
    check("NodeAffinity", case)


def on_port(name: str, port: int, ip: str = "", protocol: str = "TCP", **words: Any) -> Pod:
    ports = [{"containerPort": 1, "hostPort": port, "hostIP": ip, "protocol": protocol}]
    return pod(name, containers=[container(ports=ports)], **words)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (POD_DELETE, on_port("p", 80), on_port("x", 80, node="n"), None, True), id="its port"
        ),
        pytest.param(
            (POD_DELETE, on_port("p", 80), on_port("x", 81, node="n"), None, False),
            id="another port",
        ),
        pytest.param(
            (POD_DELETE, on_port("p", 80), on_port("x", 80, protocol="UDP", node="n"), None, False),
            id="another protocol",
        ),
        pytest.param(
            (
                POD_DELETE,
                on_port("p", 80, "10.0.0.1"),
                on_port("x", 80, "10.0.0.2", node="n"),
                None,
                False,
            ),
            id="another address",
        ),
        pytest.param(
            (POD_DELETE, on_port("p", 80), pod("x", node="n"), None, False), id="no port at all"
        ),
        pytest.param((NODE_ADD, on_port("p", 80), None, node("n"), True), id="a node joins"),
        pytest.param(
            (POD_ADD, on_port("p", 80), None, on_port("x", 80, node="n"), False), id="a pod comes"
        ),
    ],
)
def test_node_ports(case):
    check("NodePorts", case)


def roomy(**rooms: str) -> KubeObject:
    return node("n", allocatable=rooms)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((POD_DELETE, P, pod("x", node="n"), None, True), id="a pod leaves its node"),
        pytest.param((POD_DELETE, P, pod("x"), None, False), id="a pod that had none"),
        pytest.param(
            (POD_DELETE, P, pod("x", status={"nominatedNodeName": "n"}), None, True),
            id="a pod that had a nomination",
        ),
        pytest.param(
            (
                POD_LESS,
                P,
                pod("x", node="n", requests={"cpu": "2"}),
                pod("x", node="n", requests={"cpu": "1"}),
                True,
            ),
            id="a pod asks for less of what it wants",
        ),
        pytest.param(
            (
                POD_LESS,
                P,
                pod("x", node="n", requests={"memory": "2Gi"}),
                pod("x", node="n", requests={"memory": "1Gi"}),
                False,
            ),
            id="a pod asks for less of something else",
        ),
        pytest.param(
            (POD_LESS, P, P, pod("p", requests={"cpu": "1"}), True), id="it asks for less itself"
        ),
        pytest.param((NODE_ADD, P, None, roomy(cpu="2"), True), id="a node with room for it"),
        pytest.param((NODE_ADD, P, None, roomy(cpu="1"), False), id="a node too small for it"),
        pytest.param((NODE_ADD, P, None, roomy(pods="0"), False), id="a node for no pods"),
        pytest.param(
            (NODE_ROOM, P, roomy(cpu="1"), roomy(cpu="2"), True), id="a node grows enough"
        ),
        pytest.param(
            (NODE_ROOM, P, roomy(cpu="1"), roomy(cpu="1500m"), False), id="a node grows too little"
        ),
        pytest.param(
            (NODE_ROOM, P, roomy(cpu="4"), roomy(cpu="3"), False), id="a large node shrinks"
        ),
        pytest.param(
            (NODE_ROOM, P, roomy(memory="1Gi"), roomy(memory="9Gi"), False),
            id="a node grows in something else",
        ),
        pytest.param(
            (NODE_ROOM, P, roomy(pods="10"), roomy(pods="11"), True), id="a node takes more pods"
        ),
        pytest.param((POD_ADD, P, None, pod("x", node="n"), False), id="a pod comes"),
    ],
)
def test_node_resources_fit(case):
    check("NodeResourcesFit", case)


def spread(key: str = "zone", **words: Any) -> Pod:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    constraint |= {"labelSelector": selector, **words}
    return pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint])


def web(name: str = "x", *, app: str = "web", **words: Any) -> Pod:
    return pod(name, labels={"app": app}, node="n", **words)


ZONE_A, ZONE_B = node("n", labels={"zone": "a"}), node("n", labels={"zone": "b"})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((POD_ADD, spread(), None, web(), True), id="a pod that counts comes"),
        pytest.param((POD_DELETE, spread(), web(), None, True), id="a pod that counts leaves"),
        pytest.param(
            (POD_ADD, spread(), None, web(app="db"), False), id="a pod that does not count"
        ),
        pytest.param(
            (POD_DELETE, spread(), web(namespace="other"), None, False), id="another namespace's"
        ),
        pytest.param((POD_LABEL, spread(), web(app="db"), web(), True), id="a pod counts now"),
        pytest.param(
            (POD_LABEL, spread(), web(), web(meta={"annotations": {}}), False),
            id="it counted before",
        ),
        pytest.param((NODE_ADD, spread(), None, ZONE_A, True), id="a node of a domain joins"),
        pytest.param((NODE_ADD, spread(), None, node("n"), False), id="a node without the key"),
        pytest.param((NODE_DELETE, spread(), ZONE_A, None, True), id="a node of a domain leaves"),
        pytest.param((NODE_LABEL, spread(), ZONE_A, ZONE_B, True), id="a node changes domains"),
        pytest.param(
            (NODE_LABEL, spread(), ZONE_A, ZONE_A, False), id="a node stays in its domain"
        ),
        pytest.param(
            (
                NODE_TAINT,
                spread(nodeTaintsPolicy="Honor"),
                node("n", labels={"zone": "a"}, taints=["a:NoSchedule"]),
                ZONE_A,
                True,
            ),
            id="a taint goes, and taints are honoured",
        ),
        pytest.param(
            (
                NODE_TAINT,
                spread(),
                node("n", labels={"zone": "a"}, taints=["a:NoSchedule"]),
                ZONE_A,
                False,
            ),
            id="a taint goes, and taints are ignored",
        ),
        pytest.param((NODE_ADD, P, None, node("n"), True), id="default constraints: anything"),
    ],
)
def test_pod_topology_spread(case):
    check("PodTopologySpread", case)


def near(kind: str = "podAffinity", *, key: str = "zone", **words: Any) -> Pod:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}, **words}
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod("p", affinity=affinity)


def away(**words: Any) -> Pod:
    return near("podAntiAffinity", **words)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((POD_ADD, near(), None, web(), True), id="company comes"),
        pytest.param((POD_ADD, near(), None, web(app="db"), False), id="a stranger comes"),
        pytest.param(
            (POD_ADD, near(), None, web(namespace="other"), False), id="another namespace's comes"
        ),
        pytest.param(
            (POD_ADD, near(namespaceSelector={}), None, web(namespace="other"), True),
            id="another namespace's, which may be selected",
        ),
        pytest.param(
            (POD_LABEL, near(), web(app="db"), web(), True), id="a stranger becomes company"
        ),
        pytest.param((POD_LABEL, near(), web(), web(), False), id="company stays company"),
        pytest.param((POD_DELETE, near(), web(), None, False), id="company leaves"),
        pytest.param((POD_DELETE, away(), web(), None, True), id="whom it avoids leaves"),
        pytest.param((POD_DELETE, away(), web(app="db"), None, False), id="a stranger leaves"),
        pytest.param((POD_ADD, away(), None, web(), False), id="whom it avoids comes"),
        pytest.param(
            (POD_LABEL, away(), web(), web(app="db"), True), id="whom it avoids becomes a stranger"
        ),
        pytest.param((NODE_ADD, near(), None, ZONE_A, True), id="a node of a domain joins"),
        pytest.param((NODE_ADD, near(), None, node("n"), False), id="a node without the key"),
        pytest.param((NODE_LABEL, near(), ZONE_A, ZONE_B, True), id="a node changes domains"),
        pytest.param((NODE_LABEL, near(), ZONE_A, ZONE_A, False), id="a node stays in its domain"),
        pytest.param((NODE_LABEL, near(), ZONE_A, node("n"), False), id="a node leaves its domain"),
        pytest.param(
            (NODE_LABEL, away(), ZONE_A, node("n"), True), id="a node leaves the domain to avoid"
        ),
        pytest.param((NODE_ADD, away(), None, node("n"), True), id="a node joins, outside of all"),
    ],
)
def test_inter_pod_affinity(case):
    check("InterPodAffinity", case)


def test_a_pod_that_kept_others_away_leaves():
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    hermit = pod("x", node="n", affinity=affinity)
    assert wakes("InterPodAffinity", POD_DELETE, web("p"), hermit, None)
    assert not wakes("InterPodAffinity", POD_DELETE, web("p", app="db"), hermit, None)


DISK = {"name": "d", "gcePersistentDisk": {"pdName": "one"}}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (POD_DELETE, using("c"), using("c", name="x", node="n"), None, True),
            id="its claim is free",
        ),
        pytest.param(
            (POD_DELETE, using("c"), using("d", name="x", node="n"), None, False),
            id="another claim",
        ),
        pytest.param(
            (POD_DELETE, pod("p", volumes=[DISK]), pod("x", node="n", volumes=[DISK]), None, True),
            id="its disk is free",
        ),
        pytest.param((POD_DELETE, using("c"), pod("x", node="n"), None, False), id="no volume"),
        pytest.param(
            (event("PersistentVolumeClaim", ADD), using("c"), None, claim("c"), True),
            id="its claim comes",
        ),
        pytest.param(
            (event("PersistentVolumeClaim", ADD), using("c"), None, claim("d"), False),
            id="another claim comes",
        ),
        pytest.param((NODE_ADD, using("c"), None, node("n"), True), id="a node joins"),
    ],
)
def test_volume_restrictions(case):
    check("VolumeRestrictions", case)


def csi_node(count: int | None) -> KubeObject:
    driver = {"name": "d", "allocatable": {} if count is None else {"count": count}}
    return other("CSINode", "n", spec={"drivers": [driver]})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (event("CSINode", ADD), using("c"), None, csi_node(1), True), id="a CSINode comes"
        ),
        pytest.param(
            (event("CSINode"), using("c"), csi_node(1), csi_node(2), True), id="a higher limit"
        ),
        pytest.param(
            (event("CSINode"), using("c"), csi_node(2), csi_node(1), False), id="a lower limit"
        ),
        pytest.param(
            (event("CSINode"), using("c"), csi_node(2), csi_node(None), True),
            id="a limit is lifted",
        ),
        pytest.param(
            (POD_DELETE, using("c"), using("d", name="x", node="n"), None, True),
            id="a user of volumes leaves",
        ),
        pytest.param(
            (POD_DELETE, using("c"), pod("x", node="n"), None, False), id="another leaves"
        ),
        pytest.param(
            (event("PersistentVolumeClaim", ADD), using("c"), None, claim("c"), True),
            id="its claim comes",
        ),
        pytest.param(
            (
                event("VolumeAttachment", DELETE),
                using("c"),
                other("VolumeAttachment", "v"),
                None,
                True,
            ),
            id="a volume is detached",
        ),
    ],
)
def test_node_volume_limits(case):
    check("NodeVolumeLimits", case)


def volume(name: str = "v", **labels: str) -> KubeObject:
    return other("PersistentVolume", name, meta={"labels": labels}, spec={})


def storage_class(mode: str = "Immediate", **fields: Any) -> KubeObject:
    return other("StorageClass", "s", volumeBindingMode=mode, **fields)


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (
                event("StorageClass", ADD),
                using("c"),
                None,
                storage_class("WaitForFirstConsumer"),
                True,
            ),
            id="a class that waits for pods comes",
        ),
        pytest.param(
            (event("StorageClass", ADD), using("c"), None, storage_class(), False),
            id="another class comes",
        ),
        pytest.param(
            (event("PersistentVolume", ADD), using("c"), None, volume(), True), id="a volume comes"
        ),
        pytest.param(
            (
                event("PersistentVolume"),
                using("c"),
                volume(**{ZONE: "a"}),
                volume(**{ZONE: "b"}),
                True,
            ),
            id="a volume is in another zone",
        ),
        pytest.param(
            (event("PersistentVolume"), using("c"), volume(x="a"), volume(x="b"), False),
            id="another label of a volume",
        ),
        pytest.param(
            (event("PersistentVolumeClaim"), using("c"), claim("c"), claim("c", volume="v"), True),
            id="its claim is bound",
        ),
        pytest.param(
            (event("PersistentVolumeClaim"), using("c"), claim("d"), claim("d"), False),
            id="another claim",
        ),
        pytest.param((NODE_ADD, using("c"), None, node("n"), True), id="a node joins"),
    ],
)
def test_volume_zone(case):
    check("VolumeZone", case)


def capacity(amount: str = "", most: str = "") -> KubeObject:
    amounts = {"capacity": amount, "maximumVolumeSize": most}
    return other("CSIStorageCapacity", "k", **{key: text for key, text in amounts.items() if text})


def driver(counts: bool) -> KubeObject:
    return other("CSIDriver", "d", spec={"storageCapacity": counts})


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            (event("StorageClass", ADD), using("c"), None, storage_class(), True),
            id="a class comes",
        ),
        pytest.param(
            (
                event("StorageClass"),
                using("c"),
                storage_class(),
                storage_class(allowedTopologies=[{"matchLabelExpressions": []}]),
                True,
            ),
            id="a class allows other places",
        ),
        pytest.param(
            (event("StorageClass"), using("c"), storage_class(), storage_class(), False),
            id="something else of a class",
        ),
        pytest.param(
            (event("PersistentVolumeClaim"), using("c"), claim("c"), claim("c"), True),
            id="its claim",
        ),
        pytest.param(
            (event("PersistentVolumeClaim"), using("c"), claim("d"), claim("d"), False),
            id="another claim",
        ),
        pytest.param(
            (event("PersistentVolume", ADD), using("c"), None, volume(), True), id="a volume comes"
        ),
        pytest.param((NODE_LABEL, using("c"), ZONE_A, ZONE_B, True), id="a node's labels"),
        pytest.param((event("CSINode"), using("c"), csi_node(1), csi_node(2), False), id="a limit"),
        pytest.param(
            (event("CSIDriver"), using("c"), driver(True), driver(False), True),
            id="capacity counts no more",
        ),
        pytest.param(
            (event("CSIDriver"), using("c"), driver(False), driver(True), False),
            id="capacity counts now",
        ),
        pytest.param(
            (event("CSIStorageCapacity", ADD), using("c"), None, capacity("1Gi"), True),
            id="storage comes",
        ),
        pytest.param(
            (event("CSIStorageCapacity"), using("c"), capacity("1Gi"), capacity("2Gi"), True),
            id="more storage",
        ),
        pytest.param(
            (event("CSIStorageCapacity"), using("c"), capacity("2Gi"), capacity("1Gi"), False),
            id="less storage",
        ),
        pytest.param(
            (
                event("CSIStorageCapacity"),
                using("c"),
                capacity("9Gi", "1Gi"),
                capacity("9Gi", "2Gi"),
                True,
            ),
            id="larger volumes",
        ),
    ],
)
def test_volume_binding(case):
    check("VolumeBinding", case)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((OWN_GATES, P, P, P, True), id="its own last gate"),
        pytest.param((OWN_GATES, P, pod("x"), pod("x"), False), id="another's last gate"),
    ],
)
def test_scheduling_gates(case):
    check("SchedulingGates", case)


def test_node_declared_features_hears_of_itself_and_of_nodes_that_declare_more():
    assert wakes("NodeDeclaredFeatures", OWN, P, P, P)
    assert not wakes("NodeDeclaredFeatures", OWN, P, pod("x"), pod("x"))
    assert wakes("NodeDeclaredFeatures", NODE_ADD, P, None, node("n"))
    assert not wakes("NodeDeclaredFeatures", NODE_FEATURE, P, node("n"), node("n"))


def test_dynamic_resources_hears_of_itself():
    assert wakes("DynamicResources", OWN, P, P, P)
    assert not wakes("DynamicResources", OWN, P, pod("x"), pod("x"))
