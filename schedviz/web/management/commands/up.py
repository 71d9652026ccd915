"""`manage.py up`, behind `make demo`: starts everything on this machine, says where it is, stops it all on Ctrl-C.

valkey and the sandbox start at once, the worker and the pages when the database is migrated. Without --kubeconfig the
sandbox is filled with a scenario and watched by the session `demo`. With it there is no sandbox: the cluster of that
file is watched by a session of its context's name, for the pods of scheduler `schedviz` only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import webbrowser
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections
from django.db.models import Q
from django.utils.text import slugify

from schedviz.scheduler.config import ConfigError
from schedviz.web import actions, configs, embedded, readers, worked
from schedviz.web.configs import CheckedConfig
from schedviz.web.embedded import CannotStart
from schedviz.web.models import Cluster, Session
from schedviz.web.permissions import Shell
from schedviz.web.supervisor import Program, StartFailed, Stopped, Supervisor
from schedviz.web.worked import Example

MANAGE = str(settings.BASE_DIR / "manage.py")
# Warnings that say nothing to who starts the product: we know, and `tests` hold what we chose.
UNHEARD = (
    "ignore:You're running the worker",
    "ignore:The `websockets` implementation is deprecated",
    "ignore:StreamingHttpResponse must consume synchronous iterators",
)
MAX_FRAME_BYTES = 16384  # a browser says nothing but its filter


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for and what follows from it."""

    host: str
    port: int
    data: Path
    scenario: str
    config: str  # of the scheduler; "": what the session has
    example: Example | None
    kubeconfig: str
    context: str
    valkey: Path | None  # its socket; None: a Redis of the user's own
    sandbox_port: int  # 0: no sandbox

    @property
    def url(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(self.host, self.host)
        return f"http://{host}:{self.port}/"

    @property
    def sandbox_url(self) -> str:
        return f"http://127.0.0.1:{self.sandbox_port}"

    @property
    def session_name(self) -> str:
        return slugify(self.context)[:63] or "cluster" if self.kubeconfig else "demo"

    @property
    def is_demo(self) -> bool:
        """Visitors from this machine become the demo operator: never when a real cluster is at stake."""
        return not self.kubeconfig and self.host in embedded.LOOPBACK

    def env(self) -> dict[str, str]:
        env = {
            "SCHEDVIZ_DATA": str(self.data),
            "SCHEDVIZ_DEMO": "1" if self.is_demo else "0",
            "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"),
        }
        if self.valkey:
            env["SCHEDVIZ_REDIS_URL"] = f"unix://{self.valkey}"
        return env

    def store_and_cluster(self) -> list[Program]:
        programs = []
        if self.valkey:
            socket = self.valkey
            argv = embedded.valkey_argv(socket)
            programs.append(
                Program(
                    "valkey",
                    argv,
                    lambda: embedded.valkey_answers(socket),
                    unheard=("overcommit", "signal-handler", "bye bye"),
                )
            )
        if self.sandbox_port:
            health = f"{self.sandbox_url}/healthz"
            argv = (sys.executable, MANAGE, "sandbox", "--port", str(self.sandbox_port))
            programs.append(Program("sandbox", argv, lambda: embedded.http_answers(health)))
        return programs

    def worker_and_web(self) -> list[Program]:
        python = (sys.executable, *(word for quiet in UNHEARD for word in ("-W", quiet)), "-m")
        worker = "celery -q -A schedviz worker -P threads -c 4 --without-mingle --without-gossip"
        web = "uvicorn schedviz.asgi:application --no-access-log --lifespan off --ws websockets"
        limits = (
            *("--log-level", "warning", "--timeout-graceful-shutdown", "1"),
            *("--ws-max-size", str(MAX_FRAME_BYTES)),
        )
        where = ("--host", self.host, "--port", str(self.port))
        health = f"{self.url}healthz"
        return [
            Program("worker", (*python, *worker.split()), sessions_are_taken, layer=1),
            Program(
                "web",
                (*python, *web.split(), *limits, *where),
                lambda: embedded.http_answers(health),
                layer=1,
            ),
        ]


class Command(BaseCommand):
    help = "Start everything on this machine: a cluster in a box (or --kubeconfig), the scheduler, the pages."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="of the pages; 8000")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; loopback")
        parser.add_argument("--kubeconfig", default="", help="watch this cluster, start no sandbox")
        parser.add_argument("--context", default="", help="of the kubeconfig; its current one")
        parser.add_argument(
            "--config", default="", help="KubeSchedulerConfiguration to run; see check_config"
        )
        parser.add_argument("--scenario", default="", help="a new sandbox's beginning; steady")
        parser.add_argument("--data", help="folder of everything that is kept; var")
        parser.add_argument("--no-browser", action="store_true", help="open no browser")

    def handle(self, **options: Any) -> None:
        began = time.monotonic()
        try:
            with ExitStack() as stack:
                plan = make_plan(stack, options)
                supervisor = stack.enter_context(
                    Supervisor(env=plan.env(), cwd=settings.BASE_DIR, colour=has_colour())
                )
                bring_up(plan, supervisor)
                greet(plan, supervisor, began, browser=not options["no_browser"])
                supervisor.run()
                supervisor.say("stopping")
        except Stopped:
            pass
        except (CannotStart, StartFailed, actions.Refused) as error:
            self.stderr.write(f"schedviz: {error}")
            sys.exit(1)


def make_plan(stack: ExitStack, options: dict[str, Any]) -> Plan:
    """Looks at everything that can be in the way before anything is started."""
    host, port, data = options["host"], options["port"], Path(settings.DATA_DIR)
    if not 0 < port < 65536:
        raise CannotStart(f"--port {port}: a port is a number from 1 to 65535")
    if host not in embedded.LOOPBACK and not settings.PUBLIC_HOSTS:
        raise CannotStart(
            f"--host {host} lets others in: set SCHEDVIZ_ALLOWED_HOSTS to the host names their browsers will use "
            "(and SCHEDVIZ_HTTPS=0 if there is no HTTPS in front)"
        )
    kubeconfig = os.path.abspath(options["kubeconfig"]) if options["kubeconfig"] else ""
    context = (
        embedded.kubeconfig_context(Path(kubeconfig), options["context"]) if kubeconfig else ""
    )
    config = os.path.abspath(options["config"]) if options["config"] else ""
    if config:
        check_config(config, in_sandbox=not kubeconfig)
    stack.enter_context(embedded.sole_use(data, f"http://{host}:{port}/"))
    example = None if kubeconfig else worked.example(options["scenario"])
    if example is not None and not config:
        config = str(example.write_config(data, port))
    embedded.check_port(host, port)
    has_own_redis = bool(os.environ.get("SCHEDVIZ_REDIS_URL"))
    return Plan(
        host=host,
        port=port,
        data=data,
        scenario=options["scenario"],
        config=config,
        example=example,
        kubeconfig=kubeconfig,
        context=context,
        valkey=None if has_own_redis else stack.enter_context(embedded.socket_path(data)),
        sandbox_port=0 if kubeconfig else embedded.kept_port(data / "sandbox" / "port"),
    )


def bring_up(plan: Plan, supervisor: Supervisor) -> None:
    first, second = plan.store_and_cluster(), plan.worker_and_web()
    for program in first:
        supervisor.start(program)
    began = time.monotonic()
    call_command("migrate", verbosity=0, interactive=False)
    supervisor.say(f"database is ready ({time.monotonic() - began:.1f} s)")
    configure_session(plan)
    serve_extenders(plan)
    for program in second:
        supervisor.start(program)
    supervisor.wait_ready([program.name for program in first])
    make_session(plan)
    supervisor.wait_ready([program.name for program in second])
    connections.close_all()


def check_config(path: str, *, in_sandbox: bool) -> CheckedConfig:
    try:
        found = configs.from_file(Path(path))
        found.schedulers(in_sandbox=in_sandbox)
        return found
    except ConfigError as error:
        raise CannotStart(
            f"--config {path}: {error.summary}; `manage.py check_config {path}` says more"
        ) from error


def configure_session(plan: Plan) -> None:
    """The session of an earlier start gets the configuration before a worker can take it."""
    session = Session.objects.filter(name=plan.session_name).first()
    if plan.config and session is not None:
        config = check_config(plan.config, in_sandbox=not plan.kubeconfig)
        actions.session_configure(Shell(), session, config)


def serve_extenders(plan: Plan) -> None:
    """Those of a worked example, as long as nobody has changed their rules."""
    for name, text in plan.example.rules.items() if plan.example else ():
        if readers.extender_rules(name) is None:
            actions.extender_save(Shell(), name, text)


def make_session(plan: Plan) -> None:
    """The cluster and its session, unless an earlier start made them."""
    if plan.kubeconfig:
        call_command(
            "bootstrap_demo",
            kubeconfig=plan.kubeconfig,
            context=plan.context,
            name=plan.session_name,
            config=plan.config,
            cluster_kind=Cluster.Kind.KUBECONFIG,
            verbosity=0,
        )
        return
    token = plan.data / "sandbox" / "admin.token"
    kubeconfig = embedded.make_sandbox(plan.sandbox_url, token, "demo", plan.scenario)
    call_command(
        "bootstrap_demo",
        kubeconfig=str(kubeconfig),
        name=plan.session_name,
        config=plan.config,
        verbosity=0,
    )


def sessions_are_taken() -> bool:
    """Is there nothing that waits for a worker to take it?"""
    wanted = Session.objects.filter(desired=Session.Desired.RUNNING)
    is_taken = Q(lease__until__gt=time.time(), state=Session.State.RUNNING)
    return Session.objects.exists() and not wanted.exclude(is_taken).exists()


def greet(plan: Plan, supervisor: Supervisor, began: float, *, browser: bool) -> None:
    lines = ["", f"SchedViz is up ({time.monotonic() - began:.1f} s)", "", f"  open     {plan.url}"]
    if not plan.kubeconfig:
        kubeconfig = plan.data / "sandbox" / "demo.kubeconfig"
        lines.append(f"  kubectl  export KUBECONFIG={kubeconfig}")
    config = Session.objects.get(name=plan.session_name).config
    if config:
        lines.append(f"  config   {config['name']}")
    lines += [f"           asks the extender {url}" for url in config.get("extenders", ())]
    lines += ["  stop     Ctrl-C", ""]
    for line in lines:
        supervisor.say(line)
    if not plan.is_demo:
        call_command("first_admin")
    if browser and has_screen():
        webbrowser.open(plan.url)


def has_screen() -> bool:
    """Else a text browser would take over the terminal."""
    return sys.platform == "darwin" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def has_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
