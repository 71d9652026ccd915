"""Which plugins want to hear of an event, and whether one of them may now let a pod pass that it refused.

Used by `scheduling_queue`. Mirrors isPodWorthRequeuing and the queueing hint map of
pkg/scheduler/backend/queue/scheduling_queue.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.cluster_event import (
    ClusterEvent,
    Happening,
    Hint,
    Hinted,
    Registration,
    event_of,
)

Registrations: TypeAlias = Mapping[str, Mapping[str, tuple[Registration, ...]]]
"""Scheduler name -> plugin -> what it registered for; nothing: it wants to hear of everything."""


class Hints:
    """Answers are looked up once for each event."""

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._interested: dict[ClusterEvent, frozenset[str]] = {}
        self._found: dict[tuple[str, str, ClusterEvent], tuple[Hint, ...] | None] = {}

    def plugins_for(self, event: ClusterEvent) -> frozenset[str]:
        """The plugins that want to hear of this event, of whatever profile."""
        found = self._interested.get(event)
        if found is None:
            found = self._interested[event] = frozenset(
                plugin
                for profile in self._registrations.values()
                for plugin, registered in profile.items()
                if not registered or any(event.matches(event_of(one)) for one in registered)
            )
        return found

    def helped(self, pod: Pod, refused: Iterable[str], happened: Happening) -> str:
        """The first of these plugins, by name, that may think otherwise now, or ""."""
        interested = self.plugins_for(happened.event)
        for plugin in sorted(interested.intersection(refused)):
            if self._may_help(pod, plugin, happened):
                return plugin
        return ""

    def _may_help(self, pod: Pod, plugin: str, happened: Happening) -> bool:
        hints = self._hints(pod.scheduler_name, plugin, happened.event)
        if hints is None:
            return True
        return any(_says(hint, pod, happened) for hint in hints)

    def _hints(self, profile: str, plugin: str, event: ClusterEvent) -> tuple[Hint, ...] | None:
        """None: the event always may help."""
        key = (profile, plugin, event)
        if key not in self._found:
            registered = self._registrations.get(profile, {}).get(plugin, ())
            meant = [one for one in registered if event.matches(event_of(one))]
            plain = not registered or any(not isinstance(one, Hinted) for one in meant)
            hints = tuple(one.may_help for one in meant if isinstance(one, Hinted))
            self._found[key] = None if plain else hints
        return self._found[key]


def _says(hint: Hint, pod: Pod, happened: Happening) -> bool:
    """A hint that fails counts as yes: better one attempt in vain than a pod that sleeps through its chance."""
    try:
        return hint(pod, happened.old, happened.new)
    except Exception:
        return True
