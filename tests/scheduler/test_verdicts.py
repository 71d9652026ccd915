"""What must hold of the default profile whatever the cluster: no order matters, and what helps never hurts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schedviz.kube import objects
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.framework.cycle_state import CycleState
from schedviz.scheduler.profile import default_profile
from tests import make, strategies
from tests.scheduler.framework.test_filtering import drained, firsts
from tests.scheduler.framework.test_trials import spread_pods


def verdicts(nodes, pod):
    """Each node's first failure by name; None where PreFilter refuses."""
    framework, state = default_profile(), CycleState()
    before = drained(framework.run_pre_filter(state, pod, nodes))
    if not before.status.is_success:
        return before.status
    verdict = drained(framework.run_filter(state, pod, nodes, only=before.node_names))
    told = [
        number == -2 or first
        for number, first in zip(verdict.first_failure, firsts(verdict), strict=True)
    ]
    return dict(zip(nodes.names, told, strict=True))


def feasible(nodes, pod):
    said = verdicts(nodes, pod)
    return (
        {name for name, first in said.items() if first is None} if isinstance(said, dict) else set()
    )


@st.composite
def mixed(draw):
    """(nodes, bound pods, incoming pod): some of the pods mind their neighbours."""
    some = draw(strategies.nodes(most=4))
    kind = st.sampled_from([strategies.pods, spread_pods])
    placed = [
        draw(draw(kind)(name=f"b{n}", node=draw(st.sampled_from(some)).name))
        for n in range(draw(st.integers(0, 5)))
        if some
    ]
    return some, placed, draw(draw(kind)())


@given(mixed(), st.randoms())
def test_the_order_of_nodes_and_pods_means_nothing(cluster, chance):
    some, placed, pod = cluster
    nodes, pods = some.copy(), placed.copy()
    chance.shuffle(nodes)
    chance.shuffle(pods)
    assert verdicts(make.snapshot(some, placed), pod) == verdicts(make.snapshot(nodes, pods), pod)


@given(mixed(), st.randoms())
def test_a_snapshot_that_was_kept_up_to_date_says_what_a_new_one_says(cluster, chance):
    """Pods come and go between the cycles of one scheduler."""
    some, placed, pod = cluster
    cache, rest = Cache(), placed.copy()
    for one in some:
        cache.set_node(one)
    for one in placed:
        cache.add_pod(one)
        assert verdicts(cache.update_snapshot(), pod) is not None
    for one in chance.sample(placed, len(placed) // 2):
        rest.remove(one)
        cache.remove_pod(one.uid)
    assert verdicts(cache.update_snapshot(), pod) == verdicts(make.snapshot(some, rest), pod)


@given(strategies.clusters(), st.sampled_from(["", "NoSchedule", "NoExecute"]))
def test_a_further_toleration_never_costs_a_node(cluster, effect):
    nodes, pod = cluster
    before = feasible(nodes, pod)
    [more] = make.pod(tolerations=[{"operator": "Exists", "effect": effect}]).tolerations
    pod.tolerations = (*pod.tolerations, more)
    assert before <= feasible(nodes, pod)


@given(strategies.nodes(), strategies.pods(), st.data())
def test_a_pod_less_never_costs_a_node(some, pod, data):
    """For pods that do not ask for company."""
    placed = [
        data.draw(strategies.pods(name=f"b{n}", node=data.draw(st.sampled_from(some)).name))
        for n in range(4)
        if some
    ]
    fewer = [one for one in placed if data.draw(st.booleans())]
    assert feasible(make.snapshot(some, placed), pod) <= feasible(make.snapshot(some, fewer), pod)


@given(strategies.clusters(), strategies.ROOM)
def test_more_room_never_costs_a_node(cluster, room):
    nodes, pod = cluster
    before = feasible(nodes, pod)
    more = make.node(allocatable=room).allocatable
    for info in nodes.infos:
        now = info.allocatable
        raised = {key: max(now.get(key, 0), more.get(key, 0)) for key in now | more}
        bigger = objects.parse("Node", make.raw_node(info.name))
        bigger.labels, bigger.taints = info.node.labels, info.node.taints
        bigger.unschedulable, bigger.allocatable = info.node.unschedulable, raised
        fresh = info.clone()
        fresh.node = bigger
        nodes.update([fresh])
    assert before <= feasible(nodes, pod)
