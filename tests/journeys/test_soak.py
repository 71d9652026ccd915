"""The soak of `make bench`, short: whatever goes wrong, each pod ends on its node or waits for a stated reason."""

from __future__ import annotations

from tests.bench import soak


def test_a_short_soak_leaves_every_pod_bound_once_or_waiting_for_a_reason():
    told = soak.measure(pods=300, nodes=20, per_second=60.0)
    assert (told["problems"], told["examples"]) == (0, [])
    assert told["bound"] == told["alive"] > 200
    assert told["watches_cut"] > 3
