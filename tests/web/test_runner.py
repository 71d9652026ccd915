"""Sessions run by real workers against a real sandbox: started, stopped, taken over, never run by two."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from celery import Celery
from django.db import connection
from kubernetes import client, config

from schedviz.environment import broker_url
from schedviz.web import actions, configs, embedded, findings
from schedviz.web.models import Audit, Cluster, Cycle, Lease, PodState
from tests.web import people

pytestmark = [pytest.mark.django_db(transaction=True)]
ROOT = Path(__file__).parent.parent.parent


def wait_for(what, is_so, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
    return found


def child_env(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEDVIZ_", "DJANGO_"))}
    return kept | more


class Workers:
    """Celery workers of our own, on the test's database."""

    def __init__(self, data, valkey):
        self.env = child_env(
            SCHEDVIZ_DATA=str(data),
            SCHEDVIZ_REDIS_URL=valkey.url,
            DATABASE_URL=f"sqlite:///{connection.settings_dict['NAME']}",
        )
        self.data = data
        self.processes = []

    def start(self):
        log = (self.data / f"worker-{len(self.processes)}.log").open("wb")
        options = "-A schedviz worker -P threads -c 2 --without-mingle --without-gossip"
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-q", *options.split()],
            cwd=ROOT,
            env=self.env,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.close()
        self.processes.append(process)
        return process

    def log(self, process):
        return (self.data / f"worker-{self.processes.index(process)}.log").read_text()

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


class Box:
    """A sandbox server with one empty sandbox, and the official client on it."""

    def __init__(self, data):
        port = embedded.free_port()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "sandbox", "--port", str(port)],
            cwd=ROOT,
            env=child_env(SCHEDVIZ_DATA=str(data)),
            stdout=subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{port}"
        wait_for("sandbox", lambda: embedded.http_answers(f"{url}/healthz"))
        token = data / "sandbox" / "admin.token"
        self.kubeconfig = embedded.make_sandbox(url, token, "box", "empty")
        self.client = config.new_client_from_config(str(self.kubeconfig))
        self.api = client.CoreV1Api(self.client)

    def add_node(self, name, pods=500):
        allocatable = {"cpu": "64", "memory": "256Gi", "pods": str(pods)}
        status = {"allocatable": allocatable, "capacity": allocatable}
        status["conditions"] = [{"type": "Ready", "status": "True"}]
        self.api.create_node({"metadata": {"name": name}, "status": status})

    def add_pods(self, *names, **spec):
        container = {"name": "c", "image": "luksa/kubia"}
        for name in names:
            body = {"metadata": {"name": name}, "spec": {"containers": [container]} | spec}
            self.api.create_namespaced_pod("default", body)

    def bound(self):
        pods = self.api.list_namespaced_pod("default").items
        return {pod.metadata.name: pod.spec.node_name for pod in pods if pod.spec.node_name}

    def end(self):
        self.client.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def workers(tmp_path, valkey):
    workers = Workers(tmp_path, valkey)
    yield workers
    workers.end()


@pytest.fixture
def box(tmp_path):
    box = Box(tmp_path)
    yield box
    box.end()


@pytest.fixture
def session(box):
    cluster = Cluster.objects.create(
        name="box", kind="sandbox", kubeconfig_path=str(box.kubeconfig)
    )
    return people.session("demo", cluster=cluster, state="stopped")


def state(session):
    session.refresh_from_db()
    return session.state


def holder():
    return Lease.objects.get().holder


def test_a_session_is_started_scheduled_and_stopped(workers, box, session):
    workers.start()
    box.add_node("n1")
    box.add_pods("p1", "p2")
    wait_for("running", lambda: state(session) == "running")
    wait_for("bound", lambda: box.bound() == {"p1": "n1", "p2": "n1"})
    recorded = Cycle.objects.filter(outcome="bound")
    wait_for("recorded", lambda: recorded.count() == 2)
    assert {pod.lane for pod in PodState.objects.all()} == {"bound"}
    actions.session_stop(people.olga(), session)
    wait_for("stopped", lambda: state(session) == "stopped")
    assert holder() == ""
    box.add_pods("p3")
    actions.session_start(people.person("otto", "operator"), session)
    wait_for("bound after a new start", lambda: "p3" in box.bound())
    wait_for("recorded", lambda: recorded.count() == 3)
    numbers = list(recorded.values_list("number", flat=True))
    assert len(set(numbers)) == 3


