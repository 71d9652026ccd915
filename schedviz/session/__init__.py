"""ONE running session: a cluster, a scheduler, and what both say, brought together.

Made by the worker's runner, which gives it a thread (`Session.run`) and a `Sink`. The only place where I/O
meets the core.

    connection (asyncio thread)     session (core thread)                     writer thread
    reflectors --Changes--> inbox --> apply, tick, one cycle --> open batch --> sink.commit, then
    effects    --Replies--> inbox                                                 `--> effects
"""

from schedviz.session.batch import Batch, Fenced, RestoredPod, Sink
from schedviz.session.session import Session

__all__ = ["Batch", "Fenced", "RestoredPod", "Session", "Sink"]
