"""An HTTP extender in a process of its own, which says what a test told it to say and keeps what it was asked.

`serving(folder)` starts it; `python -m tests.extending FOLDER` is what it starts. A verb without an answer is answered
with 404; `raw` is sent as it is, `seconds` are waited first, `hang_up` closes the connection in the middle.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

READY_SECONDS = 20.0


class FakeExtender:
    """The test's side. url: of its root, without a slash at the end."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def says(self, verb: str, body: Any = None, **more: Any) -> None:
        told = self.folder / f"{verb}.new"
        told.write_text(json.dumps({"body": body, **more}))
        told.rename(self.folder / f"{verb}.json")

    def asked(self, verb: str = "") -> list[Any]:
        """The bodies of what it was asked so far."""
        log = self.folder / "asked.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        calls = [json.loads(line) for line in lines]
        return [one["body"] for one in calls if verb in ("", one["verb"])]


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def do_POST(self) -> None:
        verb = self.path.rpartition("/")[2]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with (self.folder / "asked.jsonl").open("a") as log:
            who = self.headers.get("Authorization", "")
            log.write(json.dumps({"verb": verb, "authorization": who, "body": body}) + "\n")
        told = self.folder / f"{verb}.json"
        if not told.exists():
            return self._send(404, b"")
        answer = json.loads(told.read_text())
        time.sleep(answer.get("seconds", 0.0))
        raw = answer.get("raw")
        said = json.dumps(answer["body"]).encode() if raw is None else raw.encode()
        said *= answer.get("times", 1)
        self._send(answer.get("status", 200), said, hang_up=answer.get("hang_up", False))

    def _send(self, status: int, body: bytes, *, hang_up: bool = False) -> None:
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", str(len(body) + (10 if hang_up else 0)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)
        self.close_connection = self.close_connection or hang_up

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[FakeExtender]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.extending", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield FakeExtender(folder, f"http://127.0.0.1:{port}")
        finally:
            process.kill()


if __name__ == "__main__":
    _Answers.folder = Path(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    print(server.server_address[1], flush=True)
    server.serve_forever()
