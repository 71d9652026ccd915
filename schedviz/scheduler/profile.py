"""A profile: the plugins that one scheduler name runs, and their weights.

Called by whoever starts a session and by the bench. Mirrors pkg/scheduler/profile (v1.36). Left out so far: reading a
KubeSchedulerConfiguration; every profile is the default one.
"""

from __future__ import annotations

from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.plugins import DEFAULT_WEIGHTS, IN_TREE


def default_profile(scheduler_name: str = "default-scheduler") -> Framework:
    """The default plugins in upstream's order with upstream's weights."""
    return Framework(
        scheduler_name, [plugin() for plugin in IN_TREE.values()], weights=DEFAULT_WEIGHTS
    )
