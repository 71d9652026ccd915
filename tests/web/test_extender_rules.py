"""Rules of extenders that we serve: what they answer, and what is said of rules that cannot be."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedviz.web import extender_rules
from schedviz.web.extender_rules import CannotAnswer, RulesError

CEPH = """
filter:
- {deny: ceph3, reason: kept free}
- {deny: {disk: hdd}, reason: no fast disk, unresolvable: true}
prioritize:
- {node: ceph1, score: 10}
- {node: "ceph*", score: 5}
"""
NAMES = {"Pod": {}, "Nodes": None, "NodeNames": ["ceph1", "ceph2", "ceph3"]}


def node(name, **labels):
    return {"metadata": {"name": name, "labels": labels}}


def answer(text, verb, asked):
    return extender_rules.read(text).answer(verb, asked)


def test_nodes_sent_by_name_are_answered_by_name():
    said = answer(CEPH.replace("- {deny: {disk: hdd}", "- {deny: nobody"), "filter", NAMES)
    assert said["NodeNames"] == ["ceph1", "ceph2"]
    assert said["Nodes"] is None
    assert said["FailedNodes"] == {"ceph3": "kept free"}


def test_nodes_sent_whole_are_answered_whole():
    there = [node("ceph1"), node("ceph2", disk="hdd"), node("ceph3")]
    said = answer(CEPH, "filter", {"Pod": {}, "Nodes": {"items": there}, "NodeNames": None})
    assert (said["Nodes"]["items"], said["NodeNames"]) == (there[:1], None)
    assert said["FailedAndUnresolvableNodes"] == {"ceph2": "no fast disk"}
    assert said["FailedNodes"] == {"ceph3": "kept free"}


def test_labels_cannot_be_asked_of_names():
    with pytest.raises(
        CannotAnswer, match=r"filter\[1\].deny asks for labels|filter\[1\] asks for labels"
    ):
        answer(CEPH, "filter", NAMES)


def test_with_an_allow_rule_all_others_are_refused():
    said = answer("filter: [{allow: ceph1}]", "filter", NAMES)
    assert said["NodeNames"] == ["ceph1"]
    assert set(said["FailedNodes"].values()) == {extender_rules.NO_ALLOW}


def test_the_first_rule_that_matches_gives_the_score():
    said = answer(CEPH, "prioritize", {**NAMES, "NodeNames": ["ceph1", "ceph2", "other"]})
    assert [one["Score"] for one in said] == [10, 5, 0]


@pytest.mark.parametrize("is_meta", [True, False], ids=["by uid", "whole"])
def test_candidates_can_be_struck_out(is_meta):
    uid = {"UID": "u"} if is_meta else {"metadata": {"uid": "u"}}
    victims = {name: {"Pods": [uid], "NumPDBViolations": 1} for name in ("n1", "n2")}
    field = "NodeNameToMetaVictims" if is_meta else "NodeNameToVictims"
    said = answer("preempt: [{deny: n2}]", "preempt", {"Pod": {}, field: victims})
    assert said == {
        "NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("bind: {error: not today}", "not today", id="a refusal"),
        pytest.param("bind: {pretend: true}", "", id="says yes and does nothing"),
        pytest.param("", extender_rules.NO_BIND, id="no rule"),
    ],
)
def test_binding(text, said):
    asked = {"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n1"}
    assert answer(text, "bind", asked) == {"Error": said}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("filter: [{deny: a}", "line 1", id="no YAML"),
        pytest.param("filter:\n\t- {deny: a}", "line 2.*tabs", id="a tab"),
        pytest.param("filters: []", "filters: not known here; there are filter", id="a wrong verb"),
        pytest.param("filter: {deny: a}", "filter: write a list", id="no list"),
        pytest.param("filter: [{deni: a}]", r"filter\[0\].deni: not known", id="a wrong field"),
        pytest.param(
            "filter: [{deny: a, allow: b}]", r"filter\[0\]: write deny or allow", id="both"
        ),
        pytest.param("filter: [{deny: {a: 1}}]", r"filter\[0\].deny.a: .* quotes", id="a number"),
        pytest.param("prioritize: [{node: a, score: 11}]", "from 0 to 10", id="too high"),
        pytest.param("preempt: [{deny: {a: b}}]", "write a name", id="labels of victims"),
        pytest.param("bind: {}", "bind: write error", id="an empty bind"),
        pytest.param("a: &x [1]\nb: *x", "line 2: .* aliases", id="an alias"),
        pytest.param("[]", "the rules: write a map", id="a list at the top"),
        pytest.param("# " + "x" * 70_000, "longer than 64 KiB", id="too long"),
    ],
)
def test_what_is_wrong_is_said(text, words):
    with pytest.raises(RulesError, match=words):
        extender_rules.read(text)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)
fields = ("Nodes", "NodeNames", "NodeNameToVictims", "NodeNameToMetaVictims", "PodName")


@example("preempt", {"NodeNameToMetaVictims": [1]})
@given(
    st.sampled_from(extender_rules.VERBS),
    st.dictionaries(st.sampled_from(fields), json) | json,
)
def test_whatever_is_asked_is_answered_or_refused(verb, asked):
    try:
        answer(CEPH, verb, asked)
    except CannotAnswer as error:
        assert str(error)
