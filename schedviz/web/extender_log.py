"""What the extenders that we serve were asked last and what they answered, for their pages.

Written and read by `views.extenders`, in the memory of each web process: the newest exchanges of each extender only.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count

KEPT = 50
SHOWN_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Exchange:
    """request, answer: their beginnings; error: the answer's own, or why there was none."""

    number: int
    verb: str
    pod: str
    status: int
    error: str
    request: str
    answer: str
    n_request: int
    n_answer: int
    seconds: float
    at: float = field(default_factory=time.time)


class ExtenderLog:
    """By extender; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._of: dict[str, deque[Exchange]] = {}

    def next_number(self) -> int:
        return next(self._numbers)

    def note(self, name: str, exchange: Exchange) -> None:
        with self._lock:
            self._of.setdefault(name, deque(maxlen=KEPT)).appendleft(exchange)

    def of(self, name: str) -> list[Exchange]:
        """The newest first."""
        with self._lock:
            return list(self._of.get(name, ()))

    def forget(self, name: str) -> None:
        with self._lock:
            self._of.pop(name, None)


LOG = ExtenderLog()
