"""What a scenario says of a pod's life in the sandbox, in annotations: read by `kubelet` and `binding`.

sandbox.schedviz.io/run-seconds            it succeeds after having run so long; without it, it runs until it is deleted
sandbox.schedviz.io/end-every-seconds      the end waits for the next full so-many seconds: many pods end at one moment
sandbox.schedviz.io/deny-binding-seconds   bindings are denied until the pod is so old, as an admission webhook would
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from schedviz.sandbox.storage import Object

RUN_SECONDS = "sandbox.schedviz.io/run-seconds"
END_EVERY_SECONDS = "sandbox.schedviz.io/end-every-seconds"
DENY_BINDING_SECONDS = "sandbox.schedviz.io/deny-binding-seconds"


def seconds_of(pod: Object, annotation: str) -> float | None:
    """None: not said, or not a span of time."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation)
    try:
        value = None if text is None else float(text)
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e9 else None


def age(held: dict[str, Any], field: str = "creationTimestamp") -> float:
    """Seconds since the moment in this field; 0 when it holds none."""
    try:
        since = datetime.fromisoformat(str(held.get(field)).replace("Z", "+00:00"))
        return max(0.0, (datetime.now(UTC) - since).total_seconds())
    except (TypeError, ValueError):
        return 0.0
