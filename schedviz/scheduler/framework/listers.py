"""Every object that is neither a pod nor a node, as the watch last told it: claims, volumes, services, namespaces.

Kept by the cache, read by plugins through `Snapshot.listers`. Mirrors client-go's listers, and pkg/scheduler/util/
assumecache (v1.36) for what a plugin takes for granted before the API server has heard of it. Objects are immutable;
what plugins work out from them they may keep for as long as `version` of the kinds they read stands still.

    told --assume--> assumed --restore, or the watch tells something new--> told
"""

from __future__ import annotations

from collections.abc import Mapping

from schedviz.kube.objects import KubeObject, Other

_NONE: Mapping[str, Other] = {}


class Listers:
    """Objects by kind and key ("namespace/name", or "name")."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Other]] = {}
        self._told: dict[tuple[str, str], Other] = {}  # what the watch told of assumed ones
        self._versions: dict[str, int] = {}

    def of(self, kind: str) -> Mapping[str, Other]:
        return self._kinds.get(kind, _NONE)

    def get(self, kind: str, key: str) -> Other | None:
        return self._kinds.get(kind, _NONE).get(key)

    def told(self, kind: str, key: str) -> Other | None:
        """As the watch last told it, whatever is assumed."""
        return self._told.get((kind, key)) or self.get(kind, key)

    def version(self, *kinds: str) -> int:
        """Grows with every change of an object of these kinds."""
        return sum(self._versions.get(kind, 0) for kind in kinds)

    def replace(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """Take in a change: `old` is no more what it was, `new` is what it is. It overrules what was assumed."""
        if isinstance(old, Other):
            self._told.pop((old.kind, old.key), None)
            self._kinds.get(old.kind, {}).pop(old.key, None)
            self._grow(old.kind)
        if isinstance(new, Other):
            self._told.pop((new.kind, new.key), None)
            self._kinds.setdefault(new.kind, {})[new.key] = new
            self._grow(new.kind)

    def assume(self, one: Other) -> None:
        """Show `one` for what the watch told of it, which it must have."""
        self._told.setdefault((one.kind, one.key), self._kinds[one.kind][one.key])
        self._kinds[one.kind][one.key] = one
        self._grow(one.kind)

    def restore(self, kind: str, key: str) -> None:
        """Show again what the watch told; nothing happens when nothing is assumed."""
        told = self._told.pop((kind, key), None)
        if told is not None:
            self._kinds[kind][key] = told
            self._grow(kind)

    def _grow(self, kind: str) -> None:
        self._versions[kind] = self._versions.get(kind, 0) + 1
