"""`manage.py session list|create|configure|start|stop`: sessions on the command line, by the pages' own actions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from schedviz.scheduler.config import ConfigError
from schedviz.web import actions, configs, readers
from schedviz.web.models import Cluster, Session
from schedviz.web.permissions import Shell

if TYPE_CHECKING:
    from django.core.management.base import CommandParser

    from schedviz.web.configs import CheckedConfig


class Command(BaseCommand):
    help = "Lists, creates, configures, starts and stops sessions (one cluster + one scheduler, running)."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every session with its state")
        for verb in ("start", "stop"):
            verbs.add_parser(verb).add_argument("name")
        create = verbs.add_parser("create", help="a stopped session, its cluster too when new")
        create.add_argument("name")
        create.add_argument("--cluster", help="name of a cluster that is already known")
        create.add_argument("--kubeconfig", help="whole path of a kubeconfig on the worker's disk")
        create.add_argument("--context", default="", help="the kubeconfig's context")
        create.add_argument(
            "--scheduler-name",
            action="append",
            help="a schedulerName whose pods this session schedules (may be repeated; default: schedviz)",
        )
        create.add_argument(
            "--config", help="KubeSchedulerConfiguration whose profiles it runs; see check_config"
        )
        create.add_argument("--seed", type=int, default=0, help="of the tie-break")

        configure = verbs.add_parser("configure", help="what it runs from its next start on")
        configure.add_argument("name")
        configure.add_argument(
            "config", nargs="?", help="a KubeSchedulerConfiguration; none: the default plugins"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"session_{options['verb']}")(options)
        except actions.Refused as refusal:
            raise CommandError(str(refusal)) from refusal

    def session_list(self, options: dict[str, Any]) -> None:
        for session in readers.sessions_list():
            status, sentence = readers.session_status(session)
            names = ",".join(session.scheduler_names)
            self.stdout.write(
                f"{session.name}\t{status}\t{session.cluster.name}\t{names}\t{sentence}"
            )

    def session_start(self, options: dict[str, Any]) -> None:
        actions.session_start(Shell(), self._session(options["name"]))
        self.stdout.write(f"session {options['name']}: a worker starts it")

    def session_stop(self, options: dict[str, Any]) -> None:
        actions.session_stop(Shell(), self._session(options["name"]))
        self.stdout.write(f"session {options['name']}: its worker stops it")

    def session_create(self, options: dict[str, Any]) -> None:
        session = actions.session_create(
            Shell(),
            options["name"],
            cluster=self._cluster(options),
            scheduler_names=options["scheduler_name"],
            seed=options["seed"],
            config=self._config(options["config"]),
        )
        names = ", ".join(session.scheduler_names)
        self.stdout.write(f"session {session.name} is there, for pods of {names}")

    def session_configure(self, options: dict[str, Any]) -> None:
        session = self._session(options["name"])
        actions.session_configure(Shell(), session, self._config(options["config"]))
        with_what = session.config.get("name") or "the default plugins"
        names = ", ".join(session.scheduler_names)
        self.stdout.write(
            f"session {session.name} runs {with_what} from its next start on, for pods of {names}"
        )

    def _config(self, path: str | None) -> CheckedConfig | None:
        try:
            return configs.from_file(Path(path)) if path else None
        except ConfigError as error:
            raise CommandError(configs.complaint(str(path), error)) from error

    def _session(self, name: str) -> Session:
        session = readers.session_by_name(name)
        if session is None:
            raise CommandError(f"there is no session {name!r}: see `session list`")
        return session

    def _cluster(self, options: dict[str, Any]) -> Cluster:
        name, path = options["cluster"] or options["name"], options["kubeconfig"]
        known = Cluster.objects.filter(name=name).first()
        if path and known:
            raise CommandError(f"cluster {name!r} is known already: leave --kubeconfig out")
        if path:
            return actions.cluster_add(
                Shell(), name, kubeconfig_path=path, context=options["context"]
            )
        if known is None:
            raise CommandError(f"there is no cluster {name!r}: give --kubeconfig")
        return known
