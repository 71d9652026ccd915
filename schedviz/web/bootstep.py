"""The runner as a part of the Celery worker: started with it, stopped with it."""

from __future__ import annotations

from typing import Any

from celery import bootsteps


class RunnerStep(bootsteps.StartStopStep):
    """Long-lived sessions live here and not in a task: a broker would deliver a long task twice."""

    def __init__(self, worker: Any, **kwargs: Any) -> None:
        super().__init__(worker, **kwargs)
        self.runner: Any = None

    def start(self, worker: Any) -> None:
        from schedviz.web.runner import Runner

        self.runner = Runner()
        self.runner.start()

    def stop(self, worker: Any) -> None:
        if self.runner is not None:
            self.runner.stop()
            self.runner = None

    terminate = stop
