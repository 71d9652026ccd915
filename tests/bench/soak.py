"""The soak: many pods through a sandbox where everything goes wrong that may: nodes flap, pods are deleted at random,
bindings fail, watches are cut, and the worker is killed three times.

At the end each pod that is left must be on its node, once, or wait for a reason that is said. Then pods come and go for
a while, and the worker's memory must not grow by more than ROOM_MB.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.bench.bad_line import BadLine
from tests.journeys.house import House, node, pod, wait_until

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
MERGE = {"Content-Type": "application/merge-patch+json"}
NOW = {"gracePeriodSeconds": 0}
SENDERS = 4
KILLS = 3
ROOM_MB = 40.0
MOVING = "'active', 'backoff', 'scheduling', 'binding'"


class Cluster:
    """The sandbox by plain HTTP, past the bad line."""

    def __init__(self, house: House) -> None:
        config = yaml.safe_load(house.kubeconfig.read_text())
        self.config = config
        self.url = config["clusters"][0]["cluster"]["server"]
        self.token = config["users"][0]["user"].get("token", "")
        self._own = threading.local()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        if not hasattr(self._own, "session"):
            self._own.session = requests.Session()
            self._own.session.headers["Authorization"] = f"Bearer {self.token}"
        answer: requests.Response = self._own.session.request(
            method, self.url + path, json=body, headers=headers, timeout=60
        )
        return answer

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", PODS).json()["items"]
        return found


def measure(*, pods: int = 20_000, nodes: int = 200, per_second: float = 250.0) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="sv-") as folder:
        house = House(Path(folder), "--scenario", "empty")
        try:
            house.start()
            cluster = Cluster(house)
            with behind_bad_line(house, cluster) as line:
                return _measure(house, cluster, line, pods, nodes, per_second)
        finally:
            house.end()


@contextlib.contextmanager
def behind_bad_line(house: House, cluster: Cluster) -> Iterator[BadLine]:
    """From its next start on, the session reaches the sandbox through it."""
    scheme, _, rest = cluster.url.partition("://")
    address, slash, path = rest.partition("/")
    with BadLine(f"{scheme}://{address}") as line:
        config = dict(cluster.config)
        server = {**config["clusters"][0]["cluster"], "server": line.url + slash + path}
        config["clusters"] = [{**config["clusters"][0], "cluster": server}]
        bad = house.data / "bad.kubeconfig"
        bad.write_text(yaml.safe_dump(config))
        with contextlib.closing(sqlite3.connect(house.data / "db.sqlite3", timeout=20)) as db:
            db.execute("update web_cluster set kubeconfig_path = ?", (str(bad),))
            db.commit()
        kill_worker(house)
        yield line


def kill_worker(house: House) -> None:
    before = house.rows("select fence from web_lease")[0][0]
    house.kill("worker")
    taken = "select 1 from web_lease where fence > ?"
    wait_until("another worker", lambda: house.rows(taken, before), 60)


def _measure(
    house: House, cluster: Cluster, line: BadLine, pods: int, nodes: int, per_second: float
) -> dict[str, Any]:
    for number in range(nodes):
        cluster.call("POST", NODES, node(f"node-{number}", cpu="64", memory="256Gi"))
    began = time.monotonic()
    with Trouble(cluster, nodes) as trouble, ThreadPoolExecutor(SENDERS) as senders:
        kills = [pods * (n + 1) // (KILLS + 1) for n in range(KILLS)]
        sent = []
        for number in range(pods):
            time.sleep(max(0.0, began + number / per_second - time.monotonic()))
            body = pod(f"soak-{number}", cpu="100m")
            sent.append(senders.submit(cluster.call, "POST", PODS, body))
            trouble.made = number + 1
            if number in kills:
                senders.submit(kill_worker, house)
        for one in sent:
            assert one.result().status_code == 201
    wait_until("all settled", lambda: is_settled(house, cluster), 300)
    took = time.monotonic() - began
    problems = unsound(house, cluster)
    before = rss_mb(house)
    for round_ in range(2):
        churn(cluster, pods // 10, round_)
        wait_until("all settled", lambda: is_settled(house, cluster), 300)
    alive, grown = cluster.pods(), rss_mb(house) - before
    if grown > ROOM_MB:
        problems.append(f"the worker's memory grew by {grown:.0f} MB")
    problems += unsound(house, cluster)
    return {
        "pods": pods,
        "deleted": trouble.n_deleted,
        "bound": sum(1 for one in alive if one["spec"].get("nodeName")),
        "alive": len(alive),
        "problems": len(problems),
        "examples": problems[:5],
        "seconds": round(took, 1),
        "worker_mb": rss_mb(house),
        "growth_mb": round(grown, 1),
        **{word.replace(" ", "_"): n for word, n in line.n.items()},
    }


class Trouble:
    """While it lasts, nodes are cordoned, deleted and come back, and pods are deleted."""

    def __init__(self, cluster: Cluster, nodes: int) -> None:
        self.made = 0
        self.n_deleted = 0
        self._cluster, self._nodes = cluster, nodes
        self._dice = random.Random(2)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Trouble:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """All nodes are there and open again."""
        self._stop.set()
        self._thread.join()
        for number in range(self._nodes):
            self._open(f"node-{number}")

    def _run(self) -> None:
        while not self._stop.wait(0.08):
            name = f"node-{self._dice.randrange(self._nodes)}"
            word = self._dice.choice(["cordon", "cordon", "open", "open", "delete", "pod", "pod"])
            if word == "delete":
                self._cluster.call("DELETE", f"{NODES}/{name}")
            elif word == "cordon":
                cordoned = {"spec": {"unschedulable": True}}
                self._cluster.call("PATCH", f"{NODES}/{name}", cordoned, **MERGE)
            elif word == "open":
                self._open(name)
            elif self.made:
                victim = f"{PODS}/soak-{self._dice.randrange(self.made)}"
                self.n_deleted += self._cluster.call("DELETE", victim, NOW).ok

    def _open(self, name: str) -> None:
        self._cluster.call("POST", NODES, node(name, cpu="64", memory="256Gi"))
        opened = {"spec": {"unschedulable": False}}
        self._cluster.call("PATCH", f"{NODES}/{name}", opened, **MERGE)


def churn(cluster: Cluster, n: int, round_: int) -> None:
    """So many pods go and as many come."""
    names = [one["metadata"]["name"] for one in cluster.pods()][:n]
    with ThreadPoolExecutor(SENDERS) as senders:
        for number, name in enumerate(names):
            senders.submit(cluster.call, "DELETE", f"{PODS}/{name}", NOW)
            body = pod(f"churn-{round_}-{number}", cpu="100m")
            senders.submit(cluster.call, "POST", PODS, body)


def is_settled(house: House, cluster: Cluster) -> bool:
    """The record knows every pod that is left, and none of them is on its way."""
    time.sleep(1.0)
    moving = house.rows(f"select count(*) from web_podstate where lane in ({MOVING})")[0][0]
    if moving:
        return False
    known = {uid for (uid,) in house.rows("select uid from web_podstate where lane != 'gone'")}
    return {one["metadata"]["uid"] for one in cluster.pods()} == known


def unsound(house: House, cluster: Cluster) -> list[str]:
    """What must not be, in words."""
    rows = house.rows("select uid, lane, node_name, message from web_podstate where lane != 'gone'")
    states = {uid: (lane, node_name, message) for uid, lane, node_name, message in rows}
    found = []
    for one in cluster.pods():
        name, where = one["metadata"]["name"], one["spec"].get("nodeName", "")
        lane, node_name, message = states.get(one["metadata"]["uid"], ("unknown", "", ""))
        if where and (lane, node_name) != ("bound", where):
            found.append(f"{name} is on {where}, and the record has it {lane} {node_name}")
        if not where and (lane == "bound" or not message):
            found.append(f"{name} is on no node, and the record has it {lane}: {message!r}")
    twice = "select pod_uid, count(*) n from web_cycle where outcome = 'bound' group by 1"
    found += [f"{uid} was bound {n} times" for uid, n in house.rows(twice) if n > 1]
    return found


def rss_mb(house: House) -> float:
    """Of the worker and its children."""
    worker = house.children()["worker"]
    sizes = [one.memory_info().rss for one in (worker, *worker.children(recursive=True))]
    return round(sum(sizes) / 1e6, 1)
