"""`manage.py conform`: what passes, what differs and where, and what can't be read."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from django.core.management import CommandError, call_command

from schedviz.scheduler import conform
from tests import make


def case(name="one", **changes):
    made = {
        "name": name,
        "family": "f",
        "config": None,
        "objects": [make.raw_node("a"), make.raw_node("b", unschedulable=True)],
        "pod": make.raw_pod(),
    }
    return {**made, "expect": {**conform.answer(made), **changes}}


def run(*paths) -> tuple[list[str], int]:
    out, code = io.StringIO(), 0
    try:
        call_command("conform", *map(str, paths), stdout=out)
    except SystemExit as end:
        code = end.code
    return out.getvalue().splitlines(), code


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.json").write_text(json.dumps(case("one")))
    (tmp_path / "list.json").write_text(json.dumps([case("two"), case("three")]))
    (tmp_path / "lines.jsonl").write_text(f"{json.dumps(case('four'))}\n\n")
    packed = gzip.compress(json.dumps(case("five", feasible=["b"], error="x")).encode())
    (tmp_path / "deep/packed.jsonl.gz").write_bytes(packed)
    return tmp_path


def test_every_sort_of_file_is_run_and_every_difference_printed(folder):
    lines, code = run(folder)
    assert lines == [
        "five: error: expected 'x', got None",
        "five: feasible: expected ['b'], got ['a']",
        "4 passed, 1 failed",
    ]
    assert code == 1


def test_all_pass(folder):
    assert run(folder / "one.json", folder / "lines.jsonl") == (["2 passed, 0 failed"], 0)


def test_a_case_that_cannot_be_answered_fails_and_the_others_go_on(folder):
    broken = case("odd") | {"pod": {"kind": "Pod", "metadata": {}}}
    (folder / "one.json").write_text(json.dumps([broken, case("fine")]))
    lines, code = run(folder / "one.json")
    assert lines[0].startswith("odd: can't be answered: ")
    assert (lines[-1], code) == ("1 passed, 1 failed", 1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("x.jsonl", '{"a": 1\n', "x.jsonl:1: not JSON: ", id="half a line"),
        pytest.param("x.json", "[3]", "x.json: case 1: a case is a JSON object", id="no object"),
        pytest.param("x.json", '{"name": "a"}', 'case 1: a case needs "objects"', id="half a case"),
        pytest.param("x.jsonl.gz", "plain", "x.jsonl.gz: can't be read", id="not compressed"),
        pytest.param("x.txt", "{}", "x.txt: case files end in", id="another ending"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError) as told:
        run(tmp_path / name)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(CommandError, match="gone: no such file or folder"):
        run(tmp_path / "gone")
    with pytest.raises(CommandError, match="no case files here"):
        run(tmp_path)
