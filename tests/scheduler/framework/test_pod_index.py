"""Counts kept up to date are the counts that would be found by looking at every pod."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schedviz.kube.matching import LabelSelector, label_selector
from schedviz.scheduler.framework.pod_index import Carried, PodIndex, Sort
from tests import make, strategies

SORTS = [
    Sort(frozenset({"default"}), (label_selector({"matchLabels": {"a": "x"}}),)),
    Sort(None, (LabelSelector(),)),
    Sort(None, (LabelSelector(),), with_terminating=False),
    Sort(frozenset({"other"}), (LabelSelector(),)),
    Sort(None, (None,)),
    Sort(
        None,
        (label_selector({"matchLabels": {"a": "x"}}), label_selector({"matchLabels": {"b": "y"}})),
    ),
]
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "x"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@st.composite
def standing(draw):
    spec = {}
    if draw(st.booleans()):
        spec["affinity"] = {
            "podAntiAffinity": {REQUIRED: [TERM]},
            "podAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": TERM}]},
        }
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw(st.booleans()) else {}
    return make.pod(
        labels=draw(strategies.LABELS),
        namespace=draw(st.sampled_from(["default", "other"])),
        meta=meta,
        **spec,
    )


def by_looking(infos, sort: Sort):
    return [
        sum(
            sort.has(p.namespace, p.labels, is_terminating=p.deletion_timestamp is not None)
            for p in info.pods.values()
        )
        for info in infos
    ]


@given(st.lists(st.tuples(st.sampled_from([0, 1]), standing(), st.booleans()), max_size=8))
def test_counts(changes):
    infos = [make.node_info(make.node("a")), make.node_info(make.node("b"))]
    index = PodIndex(infos, 2)
    index.matching(SORTS[0])
    for number, (row, pod, replaces) in enumerate(changes):
        before = dict(infos[row].pods)
        if replaces and before:
            infos[row].remove_pod(next(iter(before)))
        pod.uid = str(number)
        infos[row].add_pod(pod)
        index.change(row, before, infos[row].pods)
    for sort in SORTS:
        assert index.matching(sort).tolist() == by_looking(infos, sort)
    anti = {
        Carried("anti", 0, term): [0, 0]
        for info in infos
        for pod in info.pods.values()
        for term in pod.anti_affinity.required
    }
    for row, info in enumerate(infos):
        for pod in info.pods.values():
            for term in pod.anti_affinity.required:
                anti[Carried("anti", 0, term)][row] += 1
    carried = {key: table.tolist() for key, table in index.carried.items() if key.role == "anti"}
    assert carried == anti


def test_the_version_grows_when_a_term_is_first_carried_and_carried_no_more():
    info = make.node_info(make.node("a"))
    index = PodIndex([info], 1)
    pod = make.pod(affinity={"podAntiAffinity": {REQUIRED: [TERM]}})
    versions = [index.carried_version]
    for before, after in (({}, {"u": pod}), ({"u": pod}, {"u": pod, "v": pod}), ({"u": pod}, {})):
        index.change(0, before, after)
        versions.append(index.carried_version)
    assert versions == [0, 1, 1, 1]
    index.change(0, {"v": pod}, {})
    assert index.carried_version == 2
    assert index.carried == {}
