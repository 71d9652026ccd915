"""The product's plain words: what a lane, an extension point, a plugin's verdict is, for who never read a manual.

Used by `board`, by views and by templates (through the tags of the same name). Kubernetes' terms keep their names; the
words here stand beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.steps import Lane


@dataclass(frozen=True, slots=True)
class LaneWords:
    lane: Lane
    title: str
    caption: str
    meaning: str
    empty: str


LANES: dict[str, LaneWords] = {
    words.lane.value: words
    for words in (
        LaneWords(
            Lane.GATED,
            "Gated",
            "by gates or by hand",
            "Pods with scheduling gates, and pods that an operator holds. They are not tried until the gates are "
            "removed, or until somebody releases them.",
            "Nothing is held back.",
        ),
        LaneWords(
            Lane.UNSCHEDULABLE,
            "Unschedulable",
            "until an event helps",
            "No node could take these pods. They wait for a change in the cluster that may help, "
            "or five minutes at most.",
            "Every pod found a node so far.",
        ),
        LaneWords(
            Lane.BACKOFF,
            "Backoff",
            "next retry first",
            "Pods that failed lately and will be tried again. The wait doubles with each attempt, "
            "from 1 s to 10 s if not configured otherwise; it is cut short when nothing is active.",
            "Nothing waits for a retry.",
        ),
        LaneWords(
            Lane.ACTIVE,
            "Active",
            "next first",
            "Pods that are ready to be tried: the highest priority first, then who came first.",
            "Nothing waits for its turn.",
        ),
        LaneWords(
            Lane.BINDING,
            "Binding",
            "node chosen",
            "A node was chosen; the API server is being told. Other pods are tried meanwhile.",
            "No binding is under way.",
        ),
        LaneWords(
            Lane.BOUND,
            "Bound",
            "latest first",
            "Pods that this session bound to a node lately.",
            "Nothing was bound yet.",
        ),
        LaneWords(
            Lane.MALFORMED,
            "Not readable",
            "mend the pod",
            "These pods have fields that the scheduler cannot read. All other pods go on.",
            "Every pod is readable.",
        ),
    )
}
BOARD_LANES = tuple(lane for lane in LANES if lane != Lane.MALFORMED)
LANE_TITLES = {lane: words.title for lane, words in LANES.items()} | {
    Lane.SCHEDULING.value: "Scheduling",
    Lane.GONE.value: "Deleted",
}

POINTS: dict[str, str] = {
    "PreEnqueue": "May the pod enter the active queue at all?",
    "QueueSort": "Which of two waiting pods is tried first?",
    "PreFilter": "Prepares the filters once for this pod; may skip them or narrow down the nodes.",
    "Filter": "Asks of every node: could this pod run here?",
    "PostFilter": "Only when no node passed: tries to make room, by preemption for example.",
    "PreScore": "Prepares the scores once for the nodes that passed.",
    "Score": "Rates each node that passed; the highest total wins.",
    "Reserve": "Sets aside what the pod needs on the chosen node.",
    "Permit": "Last word before binding: go, stop, or wait.",
    "PreBind": "Does what must be done before the pod can be bound, volumes for example.",
    "Bind": "Tells the API server: this pod runs on that node.",
    "PostBind": "Tidies up after a successful binding.",
}
SCHEDULING_POINTS = ("PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "Permit")
BINDING_POINTS = ("PreBind", "Bind", "PostBind")
SHOWN_POINTS = SCHEDULING_POINTS + BINDING_POINTS

FILTERS: dict[str, str] = {
    "NodeUnschedulable": "not cordoned",
    "NodeName": "the node the pod names",
    "TaintToleration": "taints tolerated",
    "NodeAffinity": "selector and affinity match",
    "NodePorts": "host ports free",
    "NodeResourcesFit": "enough cpu, memory, ... free",
    "VolumeRestrictions": "volumes not in use elsewhere",
    "NodeVolumeLimits": "room for its volumes",
    "VolumeBinding": "volumes can be bound",
    "VolumeZone": "volumes in the zone",
    "PodTopologySpread": "spread constraints kept",
    "InterPodAffinity": "pod affinity kept",
}
DEMANDS = {
    "Too many pods": "room for one more pod",
    "node(s) had untolerated taint(s)": "taints tolerated",
    "node(s) didn't match Pod's node affinity/selector": "selector and affinity match",
    "node(s) didn't match pod anti-affinity rules": "pod anti-affinity kept",
    "node(s) didn't match pod affinity rules": "pod affinity kept",
    "node(s) didn't satisfy existing pods anti-affinity rules": "anti-affinity of pods there kept",
    "node(s) didn't match pod topology spread constraints": "spread constraints kept",
    "node(s) didn't match pod topology spread constraints (missing required label)": "has the label to spread by",
}


def demand(plugin: str, reason: str) -> str:
    """What a node must do so that the plugin has no longer this reason."""
    if reason.startswith("Insufficient "):
        return f"enough {reason.removeprefix('Insufficient ')} free"
    return DEMANDS.get(reason) or FILTERS.get(plugin) or plugin


CAUSES: dict[str, str] = {
    "PodAdd": "the pod was created",
    "PodUpdate": "the pod was changed",
    "PodDelete": "the pod was deleted",
    "DeletedUnseen": "it was deleted while no session was running",
    "BackoffComplete": "its backoff is over",
    "UnschedulableTimeout": "it waited five minutes: tried again anyway",
    "ScheduleAttemptFailure": "the attempt failed",
    "Popped": "its turn came",
    "PopFromBackoffQ": "nothing was active: tried before its backoff was over",
    "PreemptionDone": "all its victims have been asked to go",
    "PreemptionFailed": "a victim could not be asked to go",
    "Assumed": "a node was chosen",
    "Bound": "the API server confirmed the binding",
    "AssignedPodAdd": "the pod turned up on a node",
    "ForceActivate": "a plugin asked for it to be tried",
    "CamePlaced": "it came with its node: placed without the scheduler",
    "AssignedPodDelete": "a pod left a node: room was made",
    "Command/retry": "an operator asked for a retry",
    "Command/move": "an operator moved it",
    "Command/undo": "an operator undid a move",
    "Command/flush": "an operator asked for a retry of many",
    "Command/hold": "an operator holds it",
    "Command/release": "an operator released it",
    "Command/allow": "an operator let it go on at Permit",
}
WAKING = {
    ("Pod", ActionType.ADD): "a pod turns up on a node",
    ("Pod", ActionType.DELETE): "a pod leaves its node",
    ("Pod", ActionType.UPDATE_POD_SCALE_DOWN): "a pod asks for less",
    ("Pod", ActionType.UPDATE_POD_LABEL): "a pod's labels change",
    ("Pod", ActionType.UPDATE_POD_TOLERATIONS): "the pod gets a toleration",
    ("Pod", ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED): "its last gate is removed",
    ("Node", ActionType.ADD): "a node joins",
    ("Node", ActionType.DELETE): "a node leaves",
    ("Node", ActionType.UPDATE_NODE_ALLOCATABLE): "a node's capacity changes",
    ("Node", ActionType.UPDATE_NODE_LABEL): "a node's labels change",
    ("Node", ActionType.UPDATE_NODE_TAINT): "a node's taints change",
    ("Node", ActionType.UPDATE_NODE_CONDITION): "a node's condition changes",
    ("Node", ActionType.UPDATE_NODE_DECLARED_FEATURE): "a node's declared features change",
}
PAST = {
    **{"turns": "turned", "leaves": "left", "joins": "joined", "asks": "asked", "gets": "got"},
    **{"change": "changed", "changes": "changed", "is": "was"},
}
HAPPENED = {"Add": "came", "Delete": "went", "Update": "changed"}


def cause(label: str) -> str:
    """Why a pod moved, in words; a cluster event by kube-scheduler's label for it: `NodeUpdateNodeTaint`."""
    if said := CAUSES.get(label):
        return said
    for (resource, action), words in WAKING.items():
        for prefix in ("Assigned", "Unscheduled", "") if resource == "Pod" else ("",):
            if label == ClusterEvent(prefix + resource, action).label:
                return " ".join(PAST.get(word, word) for word in words.split())
    found = re.fullmatch(r"(\w+?)(Add|Delete|Update)", label)
    return f"a {found[1]} {HAPPENED[found[2]]}" if found else ""


def wakes(event: ClusterEvent) -> list[str]:
    """What must happen for this event, in words."""
    resource = event.resource.removeprefix("Assigned").removeprefix("Unscheduled")
    said = [WAKING[resource, action] for action in event.action if (resource, action) in WAKING]
    return said or [f"a {resource} changes"]


def lane_title(lane: str) -> str:
    return LANE_TITLES.get(lane, lane)


def seconds(value: float) -> str:
    """A span as people read it: 0.3 s, 12 s, 4 m 10 s, 3 h 05 m, 2 d 4 h."""
    value = max(0.0, value)
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(int(value), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def milliseconds(value: float) -> str:
    """`value` in seconds: 0.021 ms, 1.9 ms, 140 ms."""
    ms = value * 1000
    return f"{ms:.3f} ms" if ms < 0.1 else f"{ms:.2f} ms" if ms < 10 else f"{ms:.0f} ms"


def cpu(milli: float) -> str:
    return f"{milli / 1000:g}" if milli >= 1000 or not milli % 100 else f"{milli:g}m"


def memory(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}"


def plural(n: int, one: str, many: str = "") -> str:
    """1 pod, 2 pods."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
