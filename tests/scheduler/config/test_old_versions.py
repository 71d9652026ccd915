"""Files of older versions: refused, and proposed anew; what is proposed loads."""

from __future__ import annotations

import pytest
import yaml

from schedviz.scheduler.config import load
from schedviz.scheduler.profile import profiles_of
from tests.scheduler.config.writing import HEAD, refused

V1ALPHA2 = """\
apiVersion: kubescheduler.config.k8s.io/v1alpha2
kind: KubeSchedulerConfiguration
extenders:
  - urlPrefix: http://192.168.179.139/scheduler-extender
    filterVerb: filter
    prioritizeVerb: prioritize
    nodeCacheCapable: true
    enableHttps: false
    weight: 100000
leaderElection:
\tleaderElect: true
clientConnection:
\tkubeconfig: /etc/kubernetes/scheduler.conf
"""
GROUP = "kubescheduler.config.k8s.io"


def old(version: str, body: str) -> str:
    return f"apiVersion: {version}\nkind: KubeSchedulerConfiguration\n{body}"


def proposed(text: str) -> dict:
    """What is proposed for a file that is refused; a scheduler can run with it."""
    proposal = refused(text).proposal
    profiles_of(load(proposal))
    found = yaml.safe_load(proposal)
    del found["apiVersion"], found["kind"]
    return found


def test_an_extender_example_of_v1alpha2_indented_with_tabs():
    found = proposed(V1ALPHA2)
    assert found["extenders"][0]["enableHTTPS"] is False
    assert found["extenders"][0]["weight"] == 100000
    assert found["leaderElection"] == {"leaderElect": True}
    assert found["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}


def test_its_refusal_names_the_tab_first_and_then_the_version():
    assert "found character that cannot start any token" in refused(V1ALPHA2).message
    assert f'version "{GROUP}/v1alpha2"' in refused(V1ALPHA2.replace("\t", "  ")).message


FIT = "NodeResourcesFit"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            old(
                "componentconfig/v1alpha1", "leaderElection: {leaderElect: true, lockObjectName: x}"
            ),
            {"leaderElection": {"leaderElect": True, "resourceName": "x"}},
            id="componentconfig, the lock's old names",
        ),
        pytest.param(
            old(
                f"{GROUP}/v1alpha1",
                "schedulerName: mine\nalgorithmSource: {provider: DefaultProvider}\nhardPodAffinitySymmetricWeight: 5\n"
                "bindTimeoutSeconds: 100\ndisablePreemption: true\nhealthzBindAddress: 0.0.0.0:10251\n"
                "plugins: {postFilter: {enabled: [{name: NodeAffinity}]}}\n",
            ),
            {
                "profiles": [
                    {
                        "schedulerName": "mine",
                        "plugins": {
                            "preScore": {"enabled": [{"name": "NodeAffinity"}]},
                            "multiPoint": {"disabled": [{"name": "DefaultPreemption"}]},
                        },
                        "pluginConfig": [
                            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}},
                            {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 100}},
                        ],
                    }
                ]
            },
            id="what stood at the top",
        ),
        pytest.param(
            old(f"{GROUP}/v1alpha1", "algorithmSource: {provider: ClusterAutoscalerProvider}\n"),
            {
                "profiles": [
                    {
                        "pluginConfig": [
                            {"name": FIT, "args": {"scoringStrategy": {"type": "MostAllocated"}}}
                        ]
                    }
                ]
            },
            id="the cluster autoscaler's provider",
        ),
        pytest.param(
            old(
                f"{GROUP}/v1beta1",
                "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated, weight: 4}], disabled: "
                "[{name: NodeResourcesLeastAllocated}, {name: NodePreferAvoidPods}]}}, pluginConfig: [{name: "
                "NodeResourcesMostAllocated, args: {resources: [{name: cpu, weight: 3}]}}]}]",
            ),
            {
                "profiles": [
                    {
                        "plugins": {
                            "score": {"enabled": [{"name": FIT, "weight": 4}], "disabled": []}
                        },
                        "pluginConfig": [
                            {
                                "name": FIT,
                                "args": {
                                    "scoringStrategy": {
                                        "type": "MostAllocated",
                                        "resources": [{"name": "cpu", "weight": 3}],
                                    }
                                },
                            }
                        ],
                    }
                ]
            },
            id="plugins that are a strategy now, and one that is gone",
        ),
        pytest.param(
            old(
                f"{GROUP}/v1beta2",
                "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {apiVersion: "
                "kubescheduler.config.k8s.io/v1beta2, kind: PodTopologySpreadArgs, defaultConstraints: [{maxSkew: 1, "
                "topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}]}]\nwhatever: 1\n",
            ),
            {
                "profiles": [
                    {
                        "pluginConfig": [
                            {
                                "name": "PodTopologySpread",
                                "args": {
                                    "defaultingType": "List",
                                    "defaultConstraints": [
                                        {
                                            "maxSkew": 1,
                                            "topologyKey": "zone",
                                            "whenUnsatisfiable": "ScheduleAnyway",
                                        }
                                    ],
                                },
                            }
                        ]
                    }
                ]
            },
            id="arguments of an older version, and an unknown field",
        ),
        pytest.param(
            old(
                f"{GROUP}/v1beta3",
                "leaderElection: {resourceLock: endpointsleases}\nparallelism: 4\n",
            ),
            {"leaderElection": {"resourceLock": "leases"}, "parallelism": 4},
            id="another lock than leases",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Policy\npredicates: [{name: PodFitsResources}, {name: Unheard}]\npriorities: "
            "[{name: MostRequestedPriority, weight: 2}, {name: ImageLocalityPriority, weight: 1}]\nextenders: "
            "[{urlPrefix: 'http://x/', filterVerb: f, httpTimeout: 5000000000}]\n",
            {
                "extenders": [{"urlPrefix": "http://x/", "filterVerb": "f", "httpTimeout": "5s"}],
                "profiles": [
                    {
                        "plugins": {
                            "filter": {
                                "disabled": [{"name": "*"}],
                                "enabled": [
                                    {"name": "NodeUnschedulable"},
                                    {"name": "TaintToleration"},
                                    {"name": FIT},
                                ],
                            },
                            "score": {
                                "disabled": [{"name": "*"}],
                                "enabled": [
                                    {"name": FIT, "weight": 2},
                                    {"name": "ImageLocality", "weight": 1},
                                ],
                            },
                        },
                        "pluginConfig": [
                            {"name": FIT, "args": {"scoringStrategy": {"type": "MostAllocated"}}}
                        ],
                    }
                ],
            },
            id="a policy",
        ),
    ],
)
def test_proposal(text, expected):
    assert proposed(text) == expected


def test_what_is_left_out_is_said():
    proposal = refused(old(f"{GROUP}/v1beta1", "healthzBindAddress: x\nwhatever: {}\n")).proposal
    assert "# - healthzBindAddress: left out, addresses are kube-scheduler's flags" in proposal
    assert "# - whatever: left out" in proposal


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: v1\nkind: Pod\n", id="another kind"),
        pytest.param(HEAD + "parallelism: 0\n", id="v1 itself"),
        pytest.param("[", id="no YAML"),
        pytest.param("", id="empty"),
    ],
)
def test_nothing_is_proposed_for(text):
    assert refused(text).proposal == ""
