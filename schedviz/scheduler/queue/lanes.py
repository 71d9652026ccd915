"""The lanes of a pod and the ways between them, as a table that the queue obeys and the page draws.

                  +---------- gates gone ---------+
                  |                               v
    new ----> [gated]         new ----------> [active] --- popped ---> [scheduling] -- assumed --> [binding] --> [bound]
                                               ^  ^ ^                       |                          |
                 timeout, event, retry --------+  | | backoff over,         | rejected, failed         | Bind failed
                 |                                | | retry                 v                          v
         [unschedulable] -- event, too early --> [backoff] <--- error, or an event came meanwhile -----+
                 ^                                                          |
                 +--------------------------------------------- rejected ---+

Pods in [backoff] are also popped when nothing is active, save those that had an error. From every lane a pod may go to
[gone]; an assigned pod of ours is [bound] wherever it was. [malformed] is for what can't be read. An operator may hold
a pod of the first four lanes: it is then [gated], whatever PreEnqueue says, until it is released.
"""

from __future__ import annotations

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework.steps import Lane

QUEUED = (Lane.GATED, Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.ACTIVE)
_ANYWHERE = frozenset({Lane.GONE, Lane.BOUND, Lane.MALFORMED})
_AGAIN = frozenset({Lane.UNSCHEDULABLE, Lane.BACKOFF, Lane.ACTIVE, Lane.GATED})
# Where a pod may go from where it is; None: it is not known yet (backoff: remembered from before a takeover).
TRANSITIONS: dict[Lane | None, frozenset[Lane]] = {
    None: frozenset({Lane.ACTIVE, Lane.BACKOFF, Lane.GATED, Lane.BOUND, Lane.MALFORMED}),
    Lane.GATED: _ANYWHERE | {Lane.ACTIVE, Lane.BACKOFF, Lane.GATED},
    Lane.UNSCHEDULABLE: _ANYWHERE | {Lane.ACTIVE, Lane.BACKOFF, Lane.GATED},
    Lane.BACKOFF: _ANYWHERE | {Lane.ACTIVE, Lane.GATED, Lane.SCHEDULING},
    Lane.ACTIVE: _ANYWHERE | {Lane.ACTIVE, Lane.GATED, Lane.SCHEDULING},
    Lane.SCHEDULING: _ANYWHERE | _AGAIN | {Lane.BINDING},
    Lane.BINDING: _ANYWHERE | _AGAIN | {Lane.BINDING},
    Lane.BOUND: frozenset({Lane.GONE, Lane.MALFORMED}),
    Lane.MALFORMED: frozenset(
        {Lane.GONE, Lane.MALFORMED, Lane.ACTIVE, Lane.BACKOFF, Lane.GATED, Lane.BOUND}
    ),
    Lane.GONE: frozenset(),
}


def check(pod: Pod, source: Lane | None, target: Lane) -> None:
    """Raises ValueError when the table does not know this way."""
    if target not in TRANSITIONS[source]:
        raise ValueError(f"{pod.key}: {source} to {target} is not a transition")
