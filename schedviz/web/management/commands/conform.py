"""`manage.py conform`: cases that the real kube-scheduler answered, answered by ours; every difference is printed.

Reads files with one case a line (.jsonl, .jsonl.gz), with one case or a list of them (.json), and folders of such
files. The answers are `scheduler.conform`'s. Ends with exit code 1 when any case differs.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from schedviz.scheduler import conform

ENDINGS = (".jsonl", ".jsonl.gz", ".json")
NEEDED = {"name": str, "objects": list, "pod": dict, "expect": dict}
Case = dict[str, Any]


class Command(BaseCommand):
    help = "Run conformance cases and print where our answers differ from kube-scheduler's."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")

    def handle(self, **options: Any) -> None:
        passed = failed = 0
        for path in files(options["paths"]):
            for case in cases(path):
                found = differing(case)
                passed, failed = passed + (not found), failed + bool(found)
                for line in found:
                    self.stdout.write(f"{case['name']}: {line}")
        self.stdout.write(f"{passed} passed, {failed} failed")
        if failed:
            sys.exit(1)


def files(paths: list[Path]) -> list[Path]:
    """The case files meant; all paths are looked at before any case runs."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.name.endswith(ENDINGS) and p.is_file())
            if not inside:
                raise CommandError(f"{path}: no case files here ({', '.join(ENDINGS)})")
            found += inside
        elif not path.exists():
            raise CommandError(f"{path}: no such file or folder")
        elif not path.name.endswith(ENDINGS):
            raise CommandError(f"{path}: case files end in {', '.join(ENDINGS)}")
        else:
            found.append(path)
    return found


def cases(path: Path) -> Iterator[Case]:
    try:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise CommandError(f"{path}: can't be read: {error}") from None
    if path.suffix == ".json":
        read = parsed(text, str(path))
        for number, case in enumerate(read if isinstance(read, list) else [read], start=1):
            yield checked(case, f"{path}: case {number}")
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            place = f"{path}:{number}"
            yield checked(parsed(line, place), place)


def parsed(text: bytes, place: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CommandError(f"{place}: not JSON: {error}") from None


def checked(case: Any, place: str) -> Case:
    if not isinstance(case, dict):
        raise CommandError(f"{place}: a case is a JSON object, this is {type(case).__name__}")
    for key, kind in NEEDED.items():
        if not isinstance(case.get(key), kind):
            raise CommandError(f'{place}: a case needs "{key}" ({kind.__name__})')
    return case


def differing(case: Case) -> list[str]:
    """The differences; a case that can't be answered is one."""
    try:
        return conform.judge(case)
    except Exception as error:  # whatever a case holds, the others are still to be answered
        return [f"can't be answered: {type(error).__name__}: {error}"]
