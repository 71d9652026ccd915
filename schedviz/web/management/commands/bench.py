"""`manage.py bench`: cycles a second, a cycle's time and its record's size, for one workload on so many nodes."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from django.core.management.base import BaseCommand

from schedviz.web import bench

WORKLOADS = ("basic", "nodeaffinity", *bench.LATER)


class Command(BaseCommand):
    help = "Measure the scheduler alone: no API server, no browser."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--nodes", type=count, default=1000)
        parser.add_argument("--pods", type=count, default=1000, help="to be scheduled")
        parser.add_argument("--running", type=count, default=0, help="pods bound beforehand")
        parser.add_argument("--workload", choices=WORKLOADS, default="basic")
        parser.add_argument("--record", choices=("none", "journal", "database"), default="none")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        load = bench.Load(*(options[name] for name in bench.Load.__slots__))
        try:
            with bench.keeping(load.record) as keep:
                figures = bench.measure(load, keep).as_json()
        except bench.CannotMeasure as error:
            self.stderr.write(f"schedviz: {error}")
            sys.exit(1)
        if options["json"]:
            self.stdout.write(json.dumps(figures))
        else:
            for name, figure in figures.items():
                self.stdout.write(f"{name:16} {figure}")


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
