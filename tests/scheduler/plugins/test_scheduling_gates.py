"""SchedulingGates holds pods back, naming the gates in their order."""

from __future__ import annotations

from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.scheduling_gates import SchedulingGates
from tests import make


def test_a_pod_without_gates_may_enter():
    assert SchedulingGates().pre_enqueue(make.pod()) is None


def test_gates_are_named_in_spec_order():
    gated = make.pod(schedulingGates=[{"name": "b"}, {"name": "a"}])
    said = SchedulingGates().pre_enqueue(gated)
    assert said is not None
    assert said.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert said.reasons == ("waiting for scheduling gates: [b a]",)
