"""An empty sandbox for each test, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.running import Running, running


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as made:
        yield made
