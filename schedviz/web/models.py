"""What is kept: clusters, sessions and their leases; the record (cycles, moves, last state of pods and nodes);
operators' commands and the audit log.

Written by `actions` (people), `recording` (a running session, always under its lease's fence) and `runner`; read by
`readers` only. Moments of the scheduler's world are float seconds since the epoch, as the core counts them; moments of
people's actions are datetimes.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Cluster(models.Model):
    """An API server we can reach. Only the kubeconfig's path is kept here, never its contents."""

    class Kind(models.TextChoices):
        SANDBOX = "sandbox"
        KUBECONFIG = "kubeconfig"

    name = models.SlugField(max_length=63, unique=True)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    kubeconfig_path = models.CharField(max_length=1024)
    context = models.CharField(max_length=253, blank=True)


class Session(models.Model):
    """One cluster + one scheduler. `desired` is what people want, `state` what the runner says."""

    class Desired(models.TextChoices):
        RUNNING = "running"
        STOPPED = "stopped"

    class State(models.TextChoices):
        STOPPED = "stopped"
        STARTING = "starting"
        RUNNING = "running"
        FAILED = "failed"

    name = models.SlugField(max_length=63, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="sessions")
    scheduler_names = models.JSONField(default=list)
    seed = models.BigIntegerField(default=0)
    config = models.JSONField(default=dict)
    """The KubeSchedulerConfiguration it runs: its file's `name`, its `text`, its `extenders`' URLs; {}: defaults."""
    desired = models.CharField(max_length=8, choices=Desired.choices, default=Desired.STOPPED)
    state = models.CharField(max_length=8, choices=State.choices, default=State.STOPPED)
    state_message = models.TextField(blank=True)
    started_at = models.FloatField(null=True)
    heartbeat_at = models.FloatField(null=True)
    seq = models.BigIntegerField(default=0)
    """Number of the last committed batch: what a live frame's `seq` refers to."""
    counters = models.JSONField(default=dict)
    last_cycle = models.BigIntegerField(default=0)
    """Number of the newest cycle ever recorded; numbers are never used twice, whatever the ring drops."""
    kept_from = models.BigIntegerField(default=1)
    """The ring: number of the oldest cycle kept, and of the oldest one kept with its detail."""
    detail_from = models.BigIntegerField(default=1)
    ring_bytes = models.BigIntegerField(default=0)


class Lease(models.Model):
    """Who runs a session, until when; `fence` grows with each new holder and guards every write of the record."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=200, blank=True)
    until = models.FloatField(default=0)
    fence = models.BigIntegerField(default=0)


class NodeSet(models.Model):
    """The node names of a run of cycles, in row order, so that a cycle's blob needs no names. `names`: zstd of JSON."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE)
    digest = models.CharField(max_length=32)
    names = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint("session", "digest", name="node_set_once")]


class Cycle(models.Model):
    """One attempt for one pod. `summary` has every step without its columns; `blob` the columns, null once dropped."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="cycles")
    number = models.BigIntegerField()
    pod_uid = models.CharField(max_length=300)
    namespace = models.CharField(max_length=63)
    pod_name = models.CharField(max_length=253)
    attempt = models.IntegerField()
    priority = models.IntegerField()
    scheduler_name = models.CharField(max_length=253)
    started_at = models.FloatField()
    duration = models.FloatField()
    outcome = models.CharField(max_length=16)
    node_name = models.CharField(max_length=253, blank=True)
    message = models.TextField(blank=True)
    n_nodes = models.IntegerField()
    n_feasible = models.IntegerField()
    size_bytes = models.IntegerField()
    node_set = models.ForeignKey(NodeSet, on_delete=models.PROTECT)
    summary = models.JSONField()
    blob = models.BinaryField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint("session", "number", name="cycle_once")]
        indexes = [models.Index("session", "pod_uid", "number", name="cycle_by_pod")]


class PodState(models.Model):
    """The last known place of each of a session's pods: the board's snapshot, and what a takeover restores."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="pods")
    uid = models.CharField(max_length=300)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    lane = models.CharField(max_length=16)
    priority = models.IntegerField(default=0)
    attempts = models.IntegerField(default=0)
    rank = models.FloatField(default=0)
    since = models.FloatField()
    created_at = models.FloatField(default=0)
    retry_at = models.FloatField(null=True)
    plugins = models.JSONField(default=list)
    message = models.TextField(blank=True)
    moved_by = models.CharField(max_length=200, blank=True)
    node_name = models.CharField(max_length=253, blank=True)
    cycle = models.BigIntegerField(default=0)
    hold = models.JSONField(null=True)
    """Who holds it, since when, why: `by`, `since`, `reason`."""

    class Meta:
        constraints = [models.UniqueConstraint("session", "uid", name="pod_once")]
        indexes = [
            models.Index("session", "lane", "since", name="pod_by_lane"),
            models.Index("session", "namespace", "name", name="pod_by_name"),
        ]


