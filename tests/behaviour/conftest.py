"""An empty sandbox for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.world import World
from tests.sandbox.running import running


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(tmp_path) as sandbox:
        yield World(sandbox)
