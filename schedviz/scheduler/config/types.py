"""The fields of a KubeSchedulerConfiguration v1 and of the built-in plugins' arguments, with their Go types.

Read by `decoding`, `old_versions` and `defaults`. Mirrors staging/src/k8s.io/kube-scheduler/config/v1 types.go and
types_pluginargs.go, component-base/config/v1alpha1 and the parts of core/v1 that they use (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"


@dataclass(frozen=True, slots=True)
class Scalar:
    """go: the type's name in messages; form: what is written: string, bool, int, float, duration, bytes."""

    go: str
    form: str
    bits: int = 0


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Type

    @property
    def go(self) -> str:
        return f"[]{self.item.go}"


@dataclass(frozen=True, slots=True)
class TextMap:
    """Texts by text, such as matchLabels."""

    go: str = "map[string]string"


@dataclass(frozen=True, slots=True)
class Struct:
    """name: with its package, as messages about a value of the wrong type say it."""

    go: str
    fields: Mapping[str, Type]

    @property
    def name(self) -> str:
        return self.go.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Anything:
    """Kept as it is written: the arguments of a plugin."""

    go: str = "runtime.RawExtension"


Type = Scalar | ListOf | TextMap | Struct | Anything

STRING = Scalar("string", "string")
BOOL = Scalar("bool", "bool")
INT32 = Scalar("int32", "int", 32)
INT64 = Scalar("int64", "int", 64)
FLOAT32 = Scalar("float32", "float")
DURATION = Scalar("string", "duration")
OPTIONAL_DURATION = Scalar("string", "optional duration")
BYTES = Scalar("[]uint8", "bytes")

TYPE_META: dict[str, Type] = {"kind": STRING, "apiVersion": STRING}
PLUGIN = Struct("v1.Plugin", {"name": STRING, "weight": INT32})
PLUGIN_SET = Struct("v1.PluginSet", {"enabled": ListOf(PLUGIN), "disabled": ListOf(PLUGIN)})
POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
)
PROFILE = Struct(
    "v1.KubeSchedulerProfile",
    {
        "schedulerName": STRING,
        "percentageOfNodesToScore": INT32,
        "plugins": Struct("v1.Plugins", dict.fromkeys(POINTS, PLUGIN_SET)),
        "pluginConfig": ListOf(Struct("v1.PluginConfig", {"name": STRING, "args": Anything()})),
    },
)
TLS_CONFIG = Struct(
    "v1.ExtenderTLSConfig",
    {
        "insecure": BOOL,
        "serverName": STRING,
        "certFile": STRING,
        "keyFile": STRING,
        "caFile": STRING,
        "certData": BYTES,
        "keyData": BYTES,
        "caData": BYTES,
    },
)
EXTENDER = Struct(
    "v1.Extender",
    {
        "urlPrefix": STRING,
        "filterVerb": STRING,
        "preemptVerb": STRING,
        "prioritizeVerb": STRING,
        "weight": INT64,
        "bindVerb": STRING,
        "enableHTTPS": BOOL,
        "tlsConfig": TLS_CONFIG,
        "httpTimeout": DURATION,
        "nodeCacheCapable": BOOL,
        "managedResources": ListOf(
            Struct("v1.ExtenderManagedResource", {"name": STRING, "ignoredByScheduler": BOOL})
        ),
        "ignorable": BOOL,
    },
)
LEADER_ELECTION = Struct(
    "v1alpha1.LeaderElectionConfiguration",
    {
        "leaderElect": BOOL,
        "leaseDuration": DURATION,
        "renewDeadline": DURATION,
        "retryPeriod": DURATION,
        "resourceLock": STRING,
        "resourceName": STRING,
        "resourceNamespace": STRING,
    },
)
CLIENT_CONNECTION = Struct(
    "v1alpha1.ClientConnectionConfiguration",
    {
        "kubeconfig": STRING,
        "acceptContentTypes": STRING,
        "contentType": STRING,
        "qps": FLOAT32,
        "burst": INT32,
    },
)
CONFIGURATION = Struct(
    "v1.KubeSchedulerConfiguration",
    {
        **TYPE_META,
        "parallelism": INT32,
        "leaderElection": LEADER_ELECTION,
        "clientConnection": CLIENT_CONNECTION,
        "enableProfiling": BOOL,
        "enableContentionProfiling": BOOL,
        "percentageOfNodesToScore": INT32,
        "podInitialBackoffSeconds": INT64,
        "podMaxBackoffSeconds": INT64,
        "profiles": ListOf(PROFILE),
        "extenders": ListOf(EXTENDER),
        "delayCacheUntilActive": BOOL,
    },
)

