from __future__ import annotations

import pytest

from schedviz.scheduler.framework.cluster_event import ActionType, ClusterEvent
from schedviz.scheduler.framework.node_info import QueueConfig, QueuedPodInfo
from schedviz.scheduler.framework.status import SUCCESS
from schedviz.scheduler.framework.steps import Lane
from schedviz.scheduler.queue import QUEUED, TRANSITIONS, SchedulingQueue
from schedviz.scheduler.queue.lanes import check
from tests.make import pod
from tests.scheduler.waiting import (
    FIT,
    NODE_ADD,
    NODE_TAINT,
    POD_ADD,
    POD_DELETE,
    TAINTS,
    bring,
    popped,
    queue,
    reject,
)

GATES = [{"name": "a"}, {"name": "b"}]
IN_QUEUE = [Lane.ACTIVE, Lane.BACKOFF, Lane.UNSCHEDULABLE, Lane.GATED, Lane.SCHEDULING]


def in_lane(of: SchedulingQueue, lane: Lane, name: str = "p", **words) -> QueuedPodInfo:
    return bring(of, pod(name, schedulingGates=GATES if lane is Lane.GATED else [], **words), lane)


def order(of: SchedulingQueue) -> list[str]:
    return [uid.removeprefix("default/") for uid in of.uids(Lane.ACTIVE)]


# ---- order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        pytest.param(
            [("low", 1, 1.0), ("high", 9, 2.0)], ["high", "low"], id="priority goes first"
        ),
        pytest.param([("a", 1, 1.0), ("b", 1, 2.0)], ["a", "b"], id="then the earlier one"),
        pytest.param([("b", 1, 1.0), ("a", 1, 1.0)], ["b", "a"], id="then who came first"),
    ],
)
def test_active_pods_come_in_order(arrivals, expected):
    made = queue()
    for name, priority, now in arrivals:
        made.add(pod(name, priority=priority), now)
    assert order(made) == expected
    assert [popped(made, 9.0).pod.name for _ in expected] == expected


def test_nothing_to_pop_in_an_empty_queue():
    assert queue().pop(0.0) is None


def test_a_retried_pod_goes_behind_those_that_waited():
    made = queue()
    first = in_lane(made, Lane.UNSCHEDULABLE, "first")
    made.add(pod("second"), 1.0)
    made.retry(first.uid, 2.0, "alice")
    assert order(made) == ["first", "second"], "its time is that of its last failure"
    again = popped(made, 2.0)
    reject(made, again, 3.0)
    made.retry(again.uid, 3.0, "alice")
    assert order(made) == ["second", "first"]


# ---- backoff -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 2.0), (2, 3.0), (3, 5.0), (4, 9.0), (5, 11.0), (6, 11.0), (40, 11.0)],
)
@pytest.mark.parametrize("plugin", [FIT, ""], ids=["rejections", "errors"])
def test_backoff_doubles_to_ten_seconds_and_ends_with_a_window(failures, seconds, plugin):
    """1, 2, 4, 8, 10 s; the second in which it ends is waited for."""
    made = queue()
    made.add(pod(), 0.0)
    now = 0.0
    for n in range(failures):
        now = 100.0 * n
        queued = popped(made, now)
        reject(made, queued, now, plugin)
        if n < failures - 1:
            made.retry(queued.uid, now, "alice")
    assert queued.retry_at == now + seconds


@pytest.mark.parametrize(
    ("failed_at", "retry_at"),
    [(10.0, 12.0), (10.4, 12.0), (10.99, 12.0), (11.0, 13.0)],
)
def test_backoff_ends_with_a_whole_second(failed_at, retry_at):
    made = queue()
    queued = bring(made, pod(), Lane.SCHEDULING)
    reject(made, queued, failed_at, "")
    assert queued.retry_at == made.next_due() == retry_at
    assert made.flush(retry_at - 0.01) == []
    (move,) = made.flush(retry_at)
    assert (move.source, move.target, move.cause) == (Lane.BACKOFF, Lane.ACTIVE, "BackoffComplete")


