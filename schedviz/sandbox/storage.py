"""What a sandbox holds: objects by kind and key, one growing resourceVersion, and the latest events for watchers.

Used by `resources` and `server` inside one event loop. Contract: a write is acknowledged (`settled` returns) only when
it is in SQLite, and watchers hear of it only then; so what was acknowledged survives kill -9. Writes of one turn of the
loop share one commit. Versions never go back: each start begins a stretch of its own, so a version that was read just
before a kill, and lost with it, is never given to something else.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import orjson

from schedviz.sandbox.status import expired, not_found

WINDOW = 10_000
"""Events kept for watchers that come late; older versions are answered with 410."""
START_GAP = 100_000
"""How far a start moves the version: more than one commit can hold."""
RETRY_SECONDS = 0.5

Object = dict[str, Any]
SCHEMA = """
CREATE TABLE IF NOT EXISTS sandboxes (name TEXT PRIMARY KEY, version INTEGER NOT NULL, about BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS objects (
    sandbox TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (sandbox, kind, key)
) WITHOUT ROWID;
"""


def line_of(event_type: str, body: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"%s","object":%s}\n' % (event_type.encode(), body)


@dataclass(frozen=True)
class Event:
    """A committed change. `old`: the object before it, None when there was none."""

    version: int
    kind: str
    type: str
    object: Object
    old: Object | None
    body: bytes  # the object as JSON, the same bytes for the database and for every watcher

    @cached_property
    def line(self) -> bytes:
        return line_of(self.type, self.body)


class Objects(Protocol):
    """What `resources` need: the storage itself, or a rehearsal of it."""

    def get(self, kind: str, key: str) -> Object | None: ...

    def values(self, kind: str) -> list[Object]: ...

    def put(self, kind: str, key: str, new: Object) -> Object: ...

    def remove(self, kind: str, key: str) -> Object: ...


class Rehearsal:
    """dryRun=All: answers as the storage would, and keeps nothing."""

    def __init__(self, storage: Objects) -> None:
        self.get, self.values = storage.get, storage.values

    def put(self, kind: str, key: str, new: Object) -> Object:
        old = self.get(kind, key)
        if old is not None:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return new

    def remove(self, kind: str, key: str) -> Object:
        old = self.get(kind, key)
        if old is None:
            raise KeyError(key)
        return old


class Database:
    """One SQLite file for all sandboxes of a server. Raises sqlite3.Error when the disk says no."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(SCHEMA)

    def names(self) -> list[str]:
        return [
            name for (name,) in self._connection.execute("SELECT name FROM sandboxes ORDER BY name")
        ]

    def load(self, name: str) -> tuple[int, Object, list[tuple[str, str, bytes]]] | None:
        """(version, about, [(kind, key, body)]) of a sandbox."""
        row = self._connection.execute(
            "SELECT version, about FROM sandboxes WHERE name = ?", [name]
        ).fetchone()
        if row is None:
            return None
        rows = self._connection.execute(
            "SELECT kind, key, body FROM objects WHERE sandbox = ?", [name]
        )
        return row[0], orjson.loads(row[1]), rows.fetchall()

    def write(
        self, name: str, version: int, about: Object, rows: dict[tuple[str, str], bytes | None]
    ) -> None:
        """All of it or nothing."""
        with self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT INTO sandboxes VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
                "SET version = excluded.version, about = excluded.about",
                [name, version, orjson.dumps(about)],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)",
                [(name, kind, key, body) for (kind, key), body in rows.items() if body is not None],
            )
            connection.executemany(
                "DELETE FROM objects WHERE sandbox = ? AND kind = ? AND key = ?",
                [(name, kind, key) for (kind, key), body in rows.items() if body is None],
            )

    def drop(self, name: str) -> None:
        with self._connection as connection:
            connection.execute("DELETE FROM objects WHERE sandbox = ?", [name])
            connection.execute("DELETE FROM sandboxes WHERE name = ?", [name])

    def close(self) -> None:
        self._connection.close()


