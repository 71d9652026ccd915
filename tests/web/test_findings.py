"""What would help: asked for once, found by the task on a real API server, told with its certainty."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from kombu.exceptions import OperationalError

from schedviz.web import findings, tasks
from schedviz.web.models import Cluster, Finding, PodState
from tests.sandbox.running import running
from tests.web import people, sample

pytestmark = pytest.mark.django_db
NOW = sample.NOW
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def box(tmp_path):
    """One node of one CPU."""
    with running(tmp_path) as sandbox:
        room = {"cpu": "1", "memory": "4Gi", "pods": "20"}
        status = {"capacity": room, "allocatable": room}
        sandbox.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}, "status": status})
        yield sandbox


@pytest.fixture
def big(box):
    """A session, and its pod that wants two CPUs."""
    cluster = Cluster.objects.create(
        name="one", kind="sandbox", kubeconfig_path=str(box.kubeconfig)
    )
    session = people.session(cluster=cluster)
    wanting = {"name": "c", "image": "a", "resources": {"requests": {"cpu": "2"}}}
    body = {"metadata": {"name": "big"}, "spec": {"containers": [wanting]}}
    uid = box.ok("POST", PODS, body)["metadata"]["uid"]
    return PodState.objects.create(
        session=session, uid=uid, namespace="default", name="big", lane="unschedulable", since=NOW
    )


def test_the_task_finds_what_helps_on_the_cluster_as_it_is(big):
    Finding.objects.create(session=big.session, pod_uid=big.uid, asked_at=NOW)
    tasks.find_changes(big.session_id, big.uid)
    said = findings.said(findings.finding(big.session, big))
    assert (said["state"], said["certainty"], said["n_nodes"]) == ("found", "recomputed", 1)
    by_kind = dict(findings.by_kind(said["changes"]))
    assert by_kind["Change the pod"][0]["edits"] == ["ask for 1 cpu instead of 2"]
    assert by_kind["Change the pod"][0]["nodes"] == ["n1"]
    assert by_kind["Add a node"][0]["edits"] == ["add a node with 2 cpu"]


def test_the_sessions_configuration_is_the_one_that_is_asked(big):
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    )
    big.session.config = {"name": "lenient.yaml", "text": text, "extenders": []}
    assert tasks.changes_for(big.session, big.uid)["passing"] == ("n1",)


def test_a_pod_that_is_gone_or_a_cluster_that_does_not_answer_is_said(big, box):
    with pytest.raises(tasks.NotFound, match="does not have the pod"):
        tasks.changes_for(big.session, "nobody")
    Finding.objects.create(session=big.session, pod_uid=big.uid, asked_at=NOW)
    big.session.cluster.kubeconfig_path = "/nowhere/kubeconfig"
    big.session.cluster.save()
    tasks.find_changes(big.session_id, big.uid)
    said = findings.said(findings.finding(big.session, big))
    assert said["state"] == "failed" and "/nowhere/kubeconfig" in said["message"]


def test_the_command_says_it(big):
    out = io.StringIO()
    call_command("explain", "big", stdout=out)
    assert "Change the pod:\n    ask for 1 cpu instead of 2 -> n1\n" in out.getvalue()
    out = io.StringIO()
    call_command("explain", "big", output="json", stdout=out)
    assert json.loads(out.getvalue())["changes"]["state"] == "found"


@pytest.fixture
def pod(db):
    session = people.session()
    sample.fill(session)
    return session.pods.get(uid="uid-10")


def test_it_is_asked_for_once_until_nobody_answers(pod, monkeypatch):
    sent = []
    monkeypatch.setattr(findings.producer, "send_task", lambda name, **how: sent.append(how))
    findings.ask(pod.session, pod, now=NOW)
    findings.ask(pod.session, pod, now=NOW + 5)
    assert len(sent) == 1
    found = findings.finding(pod.session, pod)
    assert findings.said(found, now=NOW + 5) == {"state": "asked", "message": ""}
    late = NOW + findings.PATIENCE_SECONDS
    assert findings.said(found, now=late) == {"state": "failed", "message": findings.NO_WORKER}
    findings.ask(pod.session, pod, now=late)
    assert len(sent) == 2


def test_a_silent_broker_is_said(pod, monkeypatch):
    def silent(*_, **__):
        raise OperationalError("nobody listens")

    monkeypatch.setattr(findings.producer, "send_task", silent)
    findings.ask(pod.session, pod, now=NOW)
    said = findings.said(findings.finding(pod.session, pod))
    assert said == {"state": "failed", "message": findings.NO_BROKER, "at": NOW}


def test_answers_of_yesterday_are_dropped(pod, monkeypatch):
    monkeypatch.setattr(findings.producer, "send_task", lambda *_, **__: None)
    Finding.objects.create(session=pod.session, pod_uid="other", asked_at=NOW, at=NOW)
    findings.ask(pod.session, pod, now=NOW + findings.KEPT_SECONDS + 1)
    assert [one.pod_uid for one in Finding.objects.all()] == [pod.uid]