def test_backoff_is_configurable():
    made = queue(QueueConfig(initial_backoff_seconds=3.0, max_backoff_seconds=4.0))
    queued = bring(made, pod(), Lane.BACKOFF)
    assert queued.retry_at == 4.0
    made.retry(queued.uid, 5.0, "alice")
    reject(made, popped(made, 5.0), 5.0, "")
    assert queued.retry_at == 10.0


def test_a_rejection_ends_the_row_of_errors():
    made = queue()
    queued = bring(made, pod(), Lane.BACKOFF)
    assert (queued.consecutive_errors_count, queued.unschedulable_count) == (1, 0)
    made.flush(2.0)
    reject(made, popped(made, 2.0), 2.0)
    assert (queued.consecutive_errors_count, queued.unschedulable_count) == (0, 1)


def test_an_idle_queue_gives_a_rejected_pod_before_its_time_but_not_one_with_an_error():
    made = queue()
    rejected, failed = (
        in_lane(made, Lane.UNSCHEDULABLE, "rejected"),
        in_lane(made, Lane.BACKOFF, "failed"),
    )
    made.move_all(NODE_ADD, 0.5)
    assert made.lane(rejected.uid) is Lane.BACKOFF
    taken, move = made.pop(0.6)
    assert taken is rejected and move.cause == "PopFromBackoffQ"
    assert made.pop(0.6) is None and made.lane(failed.uid) is Lane.BACKOFF


def test_backoffs_that_end_together_come_out_by_priority():
    made = queue()
    for name, priority in (("low", 1), ("high", 5), ("middle", 3)):
        in_lane(made, Lane.UNSCHEDULABLE, name, priority=priority)
    made.move_all(NODE_ADD, 0.1)
    assert [popped(made, 0.2).pod.name for _ in range(3)] == ["high", "middle", "low"]


# ---- events ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "event", "is_woken"),
    [
        pytest.param(FIT, NODE_ADD, True, id="a new node may have room"),
        pytest.param(FIT, POD_DELETE, True, id="a deleted pod leaves room"),
        pytest.param(FIT, NODE_TAINT, False, id="a taint makes no room"),
        pytest.param(FIT, POD_ADD, False, id="another pod makes no room"),
        pytest.param(TAINTS, NODE_TAINT, True, id="a taint may be gone"),
        pytest.param(TAINTS, POD_DELETE, False, id="a deleted pod takes no taint along"),
    ],
)
def test_an_event_wakes_whom_it_may_help(plugin, event, is_woken):
    made = queue()
    queued = bring(made, pod(), Lane.SCHEDULING)
    reject(made, queued, 0.0, plugin)
    moves = made.move_all(event, 5.0, "n1")
    assert made.lane(queued.uid) is (Lane.ACTIVE if is_woken else Lane.UNSCHEDULABLE)
    assert [(m.cause, m.detail) for m in moves] == (
        [(event.label, f"n1 ({plugin})")] if is_woken else []
    )
    made.check_invariants()


def test_a_woken_pod_waits_for_its_time():
    made = queue()
    queued = in_lane(made, Lane.UNSCHEDULABLE)
    (move,) = made.move_all(NODE_ADD, 1.9)
    assert (move.target, queued.retry_at) == (Lane.BACKOFF, 2.0)


@pytest.mark.parametrize(
    ("plugin", "event", "lane", "cause"),
    [
        pytest.param(FIT, NODE_ADD, Lane.BACKOFF, "NodeAdd", id="one that may help"),
        pytest.param(
            FIT, NODE_TAINT, Lane.UNSCHEDULABLE, "ScheduleAttemptFailure", id="one that does not"
        ),
        pytest.param("", NODE_TAINT, Lane.BACKOFF, "ScheduleAttemptFailure", id="any, on an error"),
    ],
)
def test_an_event_during_the_cycle_is_remembered(plugin, event, lane, cause):
    made = queue()
    made.move_all(NODE_ADD, 0.0)  # before: of no interest
    queued = in_lane(made, Lane.SCHEDULING)
    made.move_all(event, 1.0, "n1")
    (move,) = reject(made, queued, 2.0, plugin)
    assert (move.source, move.target, move.cause) == (Lane.SCHEDULING, lane, cause)


