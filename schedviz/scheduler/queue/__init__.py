"""Pods on their way to a node. `SchedulingQueue` is what others use; beside it one module for each place in it.

Filled by `event_handlers`, popped and refilled by `scheduler`, touched by operators' commands. Mirrors
pkg/scheduler/backend/queue (v1.36).
"""

from __future__ import annotations

from schedviz.scheduler.queue.lanes import QUEUED, TRANSITIONS
from schedviz.scheduler.queue.scheduling_queue import SchedulingQueue

__all__ = ["QUEUED", "TRANSITIONS", "SchedulingQueue"]
