"""A node without some of its pods: the filters say what they would say if it were so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.profile import default_profile
from tests import make, strategies
from tests.scheduler.framework.test_filtering import drained, filtered, firsts


def asked(framework, pod, nodes):
    state = CycleState()
    drained(framework.run_pre_filter(state, pod, nodes))
    return state, drained(framework.run_filter(state, pod, nodes))


@st.composite
def spread_pods(draw, name="p", node=""):
    """Pods that mind their neighbours."""
    labels = draw(st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2))
    selector = {
        "matchLabels": draw(st.dictionaries(st.just("a"), st.sampled_from("xy"), min_size=1))
    }
    key = draw(st.sampled_from(["a", "kubernetes.io/hostname"]))
    term = {"labelSelector": selector, "topologyKey": key}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    words = draw(
        st.sampled_from(
            [
                {},
                {"affinity": {"podAffinity": rules}},
                {"affinity": {"podAntiAffinity": rules}},
                {
                    "topologySpreadConstraints": [
                        {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                    ]
                },
            ]
        )
    )
    return make.pod(name, labels=labels, node=node, **words)


@given(strategies.nodes(most=4), st.data())
def test_a_trial_says_what_a_cycle_would_say(some, data):
    """Taking a pod away from a node, and putting it back, is the same as asking in a world where it is so - as long as
    PreFilter says the same of both, for a filter that was skipped stays skipped."""
    placed = [
        data.draw(spread_pods(name=f"b{n}", node=data.draw(st.sampled_from(some)).name))
        for n in range(4)
        if some
    ]
    if not placed:
        return
    pod, gone = data.draw(spread_pods()), data.draw(st.sampled_from(placed))
    nodes = make.snapshot(some, placed)
    without = make.snapshot(some, [one for one in placed if one is not gone])
    framework = default_profile()
    state, verdict = asked(framework, pod, nodes)
    state_without, verdict_without = asked(framework, pod, without)
    row = nodes.rows[gone.node_name]
    trial = framework.node_trial(state, pod, nodes, row, verdict)
    assert trial.remove(gone).is_success
    if state.skip_filter == state_without.skip_filter:
        assert same(trial.verdict(), firsts(verdict_without)[row])
    assert trial.add(gone).is_success
    assert same(trial.verdict(), firsts(verdict)[row])
    assert firsts(asked(framework, pod, nodes)[1]) == firsts(verdict)


def same(said, expected):
    return said.is_success if expected is None else said == expected


@given(strategies.nodes(most=4), st.data())
def test_many_at_once_count_nominated_neighbours_as_one_by_one(some, data):
    placed = [
        data.draw(spread_pods(name=f"b{n}", node=data.draw(st.sampled_from(some)).name))
        for n in range(3)
        if some
    ]
    nominated = {
        one.name: [data.draw(spread_pods(name=f"w-{one.name}-{n}")) for n in range(2)]
        for one in some
        if data.draw(st.booleans())
    }
    pod, nodes = data.draw(spread_pods()), make.snapshot(some, placed)
    single = default_profile()
    single.room_trial = lambda *args: None  # type: ignore[method-assign]
    one, other = (
        filtered(pod, nodes, nominated, profile) for profile in (default_profile(), single)
    )
    assert firsts(one) == firsts(other)
    assert one.alone == other.alone
