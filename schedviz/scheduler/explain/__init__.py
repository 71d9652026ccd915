"""Why a pod is pending: what its record proves, and which smallest changes would help, each tried on whole objects.

Called by web pages, by `manage.py explain` and by the task that looks for changes. Pure like the rest of the core: the
objects are handed in, and what is claimed is what the profile's own filters answered.
"""

from __future__ import annotations

from schedviz.scheduler.explain.changes import Change, Findings, find
from schedviz.scheduler.explain.shrinking import Clause, NodeGroup, clauses, groups

__all__ = ["Change", "Clause", "Findings", "NodeGroup", "clauses", "find", "groups"]
