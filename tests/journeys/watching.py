"""A watch on pods that outlives every crash of the API server: where each pod was ever said to be bound.

Lists, then watches from there; lists again after any break. Keeps, for each pod's uid, every node name ever seen.
"""

from __future__ import annotations

import threading
from collections import defaultdict

import urllib3
from kubernetes import client, watch

from tests.journeys.house import House

BROKEN = (client.ApiException, urllib3.exceptions.HTTPError, OSError, ValueError)


class PodWatch:
    def __init__(self, house: House) -> None:
        self._house = house
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.names: dict[str, str] = {}  # by uid
        self.nodes: dict[str, set[str]] = defaultdict(set)  # by uid
        self.breaks = 0

    def __enter__(self) -> PodWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def n_bound(self) -> int:
        return sum(1 for nodes in list(self.nodes.values()) if nodes)

    def _see(self, pod: client.V1Pod) -> None:
        self.names[pod.metadata.uid] = pod.metadata.name
        if pod.spec.node_name:
            self.nodes[pod.metadata.uid].add(pod.spec.node_name)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._list_and_watch()
            except BROKEN:
                self.breaks += 1
                self._stop.wait(0.1)

    def _list_and_watch(self) -> None:
        api = self._house.api()
        found = api.list_namespaced_pod("default", _request_timeout=5)
        for pod in found.items:
            self._see(pod)
        version = found.metadata.resource_version
        while not self._stop.is_set():
            events = watch.Watch()
            stream = events.stream(
                api.list_namespaced_pod,
                "default",
                resource_version=version,
                timeout_seconds=1,
                _request_timeout=5,
            )
            for event in stream:
                self._see(event["object"])
            version = events.resource_version or version
