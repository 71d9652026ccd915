"""What a pod asks for, summed as kube-scheduler sums it."""

from __future__ import annotations

import pytest

from tests import make

MIB = 1 << 20


def one(cpu=None, limit=None, name="c", **fields):
    return make.container(
        name, requests={"cpu": cpu} if cpu else {}, limits={"cpu": limit} if limit else {}, **fields
    )


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "milli_cpu"),
    [
        pytest.param({"containers": [one("1"), one("500m")]}, 1500, id="containers add up"),
        pytest.param({"containers": [one(limit="2")]}, 2000, id="a limit is the default request"),
        pytest.param({"containers": [one("1", "2")]}, 1000, id="a request comes before its limit"),
        pytest.param(
            {"containers": [one("1")], "initContainers": [one("3"), one("2")]},
            3000,
            id="the largest init container",
        ),
        pytest.param(
            {"containers": [one("1")], "initContainers": [one("1", **SIDECAR), one("3")]},
            4000,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {"containers": [one("1")], "initContainers": [one("3"), one("1", **SIDECAR)]},
            3000,
            id="not beside those behind it",
        ),
        pytest.param({"containers": [one("1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead"),
        pytest.param(
            {"containers": [one("1")], "resources": {"requests": {"cpu": "4"}}},
            4000,
            id="the pod's own request replaces the sum",
        ),
        pytest.param(
            {"containers": [one("1")], "resources": {"limits": {"cpu": "4"}}},
            1000,
            id="a limit of the pod leaves the sum",
        ),
        pytest.param(
            {"containers": [one()], "resources": {"limits": {"cpu": "4"}}},
            4000,
            id="a limit of the pod is the request where no container asks",
        ),
    ],
)
def test_requests(spec, milli_cpu):
    assert make.pod(**spec).requests["cpu"] == milli_cpu


def running(allocated=None, actual=None, conditions=()):
    status = {"name": "c", "resources": {"requests": {"cpu": actual}} if actual else None}
    if allocated:
        status["allocatedResources"] = {"cpu": allocated}
    return {"containerStatuses": [status], "conditions": list(conditions)}


INFEASIBLE = {"type": "PodResizePending", "reason": "Infeasible"}


@pytest.mark.parametrize(
    ("status", "node", "milli_cpu"),
    [
        pytest.param(running("1", "3"), "n", 3000, id="the running amount is larger"),
        pytest.param(running("4", "3"), "n", 4000, id="the allocated amount is larger"),
        pytest.param(running("1", "1"), "n", 2000, id="the wanted amount is larger"),
        pytest.param(running("1", "1", [INFEASIBLE]), "n", 1000, id="infeasible: not the wanted"),
        pytest.param(running("4", "3"), "", 2000, id="a pending pod has only its wish"),
    ],
)
def test_in_place_resize(status, node, milli_cpu):
    pod = make.pod(node=node, containers=[one("2")], status=status)
    assert pod.requests["cpu"] == milli_cpu


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"cpu": 100, "memory": 200 * MIB}, id="nothing asked"),
        pytest.param(
            {"containers": [one("0")]}, {"cpu": 0, "memory": 200 * MIB}, id="zero is asked"
        ),
        pytest.param(
            {"containers": [one("1"), one()]},
            {"cpu": 1100, "memory": 400 * MIB},
            id="container by container",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "2"}}},
            {"cpu": 2000, "memory": 200 * MIB},
            id="the pod's own request is taken as it is",
        ),
    ],
)
def test_what_a_node_counts_for_scoring(spec, expected):
    assert make.pod(**spec).non_zero == expected


def test_scoring_of_the_pod_itself_ignores_pod_level_resources():
    assert make.pod(resources={"requests": {"cpu": "4"}}).score_requests["cpu"] == 100
