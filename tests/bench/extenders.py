"""What an extender costs a cycle at 5,000 nodes: asked by name, and sent every node whole.

The extender is a process that reads the request and answers with what was prepared, so that what is measured is ours:
putting the request together, sending it, reading the answer.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np

from schedviz.cluster.extenders import Extenders
from schedviz.kube import objects
from schedviz.scheduler.framework.steps import CallExtenders, Change, Effect, Reply
from schedviz.scheduler.profile import configured_profiles
from schedviz.scheduler.scheduler import Scheduler
from tests.make import raw_node, raw_pod

NODES = 5000
CYCLES = 20
ANSWER_EVERY = 50  # it prefers every fiftieth node


def measure(*, by_name: bool) -> dict[str, Any]:
    """{"plain_ms", "extended_ms", "overhead_ms", "request_bytes"}: medians of whole cycles."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.extenders"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}
            url += "/names" if by_name else "/nodes"
            one = {"urlPrefix": url, "nodeCacheCapable": by_name, **verbs}
            plain, _ = _cycles({})
            extended, n_bytes = _cycles({"extenders": [one]})
        finally:
            server.kill()
    return {
        "plain_ms": round(plain, 2),
        "extended_ms": round(extended, 2),
        "overhead_ms": round(extended - plain, 2),
        "request_bytes": n_bytes,
    }


def _cycles(config: dict[str, Any]) -> tuple[float, int]:
    """(median of the cycles' milliseconds, size of the largest request)."""
    scheduler = Scheduler(configured_profiles(config))
    for number in range(NODES):
        _arrive(scheduler, "Node", _node(number))
    for number in range(CYCLES):
        _arrive(scheduler, "Pod", raw_pod(f"p-{number}", requests={"cpu": "100m"}))
    return asyncio.run(_timed(scheduler))


def _node(number: int) -> dict[str, Any]:
    """About as long as a cluster writes them: some 4 KB."""
    labels = {f"example.com/label-{n}": f"value-{n}" for n in range(25)}
    images = {f"registry.example.com/team/application-{n}:v1.2.3": 10**8 for n in range(25)}
    return raw_node(f"node-{number:04}", labels=labels, images=images)


def _arrive(scheduler: Scheduler, kind: str, raw: dict[str, Any]) -> None:
    made = objects.parse(kind, raw)
    made.wire = json.dumps(raw).encode()
    scheduler.apply(Change(kind, None, made), 1.0)


async def _timed(scheduler: Scheduler) -> tuple[float, int]:
    times, largest = [], 0
    async with Extenders() as pools:
        for _ in range(CYCLES):
            began = time.perf_counter()
            cycle, reply = scheduler.start_cycle(2.0), None
            while cycle is not None:
                try:
                    said = cycle.send(reply)
                except StopIteration:
                    break
                reply = None
                if isinstance(said, Effect) and isinstance(said.action, CallExtenders):
                    calls = said.action.calls
                    answers = [await pools.call(call) for call in calls]
                    assert not any(one.error for one in answers), answers[0].error
                    largest = max(largest, *(len(call.body) for call in calls))
                    reply = Reply(said.id, True, 200, answers=tuple(answers))
            times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1000, largest


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Of the next request; b"" when there is none."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _serve() -> None:
    """Reads a request to its end and answers what was prepared for its verb."""
    names = [f"node-{number:04}" for number in range(NODES)]
    items = [{"metadata": {"name": name}} for name in names]
    hosts = [{"Host": name, "Score": 5} for name in names[::ANSWER_EVERY]]
    said = {
        b"/names/filter": json.dumps({"NodeNames": names}).encode(),
        b"/nodes/filter": json.dumps({"Nodes": {"items": items}}).encode(),
        b"/names/prioritize": json.dumps(hosts).encode(),
        b"/nodes/prioritize": json.dumps(hosts).encode(),
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            lines = head.split(b"\r\n")
            n = next(int(line[15:]) for line in lines if line.lower().startswith(b"content-length"))
            await reader.readexactly(n)
            body = said[lines[0].split()[1]]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
