from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedviz.kube.objects import Pod
from schedviz.scheduler.cache import Cache
from schedviz.scheduler.framework.node_info import NodeInfo
from schedviz.scheduler.schedule_one import placed
from tests.make import container, node, pod

CPU = {"cpu": "500m"}


def cache_with(*names: str, ttl_seconds: float = 0.0) -> Cache:
    made = Cache(ttl_seconds=ttl_seconds)
    for name in names:
        made.set_node(node(name))
    return made


def cpu(of: Cache, name: str) -> int:
    info = of.node_info(name)
    assert info is not None
    return info.requested.get("cpu", 0)


def test_an_assumed_pod_counts_at_once():
    made = cache_with("n")
    made.assume_pod(pod(requests=CPU), "n")
    assert cpu(made, "n") == 500 and made.is_assumed("default/p")
    made.check_invariants()


def test_a_pod_is_assumed_once():
    made = cache_with("n", "m")
    made.assume_pod(pod(), "n")
    with pytest.raises(ValueError, match="default/p is in the cache"):
        made.assume_pod(pod(), "m")


def test_a_forgotten_pod_leaves_its_room():
    made = cache_with("n")
    made.assume_pod(pod(requests=CPU), "n")
    made.forget_pod("default/p")
    assert cpu(made, "n") == 0 and not made.holds("default/p")
    made.check_invariants()


def test_a_confirmed_pod_is_not_forgotten():
    made = cache_with("n")
    made.assume_pod(pod(requests=CPU), "n")
    made.add_pod(pod(requests=CPU, node="n"))
    made.forget_pod("default/p")
    assert cpu(made, "n") == 500 and not made.is_assumed("default/p")


def test_the_watch_is_right_about_the_node():
    made = cache_with("n", "m")
    made.assume_pod(pod(requests=CPU), "n")
    made.add_pod(pod(requests=CPU, node="m"))
    assert (cpu(made, "n"), cpu(made, "m")) == (0, 500)
    made.check_invariants()


def test_an_update_replaces_what_the_pod_asks_for():
    made = cache_with("n")
    made.add_pod(pod(requests=CPU, node="n"))
    made.add_pod(pod(requests={"cpu": "2"}, node="n"))
    assert cpu(made, "n") == 2000
    made.check_invariants()


# ---- expiry ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ttl", "at", "is_expired"),
    [
        pytest.param(30.0, 39.9, False, id="before its time"),
        pytest.param(30.0, 40.0, False, id="at the very moment"),
        pytest.param(30.0, 40.1, True, id="after"),
        pytest.param(0.0, 1e9, False, id="never, with ttl 0"),
    ],
)
def test_a_bound_pod_that_nobody_confirms_expires(ttl, at, is_expired):
    made = cache_with("n", ttl_seconds=ttl)
    made.assume_pod(pod(requests=CPU), "n")
    made.finish_binding("default/p", 10.0)
    assert [one.key for one in made.expire(at)] == (["default/p"] if is_expired else [])
    assert made.holds("default/p") is not is_expired
    made.check_invariants()


def test_a_pod_whose_binding_goes_on_does_not_expire():
    made = cache_with("n", ttl_seconds=30.0)
    made.assume_pod(pod(), "n")
    assert made.next_due() is None and made.expire(1e9) == []


def test_a_confirmed_pod_does_not_expire():
    made = cache_with("n", ttl_seconds=30.0)
    made.assume_pod(pod(), "n")
    made.finish_binding("default/p", 0.0)
    assert made.next_due() == 30.0
    made.add_pod(pod(node="n"))
    assert made.next_due() is None and made.expire(1e9) == []


# ---- nodes -------------------------------------------------------------------------------------------------------


def test_pods_may_come_before_their_node():
    made = Cache()
    made.add_pod(pod(requests=CPU, node="n"))
    assert made.update_snapshot().names == ()
    made.set_node(node("n"))
    snapshot = made.update_snapshot()
    assert snapshot.names == ("n",) and snapshot.requested("cpu").tolist() == [500]


def test_pods_may_stay_after_their_node():
    made = cache_with("n")
    made.add_pod(pod(node="n"))
    made.remove_node("n")
    assert made.update_snapshot().names == () and made.node_info("n") is not None
    made.remove_pod("default/p")
    assert made.node_info("n") is None
    made.check_invariants()


def test_a_node_that_comes_back_has_its_pods():
    made = cache_with("n")
    made.add_pod(pod(requests=CPU, node="n"))
    made.remove_node("n")
    made.set_node(node("n"))
    assert made.update_snapshot().requested("cpu").tolist() == [500]


