"""Pods that wait for an event, found by the plugin that refused them, so that an event costs what it concerns.

Used by `scheduling_queue` for unschedulablePods and for the gated ones. Mirrors
pkg/scheduler/backend/queue/unschedulable_pods.go (v1.36), where both share one map without an index.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from schedviz.scheduler.framework.node_info import QueuedPodInfo


class WaitingPods:
    """In order of entry."""

    def __init__(self) -> None:
        self._entries = itertools.count()
        self._pods: dict[str, QueuedPodInfo] = {}
        self._entered: dict[str, int] = {}
        self._plugins: dict[str, frozenset[str]] = {}
        self._of_plugin: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def add(self, queued: QueuedPodInfo, plugins: Iterable[str]) -> None:
        """`plugins`: whose events may help the pod."""
        uid = queued.uid
        self._pods[uid] = queued
        self._entered[uid] = next(self._entries)
        self._plugins[uid] = frozenset(plugins)
        for plugin in self._plugins[uid]:
            self._of_plugin.setdefault(plugin, set()).add(uid)

    def remove(self, queued: QueuedPodInfo) -> None:
        uid = queued.uid
        del self._pods[uid], self._entered[uid]
        for plugin in self._plugins.pop(uid):
            waiting = self._of_plugin[plugin]
            waiting.remove(uid)
            if not waiting:
                del self._of_plugin[plugin]

    def of(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """The pods that one of these plugins refused."""
        hit: set[str] = set()
        for plugin in plugins:
            hit |= self._of_plugin.get(plugin, set())
        return [self._pods[uid] for uid in sorted(hit, key=self._entered.__getitem__)]

    def since(self, moment: float) -> list[QueuedPodInfo]:
        """Those that entered before `moment`."""
        return [queued for queued in self._pods.values() if queued.timestamp < moment]

    def check_invariants(self) -> None:
        assert self._pods.keys() == self._entered.keys() == self._plugins.keys()
        indexed = {uid for uids in self._of_plugin.values() for uid in uids}
        assert indexed == {uid for uid, plugins in self._plugins.items() if plugins}
