"""The shape of the house as tests: who may import whom, how long things may be, what must stand beside what.

Budgets and vocabulary are those of the README's "map of the house"; a rule that is not tested here is only a wish.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from schedviz.scheduler import plugins
from schedviz.scheduler.framework import interface

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    path for path in (ROOT / "schedviz").rglob("*.py") if "migrations" not in path.parts
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FILE_LINES, FUNCTION_LINES = 400, 50
BANNED = re.compile(
    r"(?<![a-z])(Manager|Helper|Utils?|Processor|Handler|Impl)(?![a-z])|\b(do_|process_)\w+"
)
ALLOWED = {"event_handlers"}  # upstream's own
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def functions(tree: ast.Module):
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def names_defined(tree: ast.Module):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


@pytest.fixture(params=SOURCES, ids=name_of)
def source(request) -> Path:
    return request.param


def test_imports_point_one_way():
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_file_is_within_its_budget(source):
    lines = source.read_text().count("\n")
    assert lines <= FILE_LINES, f"{lines} lines: make it a package of the same name"


def test_functions_are_within_their_budget(source):
    long = {
        f.name: f.end_lineno - f.lineno + 1
        for f in functions(tree_of(source))
        if f.end_lineno - f.lineno + 1 > FUNCTION_LINES
    }
    assert not long


def test_module_says_what_it_is(source):
    tree = tree_of(source)
    assert ast.get_docstring(tree) or not tree.body


def test_names_are_ours(source):
    found = {name for name in names_defined(tree_of(source)) if BANNED.search(name)}
    assert not found - ALLOWED
    assert source.stem in ALLOWED or not BANNED.search(source.stem.title().replace("_", ""))


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_nothing_is_left_for_later(path):
    with path.open("rb") as file:
        comments = [
            t.string for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT
        ]
    assert not [comment for comment in comments if UNFINISHED.search(comment)]


PLUGIN_FILES = sorted(
    path for path in (ROOT / "schedviz/scheduler/plugins").glob("*.py") if path.stem != "__init__"
)


@pytest.mark.parametrize("path", PLUGIN_FILES, ids=lambda path: path.stem)
def test_plugin_file_has_its_test_file(path):
    assert (ROOT / "tests/scheduler/plugins" / f"test_{path.stem}.py").exists()


@pytest.mark.parametrize("path", PLUGIN_FILES, ids=lambda path: path.stem)
def test_plugin_file_and_its_classes_are_named_alike(path):
    """Every Plugin class is in IN_TREE under its own name; its file is that name in snake_case."""
    classes = {
        name: kind
        for name, kind in plugins.IN_TREE.items()
        if kind.__module__.rpartition(".")[2] == path.stem
    }
    assert classes, "no class of this file is in IN_TREE"
    for name, kind in classes.items():
        assert kind.__name__ == name
    snake = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in classes}
    assert path.stem in snake


def test_every_plugin_says_what_it_does():
    assert not [name for name, kind in plugins.IN_TREE.items() if not kind.__doc__]


def test_every_plugin_speaks_at_some_extension_point():
    methods = set(interface.EXTENSION_POINTS.values())
    mute = [n for n, kind in plugins.IN_TREE.items() if not methods & set(dir(kind))]
    assert not mute


PAGES = sorted(
    path for path in (ROOT / "schedviz/web/views").glob("*.py") if path.stem != "__init__"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_has_its_test_file(path):
    assert (ROOT / "tests/web/views" / f"test_{path.stem}.py").exists()


def test_templates_compile():
    from django.template import engines

    folder = ROOT / "templates"
    engine = engines["django"]
    for path in sorted(folder.rglob("*.html")):
        engine.get_template(str(path.relative_to(folder)))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a clone knows what is tracked")
def test_top_level_is_as_planned():
    run = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    top = {name.split("/")[0] for name in run.stdout.split("\0") if name}
    assert top <= {
        *("manage.py", "schedviz", "templates", "static", "tests", "requirements.txt"),
        *("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "docs", "deploy", ".ci"),
        *(".gitignore", ".gitattributes", "LICENSE"),
    }
