"""The Celery app: short work as tasks, and the runner of sessions as a bootstep of the worker."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedviz.settings")

app = Celery("schedviz")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["schedviz.web"])


@setup_logging.connect
def log_as_django_does(**_: object) -> None:
    """Celery leaves logging alone: `settings.LOGGING` has the word."""


def install_runner() -> None:
    from schedviz.web.bootstep import RunnerStep

    app.steps["worker"].add(RunnerStep)


install_runner()
