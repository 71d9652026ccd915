"""HTTP extenders: servers outside of the scheduler that are asked about nodes, victims and bindings.

Made by `profile` of a configuration; asked by `schedule_one`, by `binding` and, through a plugin's handle, by
DefaultPreemption. Mirrors pkg/scheduler/extender.go (v1.36). Pure: to ask is to yield CallExtenders and to be sent the
Reply; the bytes travel in `cluster.extenders`. What differs on purpose: no name, message or record holds a URL's
credentials, and an extender that answers with whole nodes may only answer with nodes that it was sent.
"""

from __future__ import annotations

from schedviz.scheduler.extender.asking import HTTPExtender, extenders_of
from schedviz.scheduler.extender.rounds import EXTENDER_NAME, passing, scored
from schedviz.scheduler.extender.urls import joined, safe_url

__all__ = [
    "EXTENDER_NAME",
    "HTTPExtender",
    "extenders_of",
    "joined",
    "passing",
    "safe_url",
    "scored",
]