def test_a_killed_worker_is_replaced_and_nothing_is_lost(workers, box, session):
    first, _ = workers.start(), workers.start()
    box.add_node("n1")
    box.add_pods(*(f"a{i}" for i in range(30)))
    wait_for("running", lambda: state(session) == "running")
    wait_for("some bound", box.bound)
    pid = int(holder().split("/")[1])
    victim = next(process for process in workers.processes if process.pid == pid)
    fence = Lease.objects.get().fence
    victim.kill()
    killed_at = time.monotonic()
    box.add_pods(*(f"b{i}" for i in range(10)))
    wait_for("another holder", lambda: Lease.objects.get().fence > fence, 10)
    wait_for("all bound", lambda: len(box.bound()) == 40)
    assert time.monotonic() - killed_at < 15
    assert first is not None
    wait_for("each recorded once", lambda: bound_cycles() == dict.fromkeys(box.bound(), 1))


def bound_cycles():
    names = list(
        Cycle.objects.filter(outcome__in=["bound", "scheduled"]).values_list("pod_name", flat=True)
    )
    return {name: names.count(name) for name in names}


def test_a_frozen_worker_that_thaws_does_nothing_more(workers, box, session):
    frozen = workers.start()
    box.add_node("n1")
    wait_for("running", lambda: state(session) == "running")
    frozen.send_signal(signal.SIGSTOP)
    fence = Lease.objects.get().fence
    box.add_pods(*(f"p{i}" for i in range(20)))
    workers.start()
    wait_for("another holder", lambda: Lease.objects.get().fence == fence + 1, 15)
    frozen.send_signal(signal.SIGCONT)
    wait_for("it notices", lambda: "lost" in workers.log(frozen))
    wait_for("all bound", lambda: len(box.bound()) == 20)
    wait_for("each recorded once", lambda: bound_cycles() == dict.fromkeys(box.bound(), 1))
    assert Lease.objects.get().fence == fence + 1


def test_a_worker_told_to_end_gives_its_sessions_back(workers, box, session):
    worker = workers.start()
    wait_for("running", lambda: state(session) == "running")
    began = time.monotonic()
    worker.terminate()
    wait_for("free", lambda: holder() == "", 5)
    assert time.monotonic() - began < 3
    assert worker.wait(10) == 0
    assert state(session) == "starting"


def test_a_kubeconfig_that_is_not_there_is_said_and_tried_again(workers, box, session, tmp_path):
    elsewhere = tmp_path / "later.kubeconfig"
    Cluster.objects.update(kubeconfig_path=str(elsewhere))
    workers.start()
    wait_for("failed", lambda: state(session) == "failed")
    assert str(elsewhere) in session.state_message
    elsewhere.write_text(Path(box.kubeconfig).read_text())
    wait_for("running", lambda: state(session) == "running")


def test_a_session_runs_its_configuration_or_says_what_is_wrong_in_it(workers, box, session):
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    session.config = {"name": "mine.yaml", "text": head + "parallelism: 0\n"}
    session.save()
    workers.start()
    wait_for("failed", lambda: state(session) == "failed")
    assert session.state_message.startswith("mine.yaml: line 3: parallelism: Invalid value: 0")
    good = head + "profiles: [{schedulerName: packer}]\n"
    actions.session_configure(people.alice(), session, configs.checked("mine.yaml", good))
    box.add_node("n1")
    box.add_pods("p1", schedulerName="packer")
    box.add_pods("p2")
    wait_for("bound", lambda: box.bound() == {"p1": "n1"})
    recorded = Cycle.objects.values_list("pod_name", "scheduler_name")
    wait_for("recorded", lambda: list(recorded) == [("p1", "packer")])


def test_a_command_reaches_the_session_and_its_answer_the_record(workers, box, session):
    workers.start()
    box.add_node("full", pods=0)
    box.add_pods("p1")
    wait_for("running", lambda: state(session) == "running")
    wait_for("tried", lambda: PodState.objects.filter(lane="unschedulable").exists())
    pod = PodState.objects.get()
    command = actions.pod_retry(people.olga(), session, pod.uid, key="k")
    wait_for("answered", lambda: command.refresh_from_db() or command.answered_at)
    assert command.ok
    assert Audit.objects.get().action == "pod.retry"
    wait_for("tried again", lambda: Cycle.objects.filter(pod_uid=pod.uid).count() == 2)


