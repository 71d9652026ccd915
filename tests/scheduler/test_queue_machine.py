"""The queue under anything that may happen to it: no pod is lost, none is in two places, every Move joins the last."""

from __future__ import annotations

import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.node_info import Hold, QueuedPodInfo
from schedviz.scheduler.framework.steps import Lane, Move, PodRef
from schedviz.scheduler.queue import QUEUED
from tests.make import pod
from tests.scheduler.waiting import (
    FIT,
    NODE_ADD,
    NODE_TAINT,
    POD_ADD,
    POD_DELETE,
    TAINTS,
    queue,
    reject,
)

EVENTS = st.sampled_from([NODE_ADD, NODE_TAINT, POD_ADD, POD_DELETE])
GATES = [{"name": "a"}]


class Queue(RuleBasedStateMachine):
    """`lanes` is what the Moves say; the queue must say the same."""

    uids = Bundle("uids")
    in_flight = Bundle("in_flight")

    @initialize()
    def begin(self) -> None:
        self.queue = queue()
        self.now = 0.0
        self.n = 0
        self.lanes: dict[str, Lane] = {}
        self.pods: dict[str, Pod] = {}
        self.binding: set[str] = set()

    def follow(self, moves: list[Move]) -> None:
        for move in moves:
            assert self.lanes.get(move.pod.uid) is move.source
            self.lanes[move.pod.uid] = move.target
            if move.target is Lane.GONE:
                del self.lanes[move.pod.uid]

    @rule(target=uids, priority=st.integers(0, 2), is_gated=st.booleans(), uid=st.none() | uids)
    def add(self, priority: int, is_gated: bool, uid: str | None) -> str:
        """A new pod, or one of an old one's name."""
        self.n += 1
        name = uid.split("#")[0] if uid else f"p{self.n}"
        gates = GATES if is_gated else []
        made = pod(name, priority=priority, schedulingGates=gates, meta={"uid": f"{name}#{self.n}"})
        self.pods[made.uid] = made
        self.follow(self.queue.add(made, self.now))
        return made.uid

    @rule(uid=uids, loses_gates=st.booleans())
    def update(self, uid: str, loses_gates: bool) -> None:
        if uid not in self.lanes or uid in self.binding:
            return
        before = self.pods[uid]
        gates = [] if loses_gates else [{"name": name} for name in before.scheduling_gates]
        after = pod(
            before.name,
            priority=before.priority,
            schedulingGates=gates,
            meta={"uid": uid},
            tolerations=["a"],
        )
        self.pods[uid] = after
        self.follow(self.queue.update(after, self.now, [NODE_TAINT]))

    @rule(uid=uids)
    def delete(self, uid: str) -> None:
        if uid not in self.binding:
            self.follow(self.queue.delete(uid, self.now))

    @rule(event=EVENTS)
    def event(self, event) -> None:
        self.follow(self.queue.move_all(event, self.now, "something"))

    @rule(seconds=st.sampled_from([0.0, 0.3, 1.0, 4.0, 31.0, 301.0]))
    def time(self, seconds: float) -> None:
        self.now += seconds
        self.follow(self.queue.flush(self.now))

    @rule(target=in_flight)
    def pop(self):
        found = self.queue.pop(self.now)
        if found is None:
            return multiple()
        queued, move = found
        lanes = [self.lanes[uid] for uid in self.lanes if uid not in self.binding]
        assert move.source is Lane.ACTIVE or Lane.ACTIVE not in lanes
        self.follow([move])
        return queued

    @rule(queued=consumes(in_flight), plugin=st.sampled_from([FIT, TAINTS, ""]))
    def fail(self, queued: QueuedPodInfo, plugin: str) -> None:
        is_there = self.queue.get(queued.uid) is queued
        moves = reject(self.queue, queued, self.now, plugin)
        assert bool(moves) is is_there
        self.follow(moves)

    @rule(queued=consumes(in_flight), fails=st.booleans(), plugin=st.sampled_from([FIT, ""]))
    def bind(self, queued: QueuedPodInfo, fails: bool, plugin: str) -> None:
        if self.queue.get(queued.uid) is not queued:
            return
        self.queue.assume(queued.uid)
        self.follow(
            [Move(self.now, PodRef.of(queued.pod), Lane.SCHEDULING, Lane.BINDING, "Assumed")]
        )
        if fails:
            queued.unschedulable_plugins = {plugin} - {""}
            moves = self.queue.add_unschedulable(queued, self.now, source=Lane.BINDING)
            assert len(moves) == 1
            self.follow(moves)
        else:
            self.queue.done(queued.uid)
            self.binding.add(queued.uid)

    @rule(uid=uids, position=st.integers(1, 5))
    def move(self, uid: str, position: int) -> None:
        if self.lanes.get(uid) is Lane.ACTIVE:
            of = self.queue.position(uid)[1]
            self.follow([self.queue.move(uid, position, "alice", self.now)])
            assert self.queue.position(uid) == (min(position, of), of)

    @rule(uid=uids)
    def retry(self, uid: str) -> None:
        if self.lanes.get(uid) in (Lane.BACKOFF, Lane.UNSCHEDULABLE):
            self.follow([self.queue.retry(uid, self.now, "alice")])

    @rule(uid=uids)
    def hold(self, uid: str) -> None:
        if self.lanes.get(uid) in QUEUED and not self.queue.get(uid).hold:
            self.follow([self.queue.hold(uid, Hold("alice", self.now))])

    @rule(uid=uids)
    def release(self, uid: str) -> None:
        if uid in self.lanes and uid not in self.binding and self.queue.get(uid).hold:
            self.follow([self.queue.release(uid, self.now, "alice")])
            assert self.lanes[uid] in (Lane.ACTIVE, Lane.GATED)

    @rule(uid=uids)
    def move_and_undo(self, uid: str) -> None:
        if self.lanes.get(uid) is Lane.ACTIVE:
            before, rank = list(self.queue.uids(Lane.ACTIVE)), self.queue.get(uid).rank
            self.follow([self.queue.move(uid, 1, "alice", self.now)])
            self.follow([self.queue.move_back(uid, rank, "", "alice", self.now)])
            assert list(self.queue.uids(Lane.ACTIVE)) == before

    @invariant()
    def is_sound(self) -> None:
        if not hasattr(self, "queue"):
            return
        self.queue.check_invariants()
        expected = {uid: lane for uid, lane in self.lanes.items() if uid not in self.binding}
        assert {uid: self.queue.lane(uid) for uid in expected} == expected
        assert len(self.queue) == len(expected)
        assert sum(self.queue.counts().values()) == len(expected)
        for uid in self.queue.uids(Lane.BACKOFF):
            assert self.queue.get(uid).retry_at is not None


Queue.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestQueue = Queue.TestCase


def test_the_same_story_gives_the_same_moves():
    """A long random story, twice."""
    assert _story(7) == _story(7)


def _story(seed: int) -> list[Move]:
    dice, made, moves = random.Random(seed), queue(), []
    for n in range(600):
        now = n / 10
        moves += made.flush(now)
        if dice.random() < 0.4:
            moves += made.add(pod(f"p{n}", priority=dice.randrange(3)), now)
        if dice.random() < 0.2:
            moves += made.move_all(dice.choice([NODE_ADD, NODE_TAINT, POD_DELETE]), now, "it")
        found = made.pop(now) if dice.random() < 0.6 else None
        if found is not None:
            moves.append(found[1])
            moves += reject(made, found[0], now, dice.choice([FIT, TAINTS, ""]))
    return moves
