"""Configuration files of schedulers: read from disk, checked, and what a session keeps of one.

Used by `actions` (a session is configured), `running` (it runs with it) and the commands `check_config`, `up` and
`session`. Here the files are opened; what they mean is `scheduler.config`'s.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedviz.scheduler.config import ConfigError, Problem, SchedulerConfig, load
from schedviz.scheduler.extender import safe_url
from schedviz.scheduler.framework.node_info import QueueConfig
from schedviz.scheduler.framework.runtime import Framework
from schedviz.scheduler.profile import profiles_of


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """A configuration that a scheduler can run with."""

    name: str
    text: str
    config: SchedulerConfig
    profiles: dict[str, Framework]

    @property
    def warning(self) -> str:
        """What the file says in vain, as kube-scheduler reads it; "" for nothing."""
        line = self.config.dropped_line
        if line is None:
            return ""
        return (
            f"{self.name}:{line}: a second document begins here, and only the first is read, as kube-scheduler does: "
            "several profiles are written as a list below `profiles`"
        )

    @property
    def queue(self) -> QueueConfig:
        return QueueConfig(
            initial_backoff_seconds=self.config.initial_backoff_seconds,
            max_backoff_seconds=self.config.max_backoff_seconds,
        )

    def schedulers(self, *, in_sandbox: bool) -> list[str]:
        """The names whose pods it schedules. Raises ConfigError where the default name is taken without being written:
        a real cluster has a scheduler of that name."""
        written = self.config.written.get("profiles") or [{}]
        if in_sandbox or all(one.get("schedulerName") for one in written):
            return list(self.profiles)
        words = "without it this schedules default-scheduler's pods, which the cluster's own scheduler does"
        mend = "write schedulerName: schedviz (or default-scheduler, if there is no other)"
        field = "profiles[0].schedulerName"
        problem = Problem(field, words, line=self.config.lines.of(field), mend=mend)
        raise ConfigError(f"{field}: {words}", [problem])

    def kept(self) -> dict[str, Any]:
        """What the session's row has of it."""
        return {
            "name": self.name,
            "text": self.text,
            "extenders": [safe_url(one.url_prefix) for one in self.config.extenders],
        }


def read_text(path: Path) -> str:
    """The file's text. Raises ConfigError, too, for a file that cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}"
        raise ConfigError(words, [Problem("", words)]) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        words = "the file is no text in UTF-8"
        raise ConfigError(words, [Problem("", words, line=line)]) from error


def checked(name: str, text: str) -> CheckedConfig:
    """Raises ConfigError."""
    config = load(text)
    return CheckedConfig(name, text, config, profiles_of(config))


def from_file(path: Path) -> CheckedConfig:
    """Raises ConfigError."""
    return checked(path.name, read_text(path))


def complaint(path: str, error: ConfigError) -> str:
    """For the terminal: each thing that is wrong with its line, how to mend it, and kube-scheduler's own words."""
    lines = []
    for one in error.problems:
        where = f"{path}:{one.line}" if one.line else path
        words = " ".join(one.text.split())
        named = f"{one.field}: " if one.field else ""
        lines.append(f"{where}: {named}{words}")
        if one.mend:
            lines.append(f"    mend: {one.mend}")
    if error.message not in {words for one in error.problems for words in (one.said, one.text)}:
        said = textwrap.indent(error.message, "    ")
        lines += ["", "kube-scheduler v1.36 would say:", said]
    if error.proposal:
        lines += ["", "It could be written so:", "", error.proposal.rstrip()]
    return "\n".join(lines)