def test_an_event_before_the_cycle_is_not_remembered_while_others_fly():
    made = queue()
    early, late = pod("early"), pod("late")
    made.add(early, 0.0)
    made.add(late, 0.0)
    flying = popped(made, 0.0)
    made.move_all(NODE_ADD, 1.0)
    after = popped(made, 2.0)
    reject(made, after, 3.0)
    reject(made, flying, 3.0)
    assert (made.lane(late.uid), made.lane(early.uid)) == (Lane.UNSCHEDULABLE, Lane.BACKOFF)


def test_a_pending_plugin_spares_the_backoff():
    made = queue()
    queued = in_lane(made, Lane.SCHEDULING)
    queued.pending_plugins = {FIT}
    made.add_unschedulable(queued, 0.0)
    (move,) = made.move_all(NODE_ADD, 0.5)
    assert move.target is Lane.ACTIVE


def test_a_plugin_that_registers_nothing_hears_everything():
    made = SchedulingQueue(
        queue_key=lambda queued: (-queued.pod.priority, queued.rank),
        pre_enqueue=lambda _: SUCCESS,
        registrations={"default-scheduler": {"Mine": ()}},
        config=QueueConfig(),
    )
    queued = bring(made, pod(), Lane.SCHEDULING)
    reject(made, queued, 0.0, "Mine")
    assert made.move_all(ClusterEvent("CSINode", ActionType.UPDATE_OTHER), 9.0)


def test_an_event_that_concerns_nobody_looks_at_nobody():
    made = queue()
    for n in range(50):
        in_lane(made, Lane.UNSCHEDULABLE, f"p{n}")
    assert made.move_all(NODE_TAINT, 9.0) == []
    assert made._places.unschedulable.of(made._hints.plugins_for(NODE_TAINT)) == []


# ---- leftovers ---------------------------------------------------------------------------------------------------


def test_a_pod_is_tried_again_after_five_minutes():
    made = queue()
    queued = in_lane(made, Lane.UNSCHEDULABLE)
    now, moves = 0.0, []
    while not moves:
        now = made.next_due()
        moves = made.flush(now)
    assert 300.0 < now <= 330.0
    assert (moves[0].cause, made.lane(queued.uid)) == ("UnschedulableTimeout", Lane.ACTIVE)
    assert made.next_due() is None, "nobody is left to flush"


def test_gated_pods_are_not_leftovers():
    made = queue()
    in_lane(made, Lane.GATED)
    assert made.next_due() is None and made.flush(1000.0) == []


# ---- gates -------------------------------------------------------------------------------------------------------


def test_a_gated_pod_waits_until_its_last_gate_is_gone():
    made = queue()
    queued = in_lane(made, Lane.GATED)
    assert queued.message == "waiting for scheduling gates: [a b]"
    assert made.move_all(NODE_ADD, 1.0) == [] and made.pop(1.0) is None
    (move,) = made.update(pod(schedulingGates=GATES[1:]), 2.0)
    assert (move.target, move.detail) == (Lane.GATED, "waiting for scheduling gates: [b]")
    assert made.update(pod(schedulingGates=GATES[1:], labels={"a": "b"}), 3.0) == []
    (move,) = made.update(pod(), 4.0)
    assert (move.source, move.target) == (Lane.GATED, Lane.ACTIVE)
    assert (queued.attempts, queued.message, queued.gating_plugin) == (0, "", "")
    made.check_invariants()


# ---- updates and deletes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lane", IN_QUEUE)
def test_an_update_that_matters_to_nobody_moves_nothing(lane):
    made = queue()
    queued = in_lane(made, lane)
    newer = pod(labels={"new": "label"}, schedulingGates=GATES if lane is Lane.GATED else [])
    assert made.update(newer, 1.0, [ClusterEvent("UnscheduledPod", ActionType.UPDATE_OTHER)]) == []
    assert made.lane(queued.uid) is lane and queued.pod is newer
    made.check_invariants()


