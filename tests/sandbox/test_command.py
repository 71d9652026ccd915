"""`manage.py sandbox` as a process: how it starts, refuses to start, and ends."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).parents[2]
SECONDS = 30


def argv(folder: Path, port: int) -> list[str]:
    return [sys.executable, "manage.py", "sandbox", "--port", str(port), "--folder", str(folder)]


@contextlib.contextmanager
def started(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its URL."""
    process = subprocess.Popen(argv(folder, 0), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


def refusal(folder: Path, port: int = 0) -> str:
    """What it says when it will not start: one line."""
    ended = subprocess.run(
        argv(folder, port), cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert ended.returncode != 0
    lines = ended.stderr.strip().splitlines()
    assert len(lines) == 1, ended.stderr
    return lines[0]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_two_seconds_with_watches_open(tmp_path: Path, how: int) -> None:
    with started(tmp_path) as (process, url):
        token = (tmp_path / "admin.token").read_text()
        headers = {"Authorization": f"Bearer {token}"}
        answer = requests.put(
            f"{url}/sandboxes/a", json={"scenario": "steady"}, headers=headers, timeout=SECONDS
        )
        own = Path(answer.json()["kubeconfig"]).read_text().partition("token: ")[2].split()[0]
        watch = requests.get(
            f"{url}/sandboxes/a/api/v1/pods",
            params={"watch": "1"},
            headers={"Authorization": f"Bearer {own}"},
            stream=True,
            timeout=SECONDS,
        )
        with watch:
            lines = watch.iter_lines()
            next(lines)
            reader = threading.Thread(target=lambda: list(lines))
            reader.start()
            at = time.monotonic()
            process.send_signal(how)
            assert process.wait(SECONDS) == 0
            assert time.monotonic() - at < 2
            reader.join(SECONDS)  # the stream ends as a stream should: iterating it raises nothing


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal(tmp_path, port)
    assert f"can't listen on 127.0.0.1:{port}" in line
    assert not list(tmp_path.iterdir()), "it did nothing else"


def test_a_second_server_for_a_folder_is_refused(tmp_path: Path) -> None:
    with started(tmp_path):
        assert "another sandbox server keeps its data" in refusal(tmp_path)


def test_a_folder_that_can_not_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "can't keep its data" in refusal(tmp_path / "file" / "below")
