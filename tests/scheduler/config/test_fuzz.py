"""Whatever is in the file, it loads or ConfigError says where to look."""

from __future__ import annotations

import json

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.scheduler.config import ConfigError, from_object, load
from schedviz.scheduler.config.types import (
    CONFIGURATION,
    PLUGIN_ARGS,
    Anything,
    ListOf,
    Scalar,
    Struct,
    TextMap,
)
from schedviz.scheduler.profile import profiles_of

NAMES = st.sampled_from(
    [
        "",
        "*",
        "NodeResourcesFit",
        "PrioritySort",
        "NodeAffinity",
        "Mine",
        "DefaultBinder",
        "e.com/a",
        "a b",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    NAMES,
    st.text(max_size=8),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEPT = {
    "string": NAMES
    | st.sampled_from(["In", "List", "RequestedToCapacityRatio", "leases", "DoNotSchedule"]),
    "bool": st.booleans(),
    "int": st.integers(-3, 120),
    "float": st.floats(0, 100),
    "bytes": st.sampled_from(["", "YQ==", "?"]),
    "duration": st.sampled_from(["5s", "0s", "-1m", "x", "10"]),
    "optional duration": st.sampled_from(["5s", "-1m"]),
}


def of_kind(kind):
    """Values that mostly fit, so that the later stages are reached, too."""
    if isinstance(kind, Struct):
        fields = {
            name: st.deferred(lambda one=one: of_kind(one)) for name, one in kind.fields.items()
        }
        fields.pop("apiVersion", None), fields.pop("kind", None)
        return st.fixed_dictionaries({}, optional=fields)
    if isinstance(kind, ListOf):
        return st.lists(of_kind(kind.item), max_size=2)
    if isinstance(kind, TextMap):
        return st.dictionaries(NAMES, NAMES, max_size=2)
    if isinstance(kind, Anything):
        return st.one_of(*(of_kind(one) for one in PLUGIN_ARGS.values()), TREES)
    assert isinstance(kind, Scalar)
    return st.integers(0, 30).flatmap(lambda n: KEPT[kind.form] if n else SCALARS)


CONFIGURATIONS = of_kind(CONFIGURATION)


def look(make) -> None:
    """It loads, and what it writes it reads again; or it says where to look."""
    try:
        config = make()
        profiles_of(config)
    except ConfigError as error:
        assert error.problems
        assert all(problem.field or problem.line for problem in error.problems)
        assert "\n" not in error.summary
    else:
        assert load(config.effective()).effective() == config.effective()


@given(CONFIGURATIONS)
@settings(max_examples=150, deadline=None)
def test_objects_that_nearly_fit(raw):
    look(lambda: from_object(raw))


@given(CONFIGURATIONS, st.booleans())
@settings(max_examples=100, deadline=None)
def test_texts_that_nearly_fit(raw, as_json):
    raw = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **raw,
    }
    look(lambda: load(json.dumps(raw) if as_json else yaml.safe_dump(raw)))


@given(TREES)
@settings(max_examples=100, deadline=None)
def test_any_yaml(tree):
    look(lambda: load(yaml.safe_dump(tree)))


@given(
    st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["kind", "apiVersion"]), TREES, max_size=4
    )
)
@settings(max_examples=100, deadline=None)
def test_any_json(tree):
    look(lambda: load(json.dumps(tree)))


@given(st.text() | st.text("{}[]:,-&*!|>'\"%@`# \n\tab1", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text(text):
    look(lambda: load(text))
