"""`make bench`: every measurement, printed as a table (goal beside figure) and written to build/bench.json."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import extenders, live, pending, soak
from tests.journeys.house import ROOT, clean_env

RESULT = ROOT / "build" / "bench.json"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. key: the figure in what `measure` answers; least, most: the goal's bounds."""

    name: str
    measure: Callable[[], dict[str, Any]]
    key: str = "cycles_per_s"
    least: float | None = None
    most: float | None = None
    note: str = ""

    def is_met(self, figure: float) -> bool | None:
        if self.least is None and self.most is None:
            return None
        return figure >= (self.least or 0) and (self.most is None or figure <= self.most)

    @property
    def goal(self) -> str:
        bounds = [f">= {self.least:,}"] if self.least is not None else []
        bounds += [f"<= {self.most:,}"] if self.most is not None else []
        return " ".join([*bounds, self.note])


def core(**options: Any) -> Callable[[], dict[str, Any]]:
    """One run of `manage.py bench`, in a process of its own, so that memory is its own too."""

    def measure() -> dict[str, Any]:
        command = [sys.executable, "manage.py", "bench", "--json"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        run = subprocess.run(command, cwd=ROOT, env=clean_env(), capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"bench: {' '.join(command)} failed:\n{run.stderr}")
        answer: dict[str, Any] = json.loads(run.stdout)
        return answer

    return measure


LARGE = {"nodes": 5000, "pods": 1000, "warm": 1000, "record": "journal"}
FULL = {**LARGE, "running": 50_000}

# In brackets: kube-scheduler 1.36 itself, with an API server and etcd, end to end, on a machine of this size.
ROWS = [
    Row("cycles/s, 100 nodes", core(nodes=100, pods=2000, warm=500, record="journal")),
    Row("cycles/s, 1,000 nodes", core(nodes=1000, pods=2000, warm=500, record="journal")),
    Row("cycles/s, 5,000 nodes: basic", core(**LARGE), least=1200, note="(510-563)"),
    Row(
        "cycles/s, 5,000 nodes: required node affinity",
        core(**LARGE, workload="nodeaffinity"),
        least=1000,
        note="(177-236)",
    ),
    Row(
        "cycles/s, 5,000 nodes: hard zone spread",
        core(**LARGE, workload="spread"),
        least=800,
        note="(216-255)",
    ),
    Row(
        "cycles/s, 5,000 nodes: hard host anti-affinity",
        core(**LARGE, workload="anti"),
        least=800,
        note="(320-355)",
    ),
    Row(
        "cycles/s, 5,000 nodes: preemption",
        core(nodes=5000, pods=200, warm=50, record="journal", workload="preemption"),
        least=100,
    ),
    *(
        Row(f"cycles/s, 5,000 nodes, 50,000 pods: {load}", core(**FULL, workload=load))
        for load in ("basic", "nodeaffinity", "spread", "anti")
    ),
    Row(
        "MB of memory, 5,000 nodes, 50,000 pods",
        core(**{**FULL, "record": "none"}),
        "peak_rss_mb",
        most=600,
    ),
    Row(
        "cycles/s, 5,000 nodes, recorded in the database",
        core(**{**LARGE, "record": "database"}),
        least=500,
    ),
    Row("bytes a recorded cycle, 5,000 nodes", core(**LARGE), "bytes_per_cycle", most=20480),
    Row("us to add a pod, 50,000 pending", pending.measure, "add_us", most=200),
    Row("us to pop a pod and wait, 50,000 pending", pending.measure, "pop_us", most=200),
    Row("us to move a pod, 50,000 pending", pending.measure, "move_us", most=1000),
    Row("us to wake a pod, 50,000 pending", pending.measure, "wake_us", most=200),
    Row("us for an event that concerns no pod of 50,000", pending.measure, "event_us", most=1000),
    Row(
        "ms more a cycle, 5,000 nodes, an extender asked by name",
        lambda: extenders.measure(by_name=True),
        "overhead_ms",
    ),
    Row(
        "ms more a cycle, 5,000 nodes, an extender sent them whole",
        lambda: extenders.measure(by_name=False),
        "overhead_ms",
    ),
    Row("soak, 20,000 pods: what must not be", soak.measure, "problems", most=0),
    Row("event in the API -> seen in the browser, p95 s, 50 pods/s", live.measure, "p95_s", most=1),
]


def main() -> int:
    results, failed = [], 0
    print(f"{'measurement':58} {'figure':>9}  goal")
    for row in ROWS:
        detail = row.measure()
        figure = detail[row.key]
        met = row.is_met(figure)
        failed += met is False
        mark = {None: "", True: "met", False: "NOT MET"}[met]
        print(f"{row.name:58} {figure:>9,}  {row.goal:22} {mark}", flush=True)
        results.append(
            {"name": row.name, "figure": figure, "goal": row.goal, "met": met, "detail": detail}
        )
    RESULT.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    RESULT.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    print(f"written to {RESULT.relative_to(Path.cwd())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
