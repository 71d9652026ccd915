"""A real valkey for tests: the binary that the product bundles, on a unix socket in a folder of its own."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from schedviz.web import embedded

if TYPE_CHECKING:
    from collections.abc import Iterator


class Valkey:
    """Start, kill and restart it at will; the URL stays."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "valkey.sock"
        self.url = f"unix://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            embedded.valkey_argv(self.socket), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10
        while not embedded.valkey_answers(self.socket):
            assert time.monotonic() < deadline, "valkey does not answer"
            time.sleep(0.01)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def running_valkey() -> Iterator[Valkey]:
    with tempfile.TemporaryDirectory(prefix="valkey-") as folder:
        valkey = Valkey(Path(folder))
        valkey.start()
        try:
            yield valkey
        finally:
            valkey.kill()
