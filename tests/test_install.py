"""`make demo` and `make test` where something is in the way: one clear line each, and no installing twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTALL, CHROMIUM = ROOT / ".ci/venv", ROOT / ".ci/chromium"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with requirements that need nothing from outside."""
    (tmp_path / "requirements.txt").write_text("")
    return tmp_path


def install(project: Path, path: Path = INSTALL, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", path, "requirements.txt"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(project), "PYTHON": sys.executable, **env},
        capture_output=True,
        text=True,
    )


def test_second_time_installs_nothing(project):
    first, second = install(project), install(project)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.splitlines()[-1] == "3/3 installed"
    assert second.stdout == ""


def test_changed_requirements_are_installed(project):
    install(project)
    (project / "requirements.txt").write_text("# something else\n")
    assert "2/3 installing requirements.txt" in install(project).stdout


def test_old_python_is_named(project):
    old = script(project / "python3.9", '[ "$1" = --version ] && echo Python 3.9.2 || exit 1')
    run = install(project, PYTHON=str(old))
    assert run.returncode == 1
    assert run.stderr == f"schedviz: PYTHON={old} is Python 3.9.2; Python 3.11 or newer is needed\n"


def test_no_fitting_python_is_said(project):
    tools = project / "tools"
    tools.mkdir()
    for tool in ("cat", "tr", "cksum", "head"):
        (tools / tool).symlink_to(shutil.which(tool))
    run = install(project, PYTHON="", PATH=str(tools))
    assert run.returncode == 1
    assert run.stderr.startswith("schedviz: Python 3.11 or newer is needed, found no Python;")


def test_folder_that_cannot_be_made_is_said(project):
    run = install(project, VENV="/proc/venv")
    assert run.returncode == 1
    assert run.stderr.startswith("schedviz: cannot write to /proc/venv in ")


def test_folder_of_something_else_is_left_alone(project):
    (project / "mine").mkdir()
    (project / "mine/letter.txt").write_text("dear")
    run = install(project, VENV="mine")
    assert run.returncode == 1
    assert run.stderr == "schedviz: mine is there and is no virtual environment; move it away\n"
    assert (project / "mine/letter.txt").exists()


@pytest.mark.parametrize(
    ("pip_says", "told"),
    [
        pytest.param(
            "NewConnectionError: Failed to establish a new connection",
            "no network: pip cannot reach the package index",
            id="no network",
        ),
        pytest.param(
            "error: command 'gcc' failed: No such file or directory",
            "no C compiler was found; install gcc",
            id="missing compiler",
        ),
        pytest.param("OSError: No space left on device", "no space left", id="full disk"),
        pytest.param("ERROR: no such thing", "pip failed: ERROR: no such thing", id="else"),
    ],
)
def test_what_pip_cannot_do_is_said_in_one_line(project, pip_says, told):
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/pyvenv.cfg").write_text("")
    python = project / ".venv/bin/python"
    script(python, f'case "$*" in *install*) echo "{pip_says}"; exit 1;; esac')
    run = install(project)
    assert run.returncode == 1
    assert told in run.stderr
    assert run.stderr.count("\n") == 1


def test_missing_chromium_is_said_when_it_cannot_be_installed(project):
    tools = project / "tools"
    tools.mkdir()
    script(tools / "id", "echo 1000")
    run = install(project, CHROMIUM, PATH=str(tools))
    assert run.returncode == 1
    assert run.stderr.startswith("schedviz: the tests need Chromium; install it")
