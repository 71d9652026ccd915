"""The whole core with volumes, under anything that may happen: every pod gets its volume, and no volume two claims."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.scheduler.framework.steps import Lane
from tests.scheduler.playing_volumes import PV, PVC, WORDS, VolumePlay

WEIGHTED = (*WORDS, *["deliver", "cycle", "answer", "add claim pod", "bind volumes"] * 3)
SCRIPTS = st.lists(st.tuples(st.sampled_from(WEIGHTED), st.integers(0, 30)), max_size=60)


def played(script: list[tuple[str, int]]) -> VolumePlay:
    play = VolumePlay()
    for word, n in script:
        play.do(word, n)
    return play


@given(SCRIPTS)
@settings(max_examples=150, deadline=None)
def test_every_pod_ends_on_a_node_that_reaches_its_volume(script):
    play = played(script)
    play.settle()
    assert play.waiting() == []
    assert all(len(nodes) == 1 for nodes in play.bound.values())
    assert {lane for lane in play.lanes().values() if lane is not Lane.BOUND} == set()
    for pod in play.of("Pod"):
        node = play.raw.get(("Node", pod["spec"]["nodeName"]))
        for volume in pod["spec"].get("volumes", ()) if node else ():
            claim = play.raw[PVC, volume["persistentVolumeClaim"]["claimName"]]
            spec = play.raw[PV, claim["spec"]["volumeName"]]["spec"]
            (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
            assert node["metadata"]["labels"]["zone"] in term["matchExpressions"][0]["values"]


@given(SCRIPTS)
@settings(max_examples=150, deadline=None)
def test_no_volume_is_given_to_two_claims(script):
    play = played(script)
    play.settle()
    names = [raw["spec"]["volumeName"] for raw in play.of(PVC) if raw["spec"].get("volumeName")]
    assert len(names) == len(set(names))
    kept = [raw["spec"]["claimRef"]["uid"] for raw in play.of(PV) if "claimRef" in raw["spec"]]
    assert len(kept) == len(set(kept))


@given(SCRIPTS)
@settings(max_examples=50, deadline=None)
def test_the_same_happenings_give_the_same_journal_byte_for_byte(script):
    assert played(script).outputs == played(script).outputs
