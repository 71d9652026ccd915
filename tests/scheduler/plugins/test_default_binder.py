"""DefaultBinder asks the world to bind."""

from __future__ import annotations

from schedviz.scheduler.framework import CycleState
from schedviz.scheduler.framework.steps import Bind, PodRef
from schedviz.scheduler.plugins.default_binder import DefaultBinder
from tests import make


def test_the_pod_is_bound_as_it_was_seen():
    pod = make.pod("p", meta={"uid": "u", "resourceVersion": "7"})
    assert DefaultBinder().bind(CycleState(), pod, "n") == Bind(
        PodRef("default", "p", "u", "7"), "n"
    )
