"""Configuration files that the real kube-scheduler v1.36 read or refused: ours must say the same of them.

Beside each file stands what the real one answered, and what it makes of those that it reads.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedviz.scheduler.config import ConfigError, load
from schedviz.scheduler.profile import profiles_of

FOLDER = Path(__file__).parent / "config"
NOTES = sorted(FOLDER.glob("*.txt"))
REFUSED = [path for path in NOTES if "expected outcome: REFUSED" in path.read_text()]
LOADS = [path for path in NOTES if path not in REFUSED]


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_refused_in_kube_schedulers_words(path):
    text = path.with_suffix(".yaml").read_text()
    with pytest.raises(ConfigError) as refused:
        profiles_of(load(text))
    message = re.split(r"message of kube-scheduler[^\n]*\n", path.read_text())[1]
    assert squeezed(refused.value.message) == squeezed(message)
    assert all(problem.line and problem.field for problem in refused.value.problems)


@pytest.mark.parametrize("path", LOADS, ids=lambda path: path.stem)
def test_effective_configuration_is_kube_schedulers(path):
    config = load(path.with_suffix(".yaml").read_text())
    assert list(profiles_of(config)) == [one.scheduler_name for one in config.profiles]
    assert config.effective() == path.with_suffix(".effective.yaml").read_text()


def test_there_are_files():
    assert (len(REFUSED), len(LOADS)) == (13, 2)