def test_a_pause_outlives_its_worker_and_ends_when_resumed(workers, box, session):
    first = workers.start()
    box.add_node("n1")
    wait_for("running", lambda: state(session) == "running")
    olga = people.olga()
    pause = actions.session_pause(olga, session, reason="upgrade", key="k1")
    wait_for("paused", lambda: pause.refresh_from_db() or pause.ok)
    first.kill()
    first.wait()
    box.add_pods("p1")
    workers.start()
    wait_for("taken over", lambda: Lease.objects.get().fence == 2 and state(session) == "running")
    wait_for("seen by the next worker", lambda: PodState.objects.filter(lane="active").exists())
    wait_for("still running", lambda: state(session) == "running")
    assert session.counters["pause"]["reason"] == "upgrade"
    assert box.bound() == {}
    assert not Cycle.objects.exists()
    resume = actions.session_resume(olga, session, key="k2")
    wait_for("resumed", lambda: resume.refresh_from_db() or resume.ok)
    wait_for("bound", lambda: box.bound() == {"p1": "n1"})
    actions_done = list(Audit.objects.order_by("id").values_list("action", "user"))
    assert actions_done == [("session.pause", "olga"), ("session.resume", "olga")]


def test_places_holds_and_attempts_outlive_a_killed_worker(workers, box, session):
    first = workers.start()
    box.add_node("n1")
    box.add_pods("stuck", nodeSelector={"disk": "ssd"})
    wait_for("running", lambda: state(session) == "running")
    wait_for("tried", lambda: PodState.objects.filter(lane="unschedulable", attempts=1).exists())
    olga = people.olga()

    def ask(wish, *args, **more):
        """Asks, and waits for the answer."""
        command = wish(olga, *args, **more, key=secrets.token_hex(8))
        wait_for("answered", lambda: command.refresh_from_db() or command.answered_at)
        assert command.ok, command.message
        return command

    ask(actions.session_pause, session, reason="upgrade")
    box.add_pods("a", "b", "c")
    wait_for("seen", lambda: PodState.objects.filter(lane="active").count() == 3)
    uids = dict(PodState.objects.values_list("name", "uid"))
    moved = ask(actions.pod_move, session, uids["b"], to="top")
    ask(actions.pod_move, session, uids["c"], to="top")
    ask(actions.pod_hold, session, uids["a"], reason="not yet")
    first.kill()
    first.wait()
    workers.start()
    wait_for("taken over", lambda: Lease.objects.get().fence == 2 and state(session) == "running")
    wait_for("all seen", lambda: PodState.objects.filter(lane="active").count() == 3)
    wait_for("still running", lambda: state(session) == "running")
    active = PodState.objects.filter(lane="active").order_by("rank")
    assert [pod.name for pod in active if pod.name != "stuck"] == ["c", "b"]
    assert {pod.moved_by for pod in active if pod.name != "stuck"} == {"olga"}
    held = PodState.objects.get(lane="gated")
    assert (held.name, held.hold["by"], held.hold["reason"]) == ("a", "olga", "not yet")
    ask(actions.move_undo, moved)
    assert [pod.name for pod in active.all() if pod.name != "stuck"] == ["c", "b"]
    ask(actions.session_resume, session)
    wait_for("bound", lambda: box.bound() == {"b": "n1", "c": "n1"})
    tried = Cycle.objects.filter(number__gt=1).order_by("number").values_list("pod_name", "attempt")
    wait_for("recorded", lambda: tried.count() == 3)
    assert {row for row in tried if row[0] == "stuck"} == {("stuck", 2)}
    assert [row for row in tried.all() if row[0] != "stuck"] == [("c", 1), ("b", 1)]
    ask(actions.pod_release, session, uids["a"])
    wait_for("bound as well", lambda: box.bound() == dict.fromkeys("abc", "n1"))


def test_a_worker_finds_what_would_help_a_pod(workers, box, session, valkey, monkeypatch):
    mine = Celery("mine", broker=broker_url(valkey.url), set_as_current=False)
    monkeypatch.setattr(findings, "producer", mine)
    workers.start()
    box.add_node("n1")
    box.add_pods("choosy", nodeSelector={"disk": "ssd"})
    wait_for("refused", lambda: PodState.objects.filter(lane="unschedulable").exists())
    pod = PodState.objects.get()
    findings.ask(session, pod)
    said = wait_for("an answer", lambda: _found(session, pod))
    assert said["changes"][0]["edits"] == ["drop disk=ssd from the node selector"]
    assert said["changes"][0]["nodes"] == ["n1"]


def _found(session, pod):
    said = findings.said(findings.finding(session, pod))
    assert said["state"] != "failed", said
    return said if said["state"] == "found" else None
