"""What goes with others: objects whose owners are gone, and everything in a namespace that is deleted.

Called by `controllers`. Mirrors pkg/controller/garbagecollector (background, foreground; orphaning is done at the
delete) and pkg/controller/namespace.
"""

from __future__ import annotations

from schedviz.kube.kinds import KINDS
from schedviz.sandbox import resources
from schedviz.sandbox.controllers import jobs
from schedviz.sandbox.controllers.world import World, is_leaving
from schedviz.sandbox.storage import Object


def sync_owners(world: World, one: Object) -> None:
    """It goes when none of its owners is there; owners that are gone are struck off otherwise."""
    owners = one["metadata"].get("ownerReferences") or []
    there = [owner for owner in owners if _is_there(world, one, owner)]
    if not owners or len(there) == len(owners):
        return
    if there:
        world.patch(one, {"metadata": {"ownerReferences": there}})
        return
    if jobs.FINALIZER in (one["metadata"].get("finalizers") or ()):
        jobs.release(world, one)
    if not is_leaving(one):
        world.delete(one)


def _is_there(world: World, one: Object, owner: dict[str, object]) -> bool:
    kind = KINDS.get(str(owner.get("kind")))
    if kind is None:
        return True  # a kind that is not served here: nothing is known of it
    namespace = one["metadata"].get("namespace", "")
    found = world.storage.get(kind.kind, resources.key_of(kind, namespace, str(owner.get("name"))))
    return found is not None and found["metadata"]["uid"] == owner.get("uid")


def sync_foreground(world: World, one: Object) -> None:
    """What it owns goes first; then it goes itself."""
    finalizers = one["metadata"].get("finalizers") or []
    if resources.FOREGROUND not in finalizers or not is_leaving(one):
        return
    there = [
        held
        for kind, key in world.keys_owned(one["metadata"]["uid"])
        if (held := world.storage.get(kind, key)) is not None
    ]
    for held in there:
        if not is_leaving(held):
            world.delete(held, propagationPolicy="Foreground")
    if not there:
        kept = [name for name in finalizers if name != resources.FOREGROUND]
        world.patch(one, {"metadata": {"finalizers": kept or None}})


def sync_namespace(world: World, one: Object) -> None:
    """Terminating: what is in it is deleted, and it goes when it is empty."""
    name = one["metadata"]["name"]
    if not is_leaving(one):
        return
    world.terminating.add(name)
    is_empty = True
    for kind in KINDS.values():
        if kind.namespaced:
            for held in world.storage.values(kind.kind):
                if held["metadata"]["namespace"] == name:
                    is_empty = is_empty and _go(world, held)
    if is_empty:
        world.terminating.discard(name)
        world.storage.remove("Namespace", name)


def _go(world: World, held: Object) -> bool:
    """Whether it is gone."""
    if not is_leaving(held):
        world.delete(held)
    return world.storage.get(held["kind"], world.key_of(held)) is None
