"""The measurement itself: it schedules what it says, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from schedviz.web import bench
from schedviz.web.bench.keeping import keeper
from schedviz.web.bench.world import Load
from tests.journeys.house import ROOT, clean_env


@pytest.mark.parametrize("workload", ["basic", "nodeaffinity", "spread", "anti"])
@pytest.mark.parametrize("record", ["none", "journal"])
def test_every_pod_is_bound_in_one_cycle(workload, record):
    load = Load(nodes=30, pods=12, running=20, warm=3, workload=workload, record=record)
    with keeper(record) as kept:
        figures = bench.measure(load, kept)
    assert (figures.cycles, figures.bound) == (12, 12)
    assert (figures.bytes_per_cycle > 0) == (record == "journal")
    assert figures.cycles_per_s > 0


def test_with_the_database_each_bind_waits_for_its_record(tmp_path):
    command = [sys.executable, "manage.py", "bench", "--json", "--record", "database"]
    run = subprocess.run(
        [*command, "--nodes", "20", "--pods", "50", "--warm", "5"],
        cwd=ROOT,
        env=clean_env(SCHEDVIZ_DATA=str(tmp_path), TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert (figures["cycles"], figures["bound"]) == (50, 50)
    assert figures["bytes_per_cycle"] > 0
    left = [path.name for path in tmp_path.rglob("*") if "bench" in path.name]
    assert left == []
    assert not (tmp_path / "db.sqlite3").exists()
