"""`manage.py bench`: cycles a second, a cycle's time and its record's size, for one workload on so many nodes."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand

from schedviz.web.bench import measure
from schedviz.web.bench.keeping import RECORDS, keeper
from schedviz.web.bench.workloads import WORKLOADS
from schedviz.web.bench.world import Load


class Command(BaseCommand):
    help = "Measure the scheduler alone: no API server, no browser."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--nodes", type=count, default=1000)
        parser.add_argument("--pods", type=count, default=1000, help="to be scheduled")
        parser.add_argument("--running", type=count, default=0, help="pods bound beforehand")
        parser.add_argument("--warm", type=count, default=0, help="pods scheduled before the clock")
        parser.add_argument("--workload", choices=WORKLOADS, default="basic")
        parser.add_argument("--record", choices=RECORDS, default="none")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        load = Load(**{name: options[name] for name in Load.__slots__})
        with keeper(load.record) as kept:
            figures = measure(load, kept).as_json()
        if options["json"]:
            self.stdout.write(json.dumps(figures))
        else:
            for name, figure in figures.items():
                self.stdout.write(f"{name:16} {figure}")


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
