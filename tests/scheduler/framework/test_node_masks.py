"""Masks over nodes agree with asking node by node."""

from __future__ import annotations

from hypothesis import given

from schedviz.scheduler.framework.node_masks import (
    required_mask,
    selector_mask,
    tolerated_mask,
)
from tests import make, strategies


@given(strategies.clusters())
def test_required_and_selector(cluster):
    nodes, pod = cluster
    for row, info in enumerate(nodes.infos):
        affinity = pod.required_node_affinity
        matches = affinity is None or affinity.matches(info.labels, info.name)
        selected = pod.node_selector.items() <= info.labels.items()
        assert required_mask(pod, nodes)[row] == (matches and selected)
        if affinity is not None:
            assert selector_mask(affinity, nodes)[row] == matches


@given(strategies.clusters())
def test_tolerated(cluster):
    nodes, pod = cluster
    for row, info in enumerate(nodes.infos):
        left = [
            taint
            for taint in info.node.taints
            if taint.effect != "PreferNoSchedule"
            and not any(t.tolerates(taint) for t in pod.tolerations)
        ]
        assert tolerated_mask(pod.tolerations, nodes)[row] == (not left)


def test_what_was_remembered_is_forgotten_when_a_node_changes():
    nodes, pod = make.snapshot([make.node()]), make.pod(nodeSelector={"a": "x"})
    assert required_mask(pod, nodes).tolist() == [False]
    nodes.update([make.node_info(make.node(labels={"a": "x"}))])
    assert required_mask(pod, nodes).tolist() == [True]
