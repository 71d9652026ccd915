"""Watches: every change once, in order, from any version that is kept; and clear words when it is not."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedviz.sandbox import storage, watching
from tests.sandbox import speaking
from tests.sandbox.running import Running, make, running, serving
from tests.sandbox.speaking import MERGE, NODES, PODS, first, node, pod


def version_of(sandbox: Running, path: str) -> str:
    return str(sandbox.ok("GET", path)["metadata"]["resourceVersion"])


def take(events: Iterator[dict[str, Any]], n: int) -> list[tuple[str, str]]:
    return [(e["type"], e["object"]["metadata"]["name"]) for e in itertools.islice(events, n)]


def test_changes_come_in_order(sandbox: Running) -> None:
    version = version_of(sandbox, PODS)
    with speaking.watching(sandbox, PODS, resourceVersion=version) as events:
        sandbox.ok("POST", PODS, pod("a"))
        sandbox.ok("PATCH", f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}}, form=MERGE)
        sandbox.ok("POST", NODES, node("n1"))
        sandbox.ok("DELETE", f"{PODS}/a")
        assert take(events, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_what_happened_since_a_version_is_told(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("old"))
    version = version_of(sandbox, PODS)
    sandbox.ok("POST", PODS, pod("new"))
    with speaking.watching(sandbox, PODS, resourceVersion=version) as events:
        assert take(events, 1) == [("ADDED", "new")]


@pytest.mark.parametrize("version", ["", "0"])
def test_without_a_version_what_is_there_comes_first(sandbox: Running, version: str) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    with speaking.watching(sandbox, PODS, resourceVersion=version) as events:
        assert take(events, 1) == [("ADDED", "a")]
        sandbox.ok("POST", PODS, pod("b"))
        assert take(events, 1) == [("ADDED", "b")]


def test_an_object_enters_and_leaves_a_selector(sandbox: Running) -> None:
    version = version_of(sandbox, PODS)
    query = {"resourceVersion": version, "labelSelector": "app=web"}
    with speaking.watching(sandbox, PODS, **query) as events:
        sandbox.ok("POST", PODS, pod("a", labels={"app": "db"}))
        for app in ("web", "db"):
            change = {"metadata": {"labels": {"app": app}}}
            sandbox.ok("PATCH", f"{PODS}/a", change, form=MERGE)
        assert take(events, 2) == [("ADDED", "a"), ("DELETED", "a")]


def test_a_watch_ends_when_its_time_is_up(sandbox: Running) -> None:
    with speaking.watching(sandbox, PODS, timeoutSeconds=1) as events:
        assert list(events) == []


def test_initial_events_end_with_a_bookmark(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, pod("a"))
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true"}
    query["resourceVersionMatch"] = "NotOlderThan"
    with speaking.watching(sandbox, PODS, **query) as events:
        assert next(events)["object"]["metadata"]["name"] == "a"
        mark = next(events)
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_bookmark_names_a_version_to_go_on_from(
    sandbox: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.2)
    version = version_of(sandbox, PODS)
    sandbox.ok("POST", NODES, node("n1"))
    query = {"resourceVersion": version, "allowWatchBookmarks": "true"}
    with speaking.watching(sandbox, PODS, **query) as events:
        mark = first(events, lambda e: e["type"] == "BOOKMARK")["object"]["metadata"]
    assert int(mark["resourceVersion"]) > int(version)
    sandbox.ok("POST", PODS, pod("a"))
    with speaking.watching(sandbox, PODS, resourceVersion=mark["resourceVersion"]) as events:
        assert take(events, 1) == [("ADDED", "a")]


def gone(sandbox: Running, version: str) -> None:
    answer = sandbox.call("GET", PODS, watch="1", resourceVersion=version, timeoutSeconds=5)
    if answer.status_code == 200:
        event = answer.json()
        assert event["type"] == "ERROR"
        status = event["object"]
    else:
        status = answer.json()
    assert (status["code"], status["reason"]) == (410, "Expired")


def test_a_version_that_is_not_kept_any_more(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(storage, "WINDOW", 5)
    with running(tmp_path) as sandbox:
        version = version_of(sandbox, PODS)
        for n in range(12):
            sandbox.ok("POST", PODS, pod(f"p-{n}"))
        gone(sandbox, version)


def test_a_version_that_is_still_to_come(sandbox: Running) -> None:
    gone(sandbox, str(int(version_of(sandbox, PODS)) + 1000))


def test_a_version_from_before_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as sandbox:
        version = version_of(sandbox, PODS)
        sandbox.ok("POST", PODS, pod("a"))
    with running(tmp_path) as sandbox:
        assert int(version_of(sandbox, PODS)) > int(version)
        gone(sandbox, version)


def test_a_bad_version_is_refused(sandbox: Running) -> None:
    assert sandbox.call("GET", PODS, watch="1", resourceVersion="x").status_code == 400


def test_twenty_watchers_see_the_same(sandbox: Running) -> None:
    version = version_of(sandbox, PODS)
    seen: list[list[str]] = [[] for _ in range(20)]
    ready = threading.Barrier(21)

    def follow(mine: list[str]) -> None:
        with speaking.watching(sandbox, PODS, resourceVersion=version) as events:
            ready.wait(20)
            for event in events:
                mine.append(event["object"]["metadata"]["resourceVersion"])
                if event["object"]["metadata"]["name"] == "last":
                    return

    threads = [threading.Thread(target=follow, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    ready.wait(20)
    for n in range(100):
        sandbox.ok("POST", PODS, pod(f"p-{n}"))
    sandbox.ok("POST", PODS, pod("last"))
    for thread in threads:
        thread.join(20)
    assert seen[0] == sorted(seen[0], key=int)
    assert len(seen[0]) == 101
    assert all(mine == seen[0] for mine in seen)


# ---- any interleaving: what a watcher rebuilds is what the server holds ----------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
APPS = st.sampled_from(["web", "db"])
SELECTORS = st.sampled_from(["", "app=web", "app!=web", "!app"])
DOINGS = st.one_of(
    st.tuples(st.just("create"), NAMES, APPS),
    st.tuples(st.just("label"), NAMES, APPS),
    st.tuples(st.just("delete"), NAMES, APPS),
    st.tuples(st.just("bind"), NAMES, APPS),
    st.tuples(st.just("list and watch"), NAMES, SELECTORS),
    st.tuples(st.just("watch only"), NAMES, SELECTORS),
)


class Watcher:
    """A client's store: a list (or the initial events), then the events of its watch."""

    def __init__(self, sandbox: Running, selector: str, *, lists: bool) -> None:
        self.sandbox, self.selector = sandbox, selector
        self.have: dict[str, str] = {}
        query: dict[str, Any] = {"labelSelector": selector} if selector else {}
        if lists:
            answer = sandbox.ok("GET", PODS, **query)
            for one in answer["items"]:
                self.have[one["metadata"]["name"]] = one["metadata"]["resourceVersion"]
            query["resourceVersion"] = answer["metadata"]["resourceVersion"]
        headers = {"Authorization": f"Bearer {sandbox.token}"}
        self.answer = requests.get(
            sandbox.url + PODS,
            params={"watch": "1", "timeoutSeconds": "30"} | query,
            headers=headers,
            stream=True,
            timeout=20,
        )

    def rebuilt(self, ended: set[str]) -> dict[str, str]:
        """Reads until each of the marks has come."""
        with self.answer:
            events = speaking.events_of(self.answer)
            while ended:
                event = next(events)
                meta = event["object"]["metadata"]
                if event["type"] == "DELETED":
                    assert meta["name"] in self.have, "deleted what was never told of"
                    del self.have[meta["name"]]
                else:
                    known = self.have.get(meta["name"], "0")
                    assert int(meta["resourceVersion"]) > int(known), "an older state came later"
                    assert (event["type"] == "ADDED") == (meta["name"] not in self.have)
                    self.have[meta["name"]] = meta["resourceVersion"]
                ended.discard(meta["name"])
        return self.have


