"""Every object that is neither a pod nor a node, as the watch last told it: claims, volumes, services, namespaces.

Kept by the cache, read by plugins through `Snapshot.listers`. Mirrors client-go's listers. Objects are immutable; what
plugins work out from them they may keep for as long as `version` of the kinds they read stands still.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedviz.kube.objects import KubeObject, Other

_NONE: Mapping[str, Other] = {}


class Listers:
    """Objects by kind and key ("namespace/name", or "name")."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Other]] = {}
        self._versions: dict[str, int] = {}

    def of(self, kind: str) -> Mapping[str, Other]:
        return self._kinds.get(kind, _NONE)

    def get(self, kind: str, key: str) -> Other | None:
        return self._kinds.get(kind, _NONE).get(key)

    def version(self, *kinds: str) -> int:
        """Grows with every change of an object of these kinds."""
        return sum(self._versions.get(kind, 0) for kind in kinds)

    def replace(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """Take in a change: `old` is no more what it was, `new` is what it is."""
        if isinstance(old, Other):
            self._kinds.get(old.kind, {}).pop(old.key, None)
            self._versions[old.kind] = self._versions.get(old.kind, 0) + 1
        if isinstance(new, Other):
            self._kinds.setdefault(new.kind, {})[new.key] = new
            self._versions[new.kind] = self._versions.get(new.kind, 0) + 1
