"""A node's sums follow its pods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests import make, strategies


@given(st.lists(st.tuples(strategies.pods(), st.booleans()), max_size=5))
def test_what_comes_and_goes_leaves_no_trace(arrivals):
    info, rest = make.node_info(make.node()), make.node_info(make.node())
    for number, (pod, stays) in enumerate(arrivals):
        pod.uid = str(number)
        info.add_pod(pod)
        if stays:
            rest.add_pod(pod)
    for number, (_, stays) in enumerate(arrivals):
        if not stays:
            info.remove_pod(str(number))
    assert {k: v for k, v in info.requested.items() if v} == {
        k: v for k, v in rest.requested.items() if v
    }
    assert info.used_ports == rest.used_ports
    assert info.non_zero_milli_cpu == rest.non_zero_milli_cpu
    assert info.non_zero_memory == rest.non_zero_memory
    assert info.pods.keys() == rest.pods.keys()


def test_a_clone_is_a_still_picture():
    info = make.node_info(make.node(), [make.pod("a", requests={"cpu": "1"})])
    clone = info.clone()
    info.add_pod(make.pod("b", requests={"cpu": "1"}))
    assert clone.requested == {"cpu": 1000}
    assert list(clone.pods) == ["default/a"]