def act(sandbox: Running, doing: str, name: str, app: str) -> None:
    """It may fail, as a client's wish may; what counts is that watchers and store agree."""
    if doing == "create":
        sandbox.call("POST", PODS, pod(name, labels={"app": app}))
    elif doing == "label":
        sandbox.call("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"app": app}}}, form=MERGE)
    elif doing == "delete":
        sandbox.call("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)
    elif doing == "bind":
        sandbox.call("POST", f"{PODS}/{name}/binding", speaking.binding(name, "unknown"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("sandboxes")) as one:
        yield one


COUNT = iter(range(1_000_000))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(doings=st.lists(DOINGS, min_size=3, max_size=25))
def test_what_a_watcher_rebuilds_is_what_the_server_holds(
    server: Any, doings: list[tuple[str, str, str]]
) -> None:
    sandbox = make(server, f"s{next(COUNT)}")
    watchers = [Watcher(sandbox, "", lists=False)]
    for doing, name, word in doings:
        if "watch" in doing:
            watchers.append(Watcher(sandbox, word, lists="list" in doing))
        else:
            act(sandbox, doing, name, word)
    marks = {"end-web": {"app": "web"}, "end-db": {"app": "db"}, "end-bare": {}}
    for name, labels in marks.items():
        sandbox.ok("POST", PODS, pod(name, labels=labels))
    for watcher in watchers:
        query = {"labelSelector": watcher.selector} if watcher.selector else {}
        held = {
            one["metadata"]["name"]: one["metadata"]["resourceVersion"]
            for one in sandbox.ok("GET", PODS, **query)["items"]
        }
        assert watcher.rebuilt(set(marks) & set(held)) == held
