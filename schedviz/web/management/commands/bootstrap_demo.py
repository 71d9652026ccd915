"""`manage.py bootstrap_demo --kubeconfig F`: what `up` needs in the database: user, cluster and session of the demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand
from django.db import transaction

from schedviz.web import actions, auth, configs
from schedviz.web.models import Cluster, Session
from schedviz.web.permissions import Shell

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(BaseCommand):
    help = "Makes what is absent of the demo: its operator, its cluster and its running session. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--kubeconfig", required=True, help="whole path of the kubeconfig")
        parser.add_argument("--context", default="", help="the kubeconfig's context")
        parser.add_argument("--config", default="", help="of a new session: its configuration file")
        parser.add_argument("--name", default="demo", help="of the cluster and the session")
        parser.add_argument(
            "--cluster-kind", choices=Cluster.Kind.values, default=Cluster.Kind.SANDBOX
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        by, name = Shell(), options["name"]
        sandbox = options["cluster_kind"] == Cluster.Kind.SANDBOX
        if sandbox:
            auth.demo_operator()
        cluster = Cluster.objects.filter(name=name).first()
        if cluster is None:
            cluster = actions.cluster_add(
                by,
                name,
                kubeconfig_path=options["kubeconfig"],
                context=options["context"],
                sandbox=sandbox,
            )
        elif (cluster.kubeconfig_path, cluster.context) != (
            options["kubeconfig"],
            options["context"],
        ):
            cluster.kubeconfig_path = options["kubeconfig"]
            cluster.context = options["context"]
            cluster.save(update_fields=["kubeconfig_path", "context"])
        if not Session.objects.filter(name=name).exists():
            config = configs.from_file(Path(options["config"])) if options["config"] else None
            session = actions.session_create(by, name, cluster=cluster, config=config)
            actions.session_start(by, session)
        self.stdout.write(f"session {name} is there")
