"""Keeps a few programs running: starts them, forwards what they print, restarts the dead, stops all and leaves none.

Used by the `up` command, which says what to run. One thread, one select loop over the children's pipes and a pipe
that signals wake. A child:

    started -> ready -> (dies) -> resting 0.5 s, 1 s, ... 10 s -> started ...

A child that dies three times without ever having been ready is given up: StartFailed, with its last words. Children
of a later layer are stopped before those of an earlier one (web and worker before the store and cluster they talk to).
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

LEASH = str(Path(__file__).with_name("leash.py"))
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS = 0.05
IDLE_SECONDS = 1.0
FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 0.5, 10.0
STEADY_SECONDS = 30.0  # a child that has lived this long is forgiven its earlier deaths
GIVE_UP_AFTER = 3
GRACE_SECONDS = 2.2  # for each layer between TERM and KILL; two layers stay below 5 s
COLOURS = (36, 33, 35, 32, 34, 31)
CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Stopped(Exception):
    """A signal asked us to stop while something was being waited for."""


class StartFailed(Exception):
    """A child cannot be brought up; the text says which and with what last words."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. Ready when `ready()` says so (polled), or when it prints `ready_line`; with neither, at once."""

    name: str
    argv: tuple[str, ...]
    ready: Callable[[], bool] | None = None
    ready_line: str = ""
    layer: int = 0
    unheard: tuple[str, ...] = ()  # lines with one of these are not forwarded


@dataclass(slots=True)
class Child:
    """A program and its present process, if any. `deaths` in a row; `rest_until` is when it is started again."""

    program: Program
    colour: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    is_ready: bool = False
    was_ready: bool = False
    deaths: int = 0
    rest_until: float | None = None
    unfinished: bytes = b""
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=15))

    @property
    def is_alive(self) -> bool:
        return self.process is not None

    @property
    def pid(self) -> int:
        return self.process.pid if self.process else 0

    @property
    def pipe(self) -> IO[bytes]:
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout


