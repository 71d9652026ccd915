"""`manage.py check_config FILE`: a KubeSchedulerConfiguration with every default, or what is wrong in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from schedviz.scheduler.config import ConfigError
from schedviz.web import configs

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(BaseCommand):
    help = (
        "Checks a KubeSchedulerConfiguration as kube-scheduler v1.36 would and prints it with every default. "
        "Complaints go to stderr, with file, line, field and what would help; the exit code is 1 then."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="YAML or JSON; - is standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["file"]
        path = Path("/dev/stdin" if name == "-" else name)
        try:
            found = configs.checked(path.name, configs.read_text(path))
        except ConfigError as error:
            self.stderr.write(configs.complaint(name, error))
            sys.exit(1)
        self.stdout.write(found.config.effective(), ending="")
        if found.warning:
            self.stderr.write(found.warning)
