"""The whole core under anything that may happen: no pod is lost or bound twice, and nothing is left to chance."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.scheduler.framework.steps import Lane, Outcome
from tests.scheduler.playing import WORDS, Play

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 30)), max_size=60)


def played(script: list[tuple[str, int]]) -> Play:
    play = Play()
    for word, n in script:
        play.do(word, n)
    return play


@given(SCRIPTS)
@settings(max_examples=150, deadline=None)
def test_whatever_happened_every_pod_ends_on_a_node_and_only_once(script):
    play = played(script)
    play.settle()
    assert play.waiting() == []
    assert all(len(nodes) == 1 for nodes in play.bound.values())
    assert {lane for lane in play.lanes().values() if lane is not Lane.BOUND} == set()


@given(SCRIPTS)
@settings(max_examples=150, deadline=None)
def test_a_bound_pod_has_a_record_that_says_so(script):
    play = played(script)
    play.settle()
    by_pod = {record.pod.uid: record for _, record in sorted(play.records.items())}
    for uid, nodes in play.bound.items():
        record = by_pod[uid]
        if record.outcome is Outcome.BOUND:
            assert record.chosen == nodes[0]
    said = [record.pod.uid for record in play.records.values() if record.outcome is Outcome.BOUND]
    assert len(said) == len(set(said)), "two records say that they have bound one pod"


@given(SCRIPTS)
@settings(max_examples=50, deadline=None)
def test_the_same_happenings_give_the_same_journal_byte_for_byte(script):
    assert played(script).outputs == played(script).outputs


def journal_digest() -> str:
    chance = random.Random(4)
    play = played([(chance.choice(WORDS), chance.randrange(31)) for _ in range(1500)])
    play.settle()
    assert play.bound
    return hashlib.sha256(b"\n".join(play.outputs)).hexdigest()


def test_the_journal_does_not_depend_on_the_order_of_hashes():
    """Another process has another order of sets of names."""
    digests = set()
    for seed in ("1", "2"):
        program = "from tests.scheduler.test_whole import journal_digest; print(journal_digest())"
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        digests.add(run.stdout.strip())
    assert len(digests) == 1