class Supervisor:
    """A context manager: inside it signals ask for a stop instead of ending us; leaving it stops every child."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        out: IO[str] = sys.stdout,
        colour: bool = False,
    ) -> None:
        self.children: dict[str, Child] = {}
        self._cwd = cwd
        self._env = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        self._out = out
        self._colour = colour
        self._has_terminal = _is_terminal(out)
        self._stops = 0
        self._selector = selectors.DefaultSelector()
        self._signals_before: dict[signal.Signals, Any] = {}

    # ---- life --------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._wake_before = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGCHLD):
            self._signals_before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for number, before in self._signals_before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wake_before)
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._stops += 1

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    # ---- what `up` asks ----------------------------------------------------------------------

    def start(self, program: Program) -> None:
        colour = COLOURS[len(self.children) % len(COLOURS)]
        child = self.children[program.name] = Child(program, colour)
        self._spawn(child)

    def wait_ready(self, names: Collection[str], *, seconds: float = 60.0) -> None:
        """Until all of these are ready. Raises StartFailed, or Stopped when a signal comes first."""
        deadline = time.monotonic() + seconds
        while waiting := [name for name in names if not self.children[name].is_ready]:
            self.turn()
            if self.is_stopping:
                raise Stopped
            self._give_up_on_hopeless()
            if time.monotonic() > deadline:
                raise StartFailed(f"{', '.join(waiting)} not ready after {seconds:.0f} s")

    def run(self) -> None:
        """Until a signal asks to stop."""
        while not self.is_stopping:
            self.turn()
            self._give_up_on_hopeless()

    def stop(self) -> None:
        """TERM, then KILL, layer by layer from the last; a second signal on the way kills at once."""
        signals_before = self._stops
        for child in self.children.values():
            child.rest_until = None
        for layer in sorted({c.program.layer for c in self.children.values()}, reverse=True):
            members = [c for c in self.children.values() if c.program.layer == layer]
            _signal_groups(members, signal.SIGTERM)
            deadline = time.monotonic() + GRACE_SECONDS
            while any(c.is_alive for c in members) and time.monotonic() < deadline:
                if self._stops > max(signals_before, 1):
                    break
                self.turn(is_final=True)
            _signal_groups(members, signal.SIGKILL)
            while any(c.is_alive for c in members):
                self.turn(is_final=True)

    def say(self, text: str) -> None:
        """A line of our own, among the children's."""
        self._write("up", 1, text)

    # ---- one turn of the loop ----------------------------------------------------------------

    def turn(self, *, is_final: bool = False) -> None:
        """Wait for something to happen (not long), then see to it. `is_final`: the dead stay dead."""
        for key, _ in self._selector.select(POLL_SECONDS if is_final else self._patience()):
            if key.fileobj == self._wake_read:
                _drain(self._wake_read)
            else:
                self._forward(key.data)
        if self._has_terminal and not _is_terminal(self._out):
            self._has_terminal = False
            self._stops += (
                1  # closed; nobody told us when a program between us and it took the signal
            )
        now = time.monotonic()
        for child in self.children.values():
            if child.process is not None and child.process.poll() is not None:
                self._bury(child, now, is_final=is_final)
            elif child.rest_until is not None and child.rest_until <= now:
                self._spawn(child)
            elif child.is_alive and not child.is_ready and not is_final:
                self._probe(child)

    def _patience(self) -> float:
        now = time.monotonic()
        if any(c.is_alive and not c.is_ready for c in self.children.values()):
            return POLL_SECONDS
        rests = [c.rest_until - now for c in self.children.values() if c.rest_until is not None]
        return max(0.0, min([IDLE_SECONDS, *rests]))

    def _spawn(self, child: Child) -> None:
        leash = (sys.executable, "-I", "-S", LEASH, str(os.getpid()))
        child.process = subprocess.Popen(
            (*leash, *child.program.argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,  # so that Ctrl-C reaches us alone
        )
        os.set_blocking(child.pipe.fileno(), False)
        self._selector.register(child.pipe, selectors.EVENT_READ, child)
        child.tail.clear()
        child.started_at, child.rest_until, child.is_ready = time.monotonic(), None, False

    def _probe(self, child: Child) -> None:
        program = child.program
        if program.ready() if program.ready is not None else not program.ready_line:
            self._set_ready(child)

    def _set_ready(self, child: Child) -> None:
        took = time.monotonic() - child.started_at
        back = "back" if child.was_ready else "ready"
        child.is_ready = child.was_ready = True
        self.say(f"{child.program.name} is {back} ({took:.1f} s)")

    def _bury(self, child: Child, now: float, *, is_final: bool) -> None:
        self._forward(child)
        if child.unfinished:
            self._line(child, child.unfinished)
            child.unfinished = b""
        assert child.process is not None
        _signal_groups([child], signal.SIGKILL)  # what it may have started itself
        self._deafen(child)
        child.pipe.close()
        how = _ending(child.process.returncode)
        child.process, child.is_ready = None, False
        if is_final:
            return
        child.deaths = 1 if now - child.started_at > STEADY_SECONDS else child.deaths + 1
        rest = min(FIRST_REST_SECONDS * 2 ** (child.deaths - 1), LONGEST_REST_SECONDS)
        child.rest_until = now + rest
        self.say(f"{child.program.name} {how}; starting it again in {rest:g} s")

    def _give_up_on_hopeless(self) -> None:
        for child in self.children.values():
            if not child.was_ready and child.deaths >= GIVE_UP_AFTER:
                words = "\n".join(child.tail) or "it said nothing"
                raise StartFailed(f"{child.program.name} does not start. Its last words:\n{words}")

    # ---- words -------------------------------------------------------------------------------

    def _forward(self, child: Child) -> None:
        """All that the child's pipe has for us now, line by line."""
        while child.process is not None:
            try:
                chunk = os.read(child.pipe.fileno(), 65536)
            except BlockingIOError:
                return
            if not chunk:
                self._deafen(child)
                return
            *lines, child.unfinished = (child.unfinished + chunk).split(b"\n")
            for line in lines:
                self._line(child, line)

    def _deafen(self, child: Child) -> None:
        """Its pipe has no more to say; select would spin on it. (Its death is told by SIGCHLD.)"""
        with contextlib.suppress(KeyError):
            self._selector.unregister(child.pipe)

    def _line(self, child: Child, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        child.tail.append(CONTROL_SEQUENCE.sub("", text))
        ready_line = child.program.ready_line
        if not any(words in text for words in child.program.unheard):
            self._write(child.program.name, child.colour, text)
        if ready_line and not child.is_ready and ready_line in text:
            self._set_ready(child)

    def _write(self, name: str, colour: int, text: str) -> None:
        """A reader who went away (a closed pipe, a closed terminal) is a wish to stop."""
        prefix = f"\x1b[{colour}m{name:8}|\x1b[0m" if self._colour else f"{name:8}|"
        try:
            self._out.write(f"{prefix} {text}\n")
            self._out.flush()
        except (OSError, ValueError):
            self._stops += 1


def _signal_groups(children: Collection[Child], number: signal.Signals) -> None:
    for child in children:
        if child.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.process.pid, number)


def _ending(returncode: int) -> str:
    if returncode < 0:
        return f"was killed by {signal.Signals(-returncode).name}"
    return f"ended with code {returncode}"


def _is_terminal(out: IO[str]) -> bool:
    try:
        return out.isatty()
    except ValueError:  # closed
        return False


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass
