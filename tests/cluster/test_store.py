"""After any story of lists and events the store, and whoever only heard its Changes, hold what the server holds."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from schedviz.cluster.store import Store
from schedviz.kube.watch import WatchEvent
from schedviz.scheduler.framework.steps import Change

NAMES = st.sampled_from(["a", "b", "c"])
FORMS = st.sampled_from(["same", "new form", "unreadable", "another of that name", "deleted"])
# A server's story: what happened to which object, and whether the watch brought it or was down.
STORIES = st.lists(st.tuples(NAMES, FORMS, st.booleans()), max_size=25)


def node(name: str, *, uid: str, version: int, cpu: str = "4") -> dict[str, Any]:
    meta = {"name": name, "uid": uid, "resourceVersion": str(version)}
    return {"kind": "Node", "metadata": meta, "status": {"allocatable": {"cpu": cpu}}}


def is_readable(raw: dict[str, Any]) -> bool:
    return bool(raw["status"]["allocatable"]["cpu"] == "4")


class Listener:
    """Believes nothing but Changes."""

    def __init__(self) -> None:
        self.readable: dict[str, tuple[str, str]] = {}  # key: uid, resourceVersion
        self.unreadable: set[str] = set()  # uids

    def hear(self, changes: list[Change]) -> None:
        for change in changes:
            if change.old is not None:
                known = self.readable.get(change.old.key)
                assert known == (change.old.uid, change.old.resource_version)
            if change.error is not None:
                (self.unreadable.discard if change.is_gone else self.unreadable.add)(
                    change.error.uid
                )
            elif change.new is not None:
                self.unreadable.discard(change.new.uid)
                self.readable[change.new.key] = (change.new.uid, change.new.resource_version)
            elif change.old is not None:
                del self.readable[change.old.key]


def happen(server: dict[str, dict[str, Any]], name: str, form: str, version: int) -> WatchEvent:
    """Change the server's objects; the event that tells of it (for "same": the object again)."""
    known = server.get(name)
    if known is not None and form == "deleted":
        return WatchEvent("DELETED", server.pop(name))
    if known is not None and form == "same":
        return WatchEvent("MODIFIED", known)
    uid = known["metadata"]["uid"] if known and form != "another of that name" else f"u{version}"
    cpu = "lots" if form == "unreadable" else "4"
    server[name] = node(name, uid=uid, version=version, cpu=cpu)
    return WatchEvent("MODIFIED" if known else "ADDED", server[name])


@given(STORIES)
def test_it_agrees_with_the_server_after_any_story(story: list[tuple[str, str, bool]]) -> None:
    store, listener = Store("Node"), Listener()
    server: dict[str, dict[str, Any]] = {}
    missed = False
    for version, (name, form, watched) in enumerate(story, start=1):
        event = happen(server, name, form, version)
        if not watched:
            missed = True
        elif missed:
            listener.hear(store.replace(server.values()))
            missed = False
        else:
            listener.hear(store.apply(event))
    listener.hear(store.replace(server.values()))
    assert store.replace(server.values()) == []

    readable = {name: raw["metadata"] for name, raw in server.items() if is_readable(raw)}
    unreadable = {raw["metadata"]["uid"] for raw in server.values() if not is_readable(raw)}
    assert store.keys() == server.keys()
    names = store.keys()
    for name in names:
        held = store.get(name)
        if name in readable:
            assert held is not None and held.uid == readable[name]["uid"]
            assert held.resource_version == readable[name]["resourceVersion"]
        else:
            assert held is None
    assert listener.unreadable == unreadable
    for name, meta in readable.items():
        assert listener.readable[name] == (meta["uid"], meta["resourceVersion"])
    assert listener.readable.keys() <= server.keys()


def test_an_unreadable_version_is_said_once() -> None:
    store = Store("Node")
    broken = node("a", uid="u", version=1, cpu="lots")
    assert [change.error is not None for change in store.replace([broken])] == [True]
    assert store.replace([broken]) == []


def test_an_object_that_becomes_unreadable_is_not_taken_for_gone() -> None:
    store = Store("Node")
    store.replace([node("a", uid="u", version=1)])
    (change,) = store.apply(WatchEvent("MODIFIED", node("a", uid="u", version=2, cpu="lots")))
    assert change.error is not None and not change.is_gone
    assert "cpu" in change.error.field + change.error.message
