"""Every rule of upstream's validation, one by one, in upstream's words and with the line of the field."""

from __future__ import annotations

import pytest

from schedviz.scheduler.config import load
from tests.scheduler.config.writing import args_of, refused, with_head

LABEL = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
ARGS = "profiles[0].pluginConfig[0].args"
AFFINITY = (
    f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
)
PREFERRED = f"{ARGS}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "clientConnection: {burst: -1}",
            "clientConnection.burst: Invalid value: -1: must be non-negative",
            id="burst is negative",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: -1s, renewDeadline: -2s}",
            "[leaderElection.leaseDuration: Invalid value: -1s: must be greater than zero, "
            "leaderElection.renewDeadline: Invalid value: -2s: must be greater than zero]",
            id="durations of the election are negative",
        ),
        pytest.param(
            "leaderElection: {retryPeriod: -500ms}",
            "leaderElection.retryPeriod: Invalid value: -500ms: must be greater than zero",
            id="retryPeriod is negative",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 10s, renewDeadline: 10s}",
            "leaderElection.leaseDuration: Invalid value: 10s: must be greater than `RenewDeadline`",
            id="the lease is no longer than the deadline",
        ),
        pytest.param(
            "leaderElection: {resourceLock: endpoints}",
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
            id="another lock than leases",
        ),
        pytest.param(
            "parallelism: -3",
            "parallelism: Invalid value: -3: should be an integer value greater than zero",
            id="parallelism is negative",
        ),
        pytest.param(
            "percentageOfNodesToScore: 101",
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
            id="percentage above 100",
        ),
        pytest.param(
            "profiles: [{percentageOfNodesToScore: -1}]",
            "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
            id="a profile's percentage below 0",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 0",
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
            id="no backoff",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 20\npodMaxBackoffSeconds: 10",
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
            id="the first backoff is longer than the longest",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {}]",
            "profiles[1].schedulerName: Required value",
            id="one of several profiles has no name",
        ),
        pytest.param(
            "profiles: [{schedulerName: ''}]",
            "profiles[0].schedulerName: Required value",
            id="an empty name",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName",
            id="two profiles of one name",
        ),
        pytest.param(
            "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
            f'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": {REMOVED}',
            id="a removed plugin at a point",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: AzureDiskLimits}]}]",
            f'profiles[0].pluginConfig[0]: Invalid value: "AzureDiskLimits": {REMOVED}',
            id="arguments of a removed plugin",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]",
            'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
            id="a plugin's arguments twice",
        ),
        pytest.param(
            "profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: Mine}]}}}]",
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
            id="two queue sorts",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Mine}], "
            "disabled: [{name: '*'}]}}}]",
            "profiles[1].plugins.queueSort: Invalid value: config.PluginSet{Enabled:[]config.Plugin{config.Plugin"
            '{Name:"Mine", Weight:0}}, Disabled:[]config.Plugin{config.Plugin{Name:"*", Weight:0}}}: '
            "must be the same for all profiles",
            id="profiles that sort the queue differently",
        ),
        pytest.param(
            "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: Q}]}}, pluginConfig: [{name: Q, "
            "args: {x: 1}}]}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: Q}]}}, pluginConfig: "
            "[{name: Q, args: {x: 2}}]}]",
            'profiles[1].pluginConfig.args: Invalid value: {"x": 2}: queueSort must be the same for all profiles',
            id="one queue sort with different arguments",
        ),
        pytest.param(
            "extenders: [{urlPrefix: http://x, prioritizeVerb: p}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="an extender that scores has no weight",
        ),
        pytest.param(
            "extenders: [{bindVerb: b}, {bindVerb: b}]",
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
            id="two extenders bind",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: example.com/a}]}, {managedResources: [{name: example.com/a}]}]",
            'extenders[1].managedResources[0].name: Invalid value: "example.com/a": '
            "duplicate extender managed resource name",
            id="two extenders manage one resource",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: 'a b'}]}]",
            f'extenders[0].managedResources[0].name: Invalid value: "a b": name part {LABEL}',
            id="a managed resource that is no name",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: requests.example.com/a}]}]",
            'extenders[0].managedResources[0].name: Invalid value: "requests.example.com/a": '
            "is an invalid extended resource name",
            id="a managed resource that is a quota's name",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: kubernetes.io/a}]}]",
            'extenders[0].managedResources[0].name: Invalid value: "kubernetes.io/a": '
            "is an invalid extended resource name",
            id="a managed resource of Kubernetes' own",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {insecure: true, caFile: /ca}}]",
            "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed",
            id="root certificates that are not looked at",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: example.com/a, ignoredByScheduler: true}]}]\n"
            "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
            "{name: DefaultBinder}]}}}]",
            "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config",
            id="a resource to ignore without NodeResourcesFit",
        ),
    ],
)
def test_rule(body, message):
    error = refused(with_head(body))
    assert error.message == message
    assert all(problem.line >= 3 for problem in error.problems)


