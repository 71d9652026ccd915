"""The parts of a pod's spec: affinity terms and the namespaces they look at."""

from __future__ import annotations

import pytest

from tests import make

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term_of(namespace="own", **term):
    pod = make.pod(
        namespace=namespace,
        labels={"rev": "1"},
        affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone", **term}]}},
    )
    return pod.affinity.required[0]


@pytest.mark.parametrize(
    ("term", "namespaces", "selects"),
    [
        pytest.param({}, {"own"}, False, id="nothing said: the pod's own"),
        pytest.param({"namespaces": ["a"]}, {"a"}, False, id="named ones only"),
        pytest.param({"namespaceSelector": {}}, set(), True, id="a selector alone"),
        pytest.param({"namespaces": ["a"], "namespaceSelector": {}}, {"a"}, True, id="both"),
    ],
)
def test_namespaces(term, namespaces, selects):
    found = term_of(**term)
    assert found.namespaces == namespaces
    assert (found.namespace_selector is not None) == selects


def test_match_and_mismatch_label_keys():
    found = term_of(labelSelector={}, matchLabelKeys=["rev"])
    assert found.selector.matches({"rev": "1"})
    assert not found.selector.matches({"rev": "2"})
    found = term_of(labelSelector={}, mismatchLabelKeys=["rev"])
    assert found.selector.matches({"rev": "2"})
    assert not found.selector.matches({"rev": "1"})


def test_a_term_without_selector_matches_nothing():
    assert term_of().selector is None
