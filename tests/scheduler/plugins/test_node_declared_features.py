"""NodeDeclaredFeatures: a pod that uses a new feature goes only where it is declared."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config import features
from schedviz.scheduler.framework import UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from tests import make

RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
OTHER = UnschedulableAndUnresolvable("node(s) didn't match Pod's required features")
RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
RESTARTING = {"containers": [make.container(restartPolicyRules=RULES)]}
INIT_RESTARTING = {"initContainers": [make.container("i", restartPolicyRules=RULES)]}
RULED = {"containers": [make.container(restartPolicyRules=[{"action": "Restart"}])]}


def declaring(name: str, *names: str):
    return make.node(name, declared_features=names)


NODES = make.snapshot(
    [
        declaring("none"),
        declaring("old", "GuaranteedQoSPodCPUResize"),
        declaring("new", RESTART, "GuaranteedQoSPodCPUResize"),
        declaring("all", RESTART, USERS),
    ]
)


def plugin(**gates: bool) -> NodeDeclaredFeatures:
    made = NodeDeclaredFeatures()
    made.features = features(gates)
    return made


@pytest.mark.parametrize(
    ("spec", "fitting"),
    [
        pytest.param(RESTARTING, {"new", "all"}, id="a container that restarts all"),
        pytest.param(INIT_RESTARTING, {"new", "all"}, id="an init container that restarts all"),
        pytest.param(
            {"hostNetwork": True, "hostUsers": False}, {"all"}, id="own users on the host's network"
        ),
        pytest.param(
            {**RESTARTING, "hostNetwork": True, "hostUsers": False}, {"all"}, id="both of them"
        ),
    ],
)
def test_filter(spec, fitting):
    said = make.filtered(plugin(), make.pod(**spec), NODES)
    assert {name for name, status in said.items() if status.is_success} == fitting
    assert all(status == OTHER for name, status in said.items() if name not in fitting)


@pytest.mark.parametrize(
    ("spec", "gates"),
    [
        pytest.param({}, {}, id="an ordinary pod"),
        pytest.param(RULED, {}, id="a container that restarts itself only"),
        pytest.param({"hostUsers": False}, {}, id="own users on the pod's own network"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, {}, id="the host's users"),
        pytest.param(RESTARTING, {"NodeDeclaredFeatures": False}, id="the gate is off"),
    ],
)
def test_it_skips(spec, gates):
    _, said = make.pre_filtered(plugin(**gates), make.pod(**spec), NODES)
    assert said.code is Code.SKIP


def test_with_the_gate_off_every_node_passes():
    refused = plugin(NodeDeclaredFeatures=False).filter_nodes(None, make.pod(**RESTARTING), NODES)
    assert refused.passed.all()
