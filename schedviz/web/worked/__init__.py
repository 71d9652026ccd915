"""Worked examples: scenarios that come with a scheduler's configuration and with rules of an extender that we serve.

Called by `up --scenario NAME`. The files lie beside this module: NAME.scheduler.yaml, where PORT stands for the port of
the pages, and NAME.EXTENDER.rules.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """rules: extender -> what it answers by."""

    name: str
    scheduler: str
    rules: dict[str, str]

    def write_config(self, folder: Path, port: int) -> Path:
        path = folder / f"{self.name}.scheduler.yaml"
        path.write_text(self.scheduler.replace("PORT", str(port)))
        return path


def example(scenario: str) -> Example | None:
    """What belongs to this scenario, if anything does."""
    there = {path.name.partition(".")[0]: path for path in FOLDER.glob("*.scheduler.yaml")}
    if scenario not in there:
        return None
    rules = {
        path.name.split(".")[1]: path.read_text()
        for path in FOLDER.glob(f"{scenario}.*.rules.yaml")
    }
    return Example(scenario, there[scenario].read_text(), rules)