def test_removing_what_is_not_there_changes_nothing():
    made = cache_with("n")
    made.remove_node("m")
    made.remove_pod("default/p")
    made.forget_pod("default/p")
    made.finish_binding("default/p", 1.0)
    made.check_invariants()


def test_nodes_keep_the_order_in_which_they_came():
    made = cache_with(*(f"n{n}" for n in (3, 1, 2, 9, 8, 7, 6, 5, 4, 0)))
    assert made.update_snapshot().names == tuple(f"n{n}" for n in (3, 1, 2, 9, 8, 7, 6, 5, 4, 0))


# ---- snapshot ----------------------------------------------------------------------------------------------------


def test_a_snapshot_holds_still_until_the_next():
    made = cache_with("n")
    snapshot = made.update_snapshot()
    made.add_pod(pod(requests=CPU, node="n"))
    assert snapshot.infos[0].requested.get("cpu", 0) == 0
    assert made.update_snapshot().infos[0].requested["cpu"] == 500


def test_only_changed_rows_are_taken_in():
    made = cache_with("a", "b", "c")
    before = {info.name: info for info in made.update_snapshot().infos}
    made.add_pod(pod(node="b"))
    after = {info.name: info for info in made.update_snapshot().infos}
    assert [name for name in "abc" if after[name] is not before[name]] == ["b"]


def test_the_board_is_told_which_nodes_changed():
    made = cache_with("a", "b")
    made.touched.clear()
    made.add_pod(pod(node="b"))
    made.update_snapshot()
    assert made.touched == {"b"}


# ---- anything ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
PODS = st.integers(0, 5)


def a_pod(n: int, node_name: str = "") -> Pod:
    ports = [{"containerPort": 80, "hostPort": 8000 + n}] if n % 2 else []
    return pod(f"p{n}", node=node_name, containers=[container(requests=CPU, ports=ports)])


class Anything(RuleBasedStateMachine):
    """`where` is the plain truth: pod -> node; assumed ones apart."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache(ttl_seconds=30.0)
        self.nodes: set[str] = set()
        self.where: dict[int, str] = {}
        self.assumed: dict[int, float | None] = {}
        self.now = 0.0

    @rule(name=NAMES)
    def set_node(self, name: str) -> None:
        self.cache.set_node(node(name))
        self.nodes.add(name)

    @rule(name=NAMES)
    def remove_node(self, name: str) -> None:
        self.cache.remove_node(name)
        self.nodes.discard(name)

    @rule(n=PODS, name=NAMES)
    def assume(self, n: int, name: str) -> None:
        if n in self.where:
            return
        self.cache.assume_pod(placed(a_pod(n), name), name)
        self.where[n], self.assumed[n] = name, None

    @rule(n=PODS)
    def finish_binding(self, n: int) -> None:
        self.cache.finish_binding(f"default/p{n}", self.now)
        if n in self.assumed and self.assumed[n] is None:
            self.assumed[n] = self.now + 30.0

    @rule(n=PODS)
    def forget(self, n: int) -> None:
        self.cache.forget_pod(f"default/p{n}")
        if n in self.assumed:
            del self.assumed[n], self.where[n]

    @rule(n=PODS, name=NAMES)
    def confirm(self, n: int, name: str) -> None:
        self.cache.add_pod(a_pod(n, name))
        self.where[n] = name
        self.assumed.pop(n, None)

    @rule(n=PODS)
    def remove_pod(self, n: int) -> None:
        self.cache.remove_pod(f"default/p{n}")
        self.where.pop(n, None)
        self.assumed.pop(n, None)

    @rule(seconds=st.sampled_from([1.0, 20.0, 31.0]))
    def time(self, seconds: float) -> None:
        self.now += seconds
        late = {n for n, ends in self.assumed.items() if ends is not None and self.now > ends}
        assert {one.name for one in self.cache.expire(self.now)} == {f"p{n}" for n in late}
        for n in late:
            del self.assumed[n], self.where[n]

    @invariant()
    def is_true(self) -> None:
        self.cache.check_invariants()
        for n in range(6):
            assert self.cache.holds(f"default/p{n}") is (n in self.where)
            assert self.cache.is_assumed(f"default/p{n}") is (n in self.assumed)
        snapshot = self.cache.update_snapshot()
        assert set(snapshot.names) == self.nodes
        for row, info in enumerate(snapshot.infos):
            here = [n for n, name in self.where.items() if name == info.name]
            assert {one.name for one in info.pods.values()} == {f"p{n}" for n in here}
            fresh = NodeInfo(info.name, info.node)
            for n in here:
                fresh.add_pod(a_pod(n, info.name))
            assert snapshot.requested("cpu")[row] == fresh.requested.get("cpu", 0)
            assert snapshot.infos[row].used_ports == fresh.used_ports


Anything.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnything = Anything.TestCase
