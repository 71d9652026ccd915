"""An empty sandbox for each test, over real HTTP; and one that kubectl's tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.kubectl import Kubectl
from tests.sandbox.running import Running, running


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Each test works in a namespace, or with names, of its own."""
    with running(tmp_path_factory.mktemp("sandbox")) as made:
        yield Kubectl(made, tmp_path_factory.mktemp("home"))