@pytest.mark.parametrize(
    ("plugin", "lane"), [(TAINTS, Lane.ACTIVE), (FIT, Lane.UNSCHEDULABLE)], ids=["helped", "not"]
)
def test_a_new_toleration_wakes_the_pod_that_lacked_it(plugin, lane):
    made = queue()
    queued = in_lane(made, Lane.SCHEDULING)
    reject(made, queued, 0.0, plugin)
    event = ClusterEvent("UnscheduledPod", ActionType.UPDATE_POD_TOLERATIONS)
    made.update(pod(tolerations=["a"]), 5.0, [event])
    assert made.lane(queued.uid) is lane


def test_an_update_during_the_cycle_is_remembered():
    made = queue()
    queued = in_lane(made, Lane.SCHEDULING)
    event = ClusterEvent("UnscheduledPod", ActionType.UPDATE_POD_TOLERATIONS)
    made.update(pod(tolerations=["a"]), 1.0, [event])
    (move,) = reject(made, queued, 2.0, TAINTS)
    assert move.target is Lane.BACKOFF and "the pod itself" in move.detail


def test_an_active_pod_finds_its_new_place():
    made = queue()
    made.add(pod("a", priority=1), 0.0)
    made.add(pod("b", priority=2), 0.0)
    made.update(pod("a", priority=3), 1.0)
    assert order(made) == ["a", "b"]
    made.check_invariants()


@pytest.mark.parametrize("lane", IN_QUEUE)
@pytest.mark.parametrize("target", [Lane.GONE, Lane.BOUND, Lane.MALFORMED])
def test_a_pod_can_leave_from_everywhere(lane, target):
    made = queue()
    queued = in_lane(made, lane)
    (move,) = made.delete(queued.uid, 1.0, target=target)
    assert (move.source, move.target) == (lane, target)
    assert len(made) == 0 and made.lane(queued.uid) is None and not any(made.counts().values())
    assert made.delete(queued.uid, 2.0) == []
    made.check_invariants()


@pytest.mark.parametrize("lane", IN_QUEUE)
def test_a_pod_of_the_same_name_is_another_pod(lane):
    made = queue()
    old = in_lane(made, lane, meta={"uid": "old"})
    made.delete("old", 1.0)
    (move,) = made.add(pod(meta={"uid": "new"}), 1.0)
    assert (move.pod.uid, move.target) == ("new", Lane.ACTIVE)
    assert reject(made, old, 2.0) == [], "the old one does not come back"
    assert popped(made, 3.0).attempts == 1
    made.check_invariants()


def test_adding_a_known_pod_updates_it():
    made = queue()
    made.add(pod(), 0.0)
    assert made.add(pod(), 1.0) == [] and len(made) == 1


def test_a_pod_being_bound_is_in_no_lane_and_comes_back():
    made = queue()
    queued = in_lane(made, Lane.SCHEDULING)
    made.assume(queued.uid)
    assert made.lane(queued.uid) is None and len(made) == 0
    made.move_all(NODE_ADD, 1.0, "n1")
    queued.unschedulable_plugins = {FIT}
    (move,) = made.add_unschedulable(queued, 2.0, source=Lane.BINDING)
    assert (move.source, move.target, move.cause) == (Lane.BINDING, Lane.BACKOFF, "NodeAdd")
    made.check_invariants()


def test_after_done_events_are_no_concern_of_the_attempt():
    made = queue()
    queued = in_lane(made, Lane.SCHEDULING)
    made.assume(queued.uid)
    made.done(queued.uid)
    made.move_all(NODE_ADD, 1.0, "n1")
    queued.unschedulable_plugins = {FIT}
    (move,) = made.add_unschedulable(queued, 2.0, source=Lane.BINDING)
    assert move.target is Lane.UNSCHEDULABLE