class Storage:
    """One sandbox. `about`: its settings and where its scenario is; kept with the next write."""

    def __init__(self, database: Database, name: str, about: Object | None = None) -> None:
        self.name = name
        self._database = database
        self._objects: dict[str, dict[str, Object]] = {}
        self._events: deque[Event] = deque(maxlen=WINDOW)
        self._fresh: list[Event] = []
        self._rows: dict[tuple[str, str], bytes | None] = {}
        self._settling: asyncio.Future[None] | None = None
        self._listeners: dict[int, Callable[[Event | None], None]] = {}
        self._numbers = itertools.count()
        self._closed = False
        kept = database.load(name)
        self.version, self.about = (kept[0] + START_GAP, kept[1]) if kept else (1, about or {})
        for kind, key, body in kept[2] if kept else ():
            self._objects.setdefault(kind, {})[key] = orjson.loads(body)
        self._oldest = self.version
        database.write(name, self.version, self.about, {})

    # ---- reading ---------------------------------------------------------------------------------------------------

    def get(self, kind: str, key: str) -> Object | None:
        return self._objects.get(kind, {}).get(key)

    def items(self, kind: str) -> Iterator[tuple[str, Object]]:
        """In the order of keys."""
        return iter(sorted(self._objects.get(kind, {}).items()))

    def values(self, kind: str) -> list[Object]:
        return list(self._objects.get(kind, {}).values())

    def since(self, version: int) -> list[Event]:
        """The events after `version`. Raises 410 when they are not kept any more."""
        if version < self._oldest:
            raise expired(version, self._oldest)
        return [event for event in self._events if event.version > version]

    def listen(self, listener: Callable[[Event | None], None]) -> Callable[[], None]:
        """Calls it for every committed event, in order, and with None when the storage closes; the answer ends that."""
        number = next(self._numbers)
        self._listeners[number] = listener
        if self._closed:
            listener(None)

        def stop() -> None:
            self._listeners.pop(number, None)

        return stop

    # ---- writing ---------------------------------------------------------------------------------------------------

    def put(self, kind: str, key: str, new: Object) -> Object:
        """Add or replace an object; it gets the next resourceVersion. Never change it afterwards."""
        old = self.get(kind, key)
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        self._objects.setdefault(kind, {})[key] = new
        change = "ADDED" if old is None else "MODIFIED"
        self._note(key, Event(self.version, kind, change, new, old, orjson.dumps(new)))
        return new

    def remove(self, kind: str, key: str) -> Object:
        """Raises KeyError when it is not there."""
        old = self._objects[kind].pop(key)
        self.version += 1
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        self._note(key, Event(self.version, kind, "DELETED", last, old, orjson.dumps(last)))
        return last

    def touch(self) -> None:
        """`about` changed: keep it."""
        self._wake()

    @property
    def is_settled(self) -> bool:
        return self._settling is None

    async def settled(self) -> None:
        """Returns when everything written so far is durable. Raises sqlite3.Error when the disk says no."""
        if self._settling is not None:
            await asyncio.shield(self._settling)

    def flush(self) -> None:
        """Commit, then tell the watchers. What the disk refuses is kept and tried again."""
        settling, self._settling = self._settling, None
        if self._closed or settling is None:
            return
        try:
            self._database.write(self.name, self.version, self.about, self._rows)
        except sqlite3.Error as error:
            settling.set_exception(error)
            settling.exception()  # those who wait hear of it; nobody may be waiting
            self._wake(RETRY_SECONDS)
            return
        fresh, self._fresh, self._rows = self._fresh, [], {}
        for event in fresh:
            if len(self._events) == WINDOW:
                self._oldest = self._events[0].version
            self._events.append(event)
            for listener in tuple(self._listeners.values()):
                listener(event)
        settling.set_result(None)

    def close(self) -> None:
        """Commit what is open, end the watches; no more writes."""
        self.flush()
        self._closed = True
        for listener in tuple(self._listeners.values()):
            listener(None)

    def _note(self, key: str, event: Event) -> None:
        if self._closed:
            raise not_found("sandboxes", self.name)
        self._fresh.append(event)
        self._rows[event.kind, key] = None if event.type == "DELETED" else event.body
        self._wake()

    def _wake(self, seconds: float = 0.0) -> None:
        if self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.create_future()
            if seconds:
                loop.call_later(seconds, self.flush)
            else:
                loop.call_soon(self.flush)
