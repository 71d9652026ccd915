"""NodePorts: a port of the node is given out once for each address and protocol."""

from __future__ import annotations

import pytest
from hypothesis import given

from schedviz.scheduler.framework import Unschedulable
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.plugins.node_ports import NodePorts, is_taken
from tests import make, strategies

TAKEN = Unschedulable("node(s) didn't have free ports for the requested pod ports")


def with_ports(name: str, *ports: str, node: str = "", **spec):
    """Each "protocol/address/port"."""
    made = []
    for text in ports:
        protocol, address, port = text.split("/")
        made.append(
            {"containerPort": 1, "hostPort": int(port), "hostIP": address, "protocol": protocol}
        )
    return make.pod(name, node=node, containers=[make.container(ports=made)], **spec)


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        pytest.param("TCP//80", "TCP//81", SUCCESS, id="another port"),
        pytest.param("TCP//80", "TCP//80", TAKEN, id="the same port on all addresses"),
        pytest.param("UDP//80", "TCP//80", SUCCESS, id="another protocol"),
        pytest.param("TCP/10.0.0.1/80", "TCP/10.0.0.2/80", SUCCESS, id="another address"),
        pytest.param("TCP/10.0.0.1/80", "TCP/10.0.0.1/80", TAKEN, id="the same address"),
        pytest.param("TCP//80", "TCP/10.0.0.2/80", TAKEN, id="all addresses meet one"),
        pytest.param("TCP/10.0.0.1/80", "TCP/0.0.0.0/80", TAKEN, id="one meets all addresses"),
    ],
)
def test_filter(wanted, used, expected):
    nodes = make.snapshot([make.node("n")], [with_ports("user", used, node="n")])
    assert make.filtered(NodePorts(), with_ports("p", wanted), nodes) == {"n": expected}


def test_a_pod_without_host_ports_is_skipped():
    _, said = make.pre_filtered(NodePorts(), make.pod(), make.snapshot([]))
    assert said.code is Code.SKIP


@pytest.mark.parametrize(
    ("policy", "n"), [pytest.param("Always", 1, id="sidecar"), pytest.param(None, 0, id="init")]
)
def test_of_init_containers_only_sidecars_count(policy, n):
    init = make.container("i", ports=[{"containerPort": 1, "hostPort": 80}])
    init["restartPolicy"] = policy
    assert len(make.pod(initContainers=[init]).host_ports) == n


def test_host_network_takes_container_ports_of_the_node():
    pod = make.pod(hostNetwork=True, containers=[make.container(ports=[{"containerPort": 53}])])
    assert [port.port for port in pod.host_ports] == [53]


@given(strategies.clusters())
def test_columns_agree_with_one_node_at_a_time(cluster):
    nodes, pod = cluster
    said = make.filtered(NodePorts(), pod, nodes)
    for info in nodes.infos:
        collides = any(
            (used.protocol, used.port) == (wanted.protocol, wanted.port)
            and is_taken(wanted, frozenset({used.ip}))
            for wanted in pod.host_ports
            for used in info.used_ports
        )
        assert said[info.name].is_success != collides
