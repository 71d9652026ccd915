"""`make bench`: every measurement, printed as a table (goal beside figure) and written to build/bench.json."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import live
from tests.journeys.house import ROOT, clean_env

RESULT = ROOT / "build" / "bench.json"


def core(*, nodes: int, pods: int, workload: str = "basic", record: str = "none") -> dict[str, Any]:
    """In a process of its own, so that memory is its own too."""
    command = [sys.executable, "manage.py", "bench", "--json", "--record", record]
    command += ["--workload", workload, "--nodes", str(nodes), "--pods", str(pods)]
    run = subprocess.run(command, cwd=ROOT, env=clean_env(), capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"bench: {' '.join(command)} failed:\n{run.stderr}")
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


# The yardstick for 5,000 nodes is kube-scheduler 1.36 itself with an API server and etcd on a machine of this size.
ROWS: list[tuple[str, str, Callable[[], dict[str, Any]], str, Callable[[float], bool] | None]] = [
    ("cycles/s, 100 nodes", "", lambda: core(nodes=100, pods=5000), "cycles_per_s", None),
    ("cycles/s, 1,000 nodes", "", lambda: core(nodes=1000, pods=5000), "cycles_per_s", None),
    (
        "cycles/s, 5,000 nodes",
        "kube-scheduler: 510-563",
        lambda: core(nodes=5000, pods=2000),
        "cycles_per_s",
        lambda figure: figure > 563,
    ),
    (
        "cycles/s, 5,000 nodes, required node affinity",
        "kube-scheduler: 177-236",
        lambda: core(nodes=5000, pods=2000, workload="nodeaffinity"),
        "cycles_per_s",
        lambda figure: figure > 236,
    ),
    (
        "cycles/s, 5,000 nodes, recorded in the database",
        "",
        lambda: core(nodes=5000, pods=2000, record="database"),
        "cycles_per_s",
        None,
    ),
    (
        "bytes a recorded cycle, 5,000 nodes",
        "at most 20,480",
        lambda: core(nodes=5000, pods=500, record="journal"),
        "bytes_per_cycle",
        lambda figure: figure <= 20480,
    ),
    (
        "event in the API -> visible in the browser, p95 s, 50 pods/s",
        "under 1",
        live.measure,
        "p95_s",
        lambda figure: figure < 1,
    ),
]


def main() -> int:
    results, failed = [], 0
    print(f"{'measurement':62} {'figure':>10}  goal")
    for name, goal, measure, key, is_met in ROWS:
        detail = measure()
        met = None if is_met is None else is_met(detail[key])
        failed += met is False
        mark = {None: "", True: "met", False: "NOT MET"}[met]
        print(f"{name:62} {detail[key]:>10,}  {goal:24} {mark}", flush=True)
        results.append(
            {"name": name, "figure": detail[key], "goal": goal, "met": met, "detail": detail}
        )
    RESULT.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    RESULT.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    print(f"written to {RESULT.relative_to(Path.cwd())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
