"""Ten thousand random objects, most of them broken: nothing that arrives stops the scheduler, and errors say where."""

from __future__ import annotations

import random
from collections.abc import Iterator

from schedviz.kube import objects
from schedviz.kube.objects import KubeObject, MalformedObject
from schedviz.scheduler.framework.steps import Change, CycleRecord, Outcome
from schedviz.scheduler.plugins import IN_TREE
from schedviz.scheduler.profile import default_profile
from schedviz.scheduler.scheduler import Output, Scheduler
from tests.scheduler.breaking import OTHERS, manifest

N_PODS = 7000


class Feed:
    """Hands manifests to a scheduler as a store does: whole ones as objects, others as errors."""

    def __init__(self) -> None:
        self.scheduler = Scheduler({"default-scheduler": default_profile()})
        self.known: dict[tuple[str, str], KubeObject] = {}
        self.malformed: list[MalformedObject] = []
        self.n_objects = 0
        self.now = 0.0

    def take(self, kind: str, number: int, n_breaks: int) -> None:
        self.n_objects += 1
        raw = manifest(kind, number, n_breaks=n_breaks)
        key = (kind, raw["metadata"]["name"])
        old = self.known.get(key)
        try:
            new = objects.parse(kind, raw)
        except MalformedObject as error:
            self.malformed.append(error)
            self.scheduler.apply(Change(kind, old, None, error), self.now)
        else:
            self.known[key] = new
            self.scheduler.apply(Change(kind, old, new), self.now)

    def forget_pods(self) -> None:
        for key in [key for key in self.known if key[0] == "Pod"]:
            self.scheduler.apply(Change("Pod", self.known.pop(key), None), self.now)

    def cycles(self) -> Iterator[list[Output]]:
        while (cycle := self.scheduler.start_cycle(self.now)) is not None:
            try:
                while True:
                    next(cycle)
            except StopIteration as end:
                yield end.value
            if self.now % 1 < 0.5:
                return


def test_nothing_that_arrives_stops_the_scheduler():
    chance = random.Random(7)
    feed = Feed()
    errors: list[str] = []
    n_cycles = 0
    for number in range(N_PODS):
        feed.now = number / 100
        if chance.random() < 0.25:
            feed.take("Node", number, chance.choice([0, 0, 1, 2]))
        if chance.random() < 0.25:
            feed.take(chance.choice(list(OTHERS)), number, chance.choice([0, 0, 1, 1, 2]))
        feed.take("Pod", number, chance.choice([0, 1, 1, 2, 3]))
        for outputs in feed.cycles():
            records = [output for output in outputs if isinstance(output, CycleRecord)]
            n_cycles += len(records)
            errors += [one.message for one in records if one.outcome is Outcome.ERROR]
        feed.scheduler.tick(feed.now)
        if number % 50 == 0:
            feed.forget_pods()
            feed.scheduler.check_invariants()
    assert feed.n_objects > 10_000
    assert n_cycles > 2000
    assert len(feed.malformed) > 1000
    assert all(error.field and error.message for error in feed.malformed)
    nameless = [message for message in errors if not any(name in message for name in IN_TREE)]
    assert nameless == []
