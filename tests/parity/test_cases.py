"""Cases that the real kube-scheduler v1.36 answered: ours must say the same, every key of every case.

Some more cases, which may not be copied, are read in place where they are at hand.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedviz.scheduler import conform

FOLDER = Path(__file__).parent / "cases"
BESIDE = Path(__file__).parents[3] / "shared/conformance/unit"
FAMILIES = [*sorted(FOLDER.rglob("*.jsonl.gz")), *sorted(BESIDE.glob("*.jsonl.gz"))]


def cases(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem.removesuffix(".jsonl"))
def test_answers_are_kube_schedulers(path):
    differing = [f"{case['name']}: {line}" for case in cases(path) for line in conform.judge(case)]
    assert not differing, "\n".join(differing[:20])


def test_there_are_cases():
    assert sum(1 for path in FOLDER.rglob("*.jsonl.gz") for _ in cases(path)) == 1701
