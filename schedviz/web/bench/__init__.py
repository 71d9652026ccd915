"""One measurement of the scheduler alone: so many nodes, so many pods, one workload; no API server, no browser.

Called by the `bench` command. `workloads` says what the cluster and its pods look like, `world` plays the API server,
`keeping` is where records go. What is timed for a cycle is all of it: the scheduler's work, the Bind's answer, the
bound pod that comes back as the Change a watch would bring (parsed from its raw form, as an informer has to), and the
journal's encoding or the database's commit if they are asked for.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from schedviz.web.bench.keeping import Keeper
from schedviz.web.bench.world import Load, World, drain


@dataclass(frozen=True, slots=True)
class Figures:
    """What came out. Percentiles are of a cycle's time; bound: pods that reached a node while it was measured."""

    nodes: int
    pods: int
    running: int
    workload: str
    record: str
    cycles_per_s: float
    p50_ms: float
    p99_ms: float
    bytes_per_cycle: int
    peak_rss_mb: float
    cycles: int
    bound: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(load: Load, keeper: Keeper) -> Figures:
    """Schedules the warm pods, then the measured ones; the clock stops when the last record is kept."""
    world = World(load)
    gc.collect()
    gc.freeze()  # as a session does when it has read the cluster
    _schedule(world, keeper)
    world.add_pods("pod", load.pods)
    before, n_bound = keeper.size, world.n_bound
    began = time.perf_counter()
    times = _schedule(world, keeper)
    took = time.perf_counter() - began
    p50, p99 = np.percentile(times, (50, 99)) * 1000 if times else (0.0, 0.0)
    return Figures(
        nodes=load.nodes,
        pods=load.pods,
        running=load.running,
        workload=load.workload,
        record=load.record,
        cycles_per_s=round(len(times) / took, 1),
        p50_ms=round(float(p50), 3),
        p99_ms=round(float(p99), 3),
        bytes_per_cycle=(keeper.size - before) // max(len(times), 1),
        peak_rss_mb=round(peak_rss_mb(), 1),
        cycles=len(times),
        bound=world.n_bound - n_bound,
    )


def _schedule(world: World, keeper: Keeper) -> list[float]:
    """Every cycle there is to run; how long each took, in seconds."""
    times: list[float] = []
    scheduler = world.scheduler
    turn = time.perf_counter()
    while True:
        for effect in keeper.released():
            keeper.keep(world.act(effect), scheduler)
        cycle = scheduler.start_cycle(time.time())
        if cycle is None:
            if keeper.wait():
                continue
            return times
        keeper.keep(drain(cycle), scheduler)
        now = time.perf_counter()
        times.append(now - turn)
        turn = now


def peak_rss_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