# ---- the arguments of the built-in plugins -------------------------------------------------------------------------

RESOURCES = ListOf(Struct("v1.ResourceSpec", {"name": STRING, "weight": INT64}))
SHAPE = ListOf(Struct("v1.UtilizationShapePoint", {"utilization": INT32, "score": INT32}))
LABEL_SELECTOR = Struct(
    "v1.LabelSelector",
    {
        "matchLabels": TextMap(),
        "matchExpressions": ListOf(
            Struct(
                "v1.LabelSelectorRequirement",
                {
                    "key": STRING,
                    "operator": Scalar("v1.LabelSelectorOperator", "string"),
                    "values": ListOf(STRING),
                },
            )
        ),
    },
)
CONSTRAINT = Struct(
    "v1.TopologySpreadConstraint",
    {
        "maxSkew": INT32,
        "topologyKey": STRING,
        "whenUnsatisfiable": Scalar("v1.UnsatisfiableConstraintAction", "string"),
        "labelSelector": LABEL_SELECTOR,
        "minDomains": INT32,
        "nodeAffinityPolicy": Scalar("v1.NodeInclusionPolicy", "string"),
        "nodeTaintsPolicy": Scalar("v1.NodeInclusionPolicy", "string"),
        "matchLabelKeys": ListOf(STRING),
    },
)
REQUIREMENTS = ListOf(
    Struct(
        "v1.NodeSelectorRequirement",
        {
            "key": STRING,
            "operator": Scalar("v1.NodeSelectorOperator", "string"),
            "values": ListOf(STRING),
        },
    )
)
TERM = Struct(
    "v1.NodeSelectorTerm", {"matchExpressions": REQUIREMENTS, "matchFields": REQUIREMENTS}
)
NODE_AFFINITY = Struct(
    "v1.NodeAffinity",
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Struct(
            "v1.NodeSelector", {"nodeSelectorTerms": ListOf(TERM)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": ListOf(
            Struct("v1.PreferredSchedulingTerm", {"weight": INT32, "preference": TERM})
        ),
    },
)
SCORING_STRATEGY = Struct(
    "v1.ScoringStrategy",
    {
        "type": Scalar("v1.ScoringStrategyType", "string"),
        "resources": RESOURCES,
        "requestedToCapacityRatio": Struct("v1.RequestedToCapacityRatioParam", {"shape": SHAPE}),
    },
)


def _args(name: str, fields: Mapping[str, Type]) -> Struct:
    return Struct(f"v1.{name}Args", {**TYPE_META, **fields})


PLUGIN_ARGS: dict[str, Struct] = {
    "DefaultPreemption": _args(
        "DefaultPreemption",
        {"minCandidateNodesPercentage": INT32, "minCandidateNodesAbsolute": INT32},
    ),
    "DynamicResources": _args(
        "DynamicResources",
        {"filterTimeout": OPTIONAL_DURATION, "bindingTimeout": OPTIONAL_DURATION},
    ),
    "InterPodAffinity": _args(
        "InterPodAffinity",
        {"hardPodAffinityWeight": INT32, "ignorePreferredTermsOfExistingPods": BOOL},
    ),
    "NodeAffinity": _args("NodeAffinity", {"addedAffinity": NODE_AFFINITY}),
    "NodeResourcesBalancedAllocation": _args(
        "NodeResourcesBalancedAllocation", {"resources": RESOURCES}
    ),
    "NodeResourcesFit": _args(
        "NodeResourcesFit",
        {
            "ignoredResources": ListOf(STRING),
            "ignoredResourceGroups": ListOf(STRING),
            "scoringStrategy": SCORING_STRATEGY,
        },
    ),
    "PodTopologySpread": _args(
        "PodTopologySpread",
        {
            "defaultConstraints": ListOf(CONSTRAINT),
            "defaultingType": Scalar("v1.PodTopologySpreadConstraintsDefaulting", "string"),
        },
    ),
    "VolumeBinding": _args("VolumeBinding", {"bindTimeoutSeconds": INT64, "shape": SHAPE}),
}