class NodeState(models.Model):
    """The last known state of a node. Quantities: milli-CPU, bytes, counts."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=253)
    allocatable = models.JSONField(default=dict)
    requested = models.JSONField(default=dict)
    n_pods = models.IntegerField(default=0)
    unschedulable = models.BooleanField(default=False)
    ready = models.BooleanField(default=True)
    zone = models.CharField(max_length=253, blank=True)
    taints = models.JSONField(default=list)
    nominated = models.JSONField(default=list)
    """Pods that room is kept for: `pod`, `priority`, `requests` of each."""

    class Meta:
        constraints = [models.UniqueConstraint("session", "name", name="node_once")]


class Move(models.Model):
    """A pod changed lane, and why."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="moves")
    at = models.FloatField()
    pod_uid = models.CharField(max_length=300)
    source = models.CharField(max_length=16, blank=True)
    target = models.CharField(max_length=16)
    cause = models.CharField(max_length=100)
    detail = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index("session", "pod_uid", "id", name="move_by_pod")]


class Command(models.Model):
    """An operator's wish on its way to the running session, and the answer."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="commands")
    verb = models.CharField(max_length=32)
    args = models.JSONField()
    key = models.CharField(max_length=64)
    """Given by who asks, new for each wish: the same wish sent twice is one command."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)
    ok = models.BooleanField(null=True)
    message = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint("created_by", "key", name="command_once")]
        indexes = [
            models.Index(
                "session", "id", name="command_unanswered", condition=models.Q(answered_at=None)
            )
        ]

    @property
    def action(self) -> str:
        """The name that permissions and the audit log have for it: about a pod, or the whole session."""
        return f"pod.{self.verb}" if "uid" in self.args else f"session.{self.verb}"

    @property
    def about(self) -> str:
        """`namespace/name` of its pod, or the session's name."""
        return self.args.get("pod") or self.args.get("uid") or self.session.name


class Finding(models.Model):
    """Which smallest changes would make a pending pod schedulable, as a task found: the newest answer for each pod.
    `content`: as `scheduler.explain.Findings`; `message`: why there is none; `at` null: not answered yet."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE)
    pod_uid = models.CharField(max_length=300)
    asked_at = models.FloatField()
    at = models.FloatField(null=True)
    content = models.JSONField(default=dict)
    message = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint("session", "pod_uid", name="finding_once")]


class Audit(models.Model):
    """Who did what, when, on what, with what result. Rows are only ever added."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.CharField(max_length=200)
    action = models.CharField(max_length=64)
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True)
    object = models.CharField(max_length=400, blank=True)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    outcome = models.CharField(max_length=16)
    message = models.TextField(blank=True)
    command = models.OneToOneField(Command, on_delete=models.SET_NULL, null=True)


class OneTimePassword(models.Model):
    """A user whose password was printed by `first_admin`: it logs in once, and the first page asks for an own one."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True
    )
    used_at = models.DateTimeField(null=True)


class ExtenderRules(models.Model):
    """An extender that we serve: its rules as they were written (see `extender_rules`). changed_at: epoch seconds."""

    name = models.SlugField(max_length=63, unique=True)
    text = models.TextField(blank=True)
    changed_by = models.CharField(max_length=150)
    changed_at = models.FloatField()
