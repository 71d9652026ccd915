"""Every write that a person asks for: checked here whatever the page showed, and audited, refused ones too.

Called by views and management commands. What a running session must do (retry, move) becomes a Command row; its runner
submits it and `recording` writes the answer and the audit row. Refusals are `Refused` with words for the person.
"""

from schedviz.web.actions.asking import Refused, denied
from schedviz.web.actions.commands import (
    KEY_LENGTH,
    MAX_PAUSE_SECONDS,
    REASON_LENGTH,
    move_undo,
    pod_allow,
    pod_hold,
    pod_move,
    pod_reject,
    pod_release,
    pod_retry,
    session_flush,
    session_pause,
    session_resume,
)
from schedviz.web.actions.extenders import extender_delete, extender_save
from schedviz.web.actions.sessions import (
    cluster_add,
    session_configure,
    session_create,
    session_start,
    session_stop,
)

__all__ = [
    "KEY_LENGTH",
    "MAX_PAUSE_SECONDS",
    "REASON_LENGTH",
    "Refused",
    "cluster_add",
    "denied",
    "extender_delete",
    "extender_save",
    "move_undo",
    "pod_allow",
    "pod_hold",
    "pod_move",
    "pod_reject",
    "pod_release",
    "pod_retry",
    "session_configure",
    "session_create",
    "session_flush",
    "session_pause",
    "session_resume",
    "session_start",
    "session_stop",
]
