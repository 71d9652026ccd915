"""DynamicResources lets pods without resource claims pass and says of all others that they are not supported."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import CycleState, Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.dynamic_resources import ERR_REASON_UNSUPPORTED, DynamicResources
from tests import make

NODES = make.snapshot([make.node("a"), make.node("b")])
BY_NAME = [{"name": "gpu", "resourceClaimName": "mine"}]
BY_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "any"}]


def statuses(claim_name: str | None) -> dict:
    return {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": claim_name}]}


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(make.pod(), None, id="no claims"),
        pytest.param(make.pod(resourceClaims=BY_NAME), None, id="a claim by its name"),
        pytest.param(
            make.pod(resourceClaims=BY_TEMPLATE),
            'pod "default/p": ResourceClaim not created yet',
            id="a template whose claim is not made yet",
        ),
        pytest.param(
            make.pod(resourceClaims=BY_TEMPLATE, status=statuses("p-gpu")),
            None,
            id="a template whose claim is made",
        ),
    ],
)
def test_pre_enqueue(pod, reason):
    said = DynamicResources().pre_enqueue(pod)
    assert said == (UnschedulableAndUnresolvable(reason) if reason else None)


@pytest.mark.parametrize(
    ("pod", "is_refused"),
    [
        pytest.param(make.pod(), False, id="no claims"),
        pytest.param(make.pod(resourceClaims=BY_NAME), True, id="a claim"),
        pytest.param(
            make.pod(resourceClaims=BY_TEMPLATE, status=statuses("p-gpu")), True, id="made from one"
        ),
        pytest.param(
            make.pod(resourceClaims=BY_TEMPLATE, status=statuses(None)),
            False,
            id="a template that needs no claim",
        ),
    ],
)
def test_pre_filter(pod, is_refused):
    _, said = make.pre_filtered(DynamicResources(), pod, NODES)
    assert (said == UnschedulableAndUnresolvable(ERR_REASON_UNSUPPORTED)) == is_refused
    assert (said.code is Code.SKIP) != is_refused


def test_scores_are_zero():
    assert make.scored(DynamicResources(), make.pod(), NODES) == {"a": 0, "b": 0}


def test_nothing_is_left_to_deallocate():
    plugin = DynamicResources()
    state, _ = make.pre_filtered(plugin, make.pod(), NODES)
    said = plugin.post_filter(state, make.pod(), NODES, None)
    assert said == Unschedulable("no new claims to deallocate")


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda p, s: p.filter_nodes(s, make.pod(), NODES), id="Filter"),
        pytest.param(lambda p, s: p.post_filter(s, make.pod(), NODES, None), id="PostFilter"),
        pytest.param(lambda p, s: p.reserve(s, make.pod(), "a"), id="Reserve"),
    ],
)
def test_without_its_pre_filter_nothing_is_found(ask):
    with pytest.raises(KeyError, match="not found"):
        ask(DynamicResources(), CycleState())


def test_a_pod_is_reserved_and_bound_without_it():
    plugin = DynamicResources()
    state, _ = make.pre_filtered(plugin, make.pod(), NODES)
    assert plugin.reserve(state, make.pod(), "a") is None
    assert plugin.pre_bind(state, make.pod(), "a").code is Code.SKIP
    assert plugin.filter_nodes(state, make.pod(), NODES).passed.all()