# ---- operators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "to", "expected"),
    [
        pytest.param("d", 1, "d a b c", id="to the top"),
        pytest.param("a", 4, "b c d a", id="to the bottom"),
        pytest.param("a", 3, "b c a d", id="down to position 3"),
        pytest.param("d", 2, "a d b c", id="up to position 2"),
        pytest.param("b", 99, "a c d b", id="beyond the end"),
        pytest.param("b", -1, "b a c d", id="before the start"),
    ],
)
@pytest.mark.parametrize("spacing", [1.0, 0.0], ids=["apart", "at the same moment"])
def test_a_pod_is_moved_within_its_priority(name, to, expected, spacing):
    made = queue()
    made.add(pod("higher", priority=9), 5.0)
    made.add(pod("lower", priority=1), 5.0)
    for n, one in enumerate("abcd"):
        made.add(pod(one, priority=5), 1_700_000_000.0 + n * spacing)
    move = made.move(f"default/{name}", to, "alice", 1_700_000_009.0)
    assert order(made) == ["higher", *expected.split(), "lower"]
    assert (move.source, move.target, move.detail) == (Lane.ACTIVE, Lane.ACTIVE, "alice")
    assert made.get(f"default/{name}").moved_by == "alice"
    made.check_invariants()


def test_a_thousand_moves_to_the_same_place_keep_order():
    made = queue()
    names = [f"p{n}" for n in range(20)]
    for name in names:
        made.add(pod(name), 1_700_000_000.0)
    expected, touched = list(names), set()
    for n in range(1000):
        name = names[(n * 7) % 20]
        made.move(f"default/{name}", 10, "alice", 1_700_000_001.0)
        expected.remove(name)
        expected.insert(9, name)
        touched |= made.touched
    assert order(made) == expected
    assert touched, "pods that had to make room are shown anew"
    made.check_invariants()


def test_a_moved_pod_keeps_its_place_after_a_takeover():
    made = queue()
    for name in "abc":
        made.add(pod(name), 1.0)
    made.move("default/c", 1, "alice", 2.0)
    ranks = {name: made.get(f"default/{name}").rank for name in "abc"}
    after = queue()
    for name in "abc":
        known = QueuedPodInfo(pod(name), 9.0, ranks[name], attempts=2)
        after.add(pod(name), 9.0, known=known)
    assert order(after) == ["c", "a", "b"]
    assert popped(after, 9.0).attempts == 3


@pytest.mark.parametrize("lane", [Lane.BACKOFF, Lane.UNSCHEDULABLE])
def test_retry_needs_no_waiting(lane):
    made = queue()
    queued = in_lane(made, lane)
    move = made.retry(queued.uid, 0.1, "alice")
    assert (move.source, move.target, move.cause, move.detail) == (
        lane,
        Lane.ACTIVE,
        "Command/retry",
        "alice",
    )
    assert queued.retry_at is None
    made.check_invariants()


# ---- the table ---------------------------------------------------------------------------------------------------


def test_every_lane_has_its_ways():
    assert TRANSITIONS.keys() == {None, *Lane}
    assert set(QUEUED) < TRANSITIONS[Lane.BINDING] | {Lane.BACKOFF}


def test_a_way_that_the_table_does_not_know_is_refused():
    with pytest.raises(ValueError, match="default/p: gone to active is not a transition"):
        check(pod(), Lane.GONE, Lane.ACTIVE)


def test_many_moves_to_one_place_disturb_few_others():
    """As when pods came in a burst: their ranks leave next to no room between them."""
    now = 1_790_000_000.0
    made = queue()
    names = [f"p{n}" for n in range(1000)]
    for name in names:
        made.add(pod(name), now)
    moved, others = names[600:800], 0
    for name in moved:
        made.touched.clear()
        made.move(f"default/{name}", 500, "alice", now)
        names.remove(name)
        names.insert(499, name)
        others += len(made.touched)
    assert [uid.removeprefix("default/") for uid in made.uids(Lane.ACTIVE)] == names
    assert others < 20 * len(moved)
    made.check_invariants()
