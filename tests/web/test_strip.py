"""A cycle as a strip: each extension point in a word."""

from __future__ import annotations

import pytest

from schedviz.web import frames
from schedviz.web.strip import strip
from tests.web import sample


def states(record):
    made = strip(frames.cycle_in_short(record))
    return {point.name: (point.state, point.text) for point in [*made.scheduling, *made.binding]}


def test_it_works():
    said = states(sample.bound(sample.record(1, sample.pod_ref(1))))
    assert said["PreFilter"] == ("done", "1 ran, 1 skipped")
    assert said["Filter"] == ("done", "6 → 3 nodes")
    assert said["PostFilter"] == ("skip", "not needed")
    assert said["Score"] == ("done", "5 plugins")
    assert said["Bind"][0] == "done"


def test_the_binding_is_under_way():
    said = states(sample.record(1, sample.pod_ref(1)))
    assert said["Bind"] == ("wait", "under way")
    assert said["PostBind"] == ("none", "")


@pytest.mark.parametrize("point", ["Score", "Reserve", "Bind"])
def test_what_an_unschedulable_pod_does_not_reach(point):
    said = states(sample.record(1, sample.pod_ref(1), n_passing=0))
    assert said["Filter"] == ("fail", "6 → 0 nodes")
    assert said[point] == ("none", "not reached")


def test_one_node_is_not_scored():
    said = states(sample.record(1, sample.pod_ref(1), n_passing=1))
    assert said["Score"] == ("skip", "only one node")


def test_a_binding_that_failed():
    record = sample.bound(sample.record(1, sample.pod_ref(1)))
    record.outcome = "bind_failed"
    assert states(record)["Bind"][0] == "fail"


def test_a_score_that_failed():
    record = sample.record(1, sample.pod_ref(1))
    record.outcome, record.chosen = "error", ""
    record.steps = [step for step in record.steps if step.point not in ("Reserve", "Permit")]
    del record.step_durations[len(record.steps) :]
    record.message = 'running Score plugins: plugin "A" failed'
    said = states(record)
    assert said["Score"] == ("fail", "failed")
    assert said["Reserve"] == said["Permit"] == ("none", "not reached")
