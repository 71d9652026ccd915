"""The default plugins: one line each, in upstream's order.

Read by `profile`; order and weights of a profile are `config`'s.
Mirrors pkg/scheduler/apis/config/v1/default_plugins.go (v1.36). Registration is this table.
"""

from __future__ import annotations

from schedviz.scheduler.framework import Plugin
from schedviz.scheduler.plugins.default_binder import DefaultBinder
from schedviz.scheduler.plugins.default_preemption import DefaultPreemption
from schedviz.scheduler.plugins.dynamic_resources import DynamicResources
from schedviz.scheduler.plugins.image_locality import ImageLocality
from schedviz.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from schedviz.scheduler.plugins.node_affinity import NodeAffinity
from schedviz.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from schedviz.scheduler.plugins.node_name import NodeName
from schedviz.scheduler.plugins.node_ports import NodePorts
from schedviz.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from schedviz.scheduler.plugins.node_resources_fit import NodeResourcesFit
from schedviz.scheduler.plugins.node_unschedulable import NodeUnschedulable
from schedviz.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from schedviz.scheduler.plugins.pod_topology_spread import PodTopologySpread
from schedviz.scheduler.plugins.priority_sort import PrioritySort
from schedviz.scheduler.plugins.scheduling_gates import SchedulingGates
from schedviz.scheduler.plugins.taint_toleration import TaintToleration
from schedviz.scheduler.plugins.volume_binding import VolumeBinding
from schedviz.scheduler.plugins.volume_restrictions import VolumeRestrictions
from schedviz.scheduler.plugins.volume_zone import VolumeZone

IN_TREE: dict[str, type[Plugin]] = {
    plugin.__name__: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
    )
}