@pytest.mark.parametrize(
    ("plugin", "args", "message"),
    [
        pytest.param(
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
            f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100], "
            f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]",
            id="preemption candidates out of range",
        ),
        pytest.param(
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            f"[{ARGS}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
            f"minCandidateNodesAbsolute, {ARGS}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
            "same time as minCandidateNodesPercentage]",
            id="no preemption candidate at all",
        ),
        pytest.param(
            "DynamicResources",
            "{filterTimeout: -1s, bindingTimeout: 10ms}",
            f"[{ARGS}.filterTimeout: Invalid value: -1s: must be zero or positive, "
            f"{ARGS}.bindingTimeout: Invalid value: 10ms: must be at least 1 second]",
            id="timeouts of resource claims",
        ),
        pytest.param(
            "InterPodAffinity",
            "{hardPodAffinityWeight: 101}",
            f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="hardPodAffinityWeight above 100",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu, weight: 2}, {name: cpu}]}",
            f"[{ARGS}.resources[0].weight: Invalid value: 2: must be 1, "
            f'{ARGS}.resources[1].name: Duplicate value: "cpu"]',
            id="balanced allocation with weights and twins",
        ),
        pytest.param(
            "VolumeBinding",
            "{bindTimeoutSeconds: -1}",
            f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            id="bindTimeoutSeconds is negative",
        ),
        pytest.param(
            "VolumeBinding",
            "{shape: [{utilization: 0, score: 5}]}",
            f"{ARGS}.shape: Invalid value: []config.UtilizationShapePoint{{config.UtilizationShapePoint"
            "{Utilization:0, Score:5}}: unexpected field `shape`, remove it or turn on the feature gate "
            "StorageCapacityScoring",
            id="a shape that no feature reads",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: Nobody}",
            f'{ARGS}.defaultingType: Unsupported value: "Nobody": supported values: "System", "List"',
            id="an unknown defaultingType",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{}]}",
            f"[{ARGS}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), "
            f"{ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty, "
            f"{ARGS}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty]",
            id="an empty constraint",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: Never, "
            "labelSelector: {}}]}",
            f'[{ARGS}.defaultConstraints[0].topologyKey: Invalid value: "a b": name part {LABEL}, '
            f'{ARGS}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: '
            f'"DoNotSchedule", "ScheduleAnyway", {ARGS}.defaultConstraints[0].labelSelector: Forbidden: constraint '
            "must not define a selector, as they deduced for each pod]",
            id="a constraint with a selector, a bad key and a bad action",
        ),
        pytest.param(
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
            "DoNotSchedule}, {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}",
            f'{ARGS}.defaultConstraints[1]: Duplicate value: "{{zone, DoNotSchedule}}"',
            id="a constraint twice",
        ),
        pytest.param(
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
            "[{key: a, operator: Is}, {key: a, operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, "
            "operator: Gt, values: [x]}]}]}}}",
            f'[{AFFINITY}.matchExpressions[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", '
            f'"Exists", "DoesNotExist", "Gt", "Lt", {AFFINITY}.matchExpressions[1].values: Invalid value: '
            "[]string(nil): for 'in', 'notin' operators, values set can't be empty, "
            f'{AFFINITY}.matchExpressions[2].values: Invalid value: []string{{"b"}}: values set must be empty for '
            f'exists and does not exist, {AFFINITY}.matchExpressions[3].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer]",
            id="an added affinity that matches nothing",
        ),
        pytest.param(
            "NodeAffinity",
            "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: "
            "[{key: metadata.name, operator: Exists}, {key: metadata.name, operator: In, values: [a, b]}]}}]}}",
            f'[{PREFERRED}.matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn", '
            f'{PREFERRED}.matchFields[1].values: Invalid value: []string{{"a", "b"}}: must have one element]',
            id="fields that cannot be matched",
        ),
    ],
)
def test_arguments(plugin, args, message):
    assert refused(args_of(plugin, args)).message == message


FIT = (
    "initializing profiles: creating profile for scheduler name default-scheduler: "
    'initializing plugin "NodeResourcesFit": '
)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            "{ignoredResources: ['a b']}",
            f'ignoredResources[0]: Invalid value: "a b": name part {LABEL}',
            id="a resource that is no name",
        ),
        pytest.param(
            "{scoringStrategy: {resources: [{name: cpu}]}}",
            'scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", '
            '"RequestedToCapacityRatio"',
            id="a strategy without its type",
        ),
        pytest.param(
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}",
            "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in "
            "valid range (0, 100]",
            id="a resource's weight above 100",
        ),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
            "RequestedToCapacityRatio",
            id="a ratio without its shape",
        ),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
            "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified",
            id="a shape without points",
        ),
        pytest.param(
            "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {shape: []}}}",
            "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
            "RequestedToCapacityRatio",
            id="a shape for another strategy",
        ),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 101, "
            "score: -1}]}}}",
            "[scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: 101: not in valid range "
            "[0, 100], scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: -1: not in valid range "
            "[0, 10]]",
            id="a point out of range",
        ),
    ],
)
def test_arguments_of_node_resources_fit(args, message):
    error = refused(args_of("NodeResourcesFit", args))
    assert error.message == FIT + message
    assert all(problem.field.startswith(ARGS) for problem in error.problems)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "leaderElection: {leaderElect: false, resourceLock: configmaps}", id="no election"
        ),
        pytest.param("percentageOfNodesToScore: 0", id="adaptive"),
        pytest.param(
            "profiles: [{plugins: {score: {disabled: [{name: Nobody}]}}}]", id="disabled, unknown"
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: Mine, args: {any: [thing]}}]}]", id="args of others"
        ),
        pytest.param("extenders: [{urlPrefix: http://x, bindVerb: bind}]", id="one extender binds"),
        pytest.param("leaderElection:\nclientConnection: null\nprofiles: []", id="nothing written"),
    ],
)
def test_what_is_allowed(body):
    assert load(with_head(body)).profiles
