"""Jobs: pods that end, until enough have ended well.

Called by `controllers`. Mirrors pkg/controller/job: a pod is counted when its finalizer is taken away, in the same
commit, so each counts once. A pod whose template does not say how long it runs ends after RUNS seconds.
"""

from __future__ import annotations

from typing import Any

from schedviz.sandbox.annotations import RUN_SECONDS
from schedviz.sandbox.controllers.world import (
    BATCH,
    World,
    active,
    is_leaving,
    is_ready,
    phase,
    template_of,
)
from schedviz.sandbox.defaults import condition, timestamp
from schedviz.sandbox.storage import Object

FINALIZER = "batch.kubernetes.io/job-tracking"
RUNS = "3"


def sync(world: World, one: Object) -> None:
    template = template_of(one)
    if template is None:
        return
    status = dict(one.get("status") or {})
    pods = world.owned(one, "Pod")
    for pod in pods:
        _count(world, pod, status)
    going = active(pods)
    if not is_leaving(one) and not _is_over(status):
        status.setdefault("startTime", timestamp())
        _decide(one["spec"], status, going)
        if _is_over(status) or one["spec"].get("suspend"):
            for pod in going:
                world.delete(pod)
            going = []
        else:
            going += _make(world, one, template, status, len(going))
    counts = {"active": len(going), "ready": sum(map(is_ready, going))}
    status |= {name: counts[name] or None for name in counts}
    world.patch(one, {"status": status})


def _is_over(status: dict[str, Any]) -> bool:
    return any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True"
        for one in status.get("conditions") or ()
    )


def _count(world: World, pod: Object, status: dict[str, Any]) -> None:
    ended = phase(pod)
    is_gone = is_leaving(pod) and not pod["metadata"].get("deletionGracePeriodSeconds")
    if FINALIZER not in (pod["metadata"].get("finalizers") or ()):
        return
    if ended not in ("Succeeded", "Failed") and not is_gone:
        return
    field = "succeeded" if ended == "Succeeded" else "failed"
    if not _is_over(status) or ended == "Succeeded":
        status[field] = int(status.get(field) or 0) + 1
    release(world, pod)


def release(world: World, pod: Object) -> None:
    kept = [one for one in pod["metadata"]["finalizers"] if one != FINALIZER]
    world.patch(pod, {"metadata": {"finalizers": kept or None}})


def _decide(spec: dict[str, Any], status: dict[str, Any], going: list[Object]) -> None:
    """Complete, failed, or to go on."""
    wanted = spec.get("completions")
    done, failed = int(status.get("succeeded") or 0), int(status.get("failed") or 0)
    enough = done >= int(wanted) if wanted is not None else done > 0 and not going
    if enough:
        what = {
            "reason": "CompletionsReached",
            "message": "Reached expected number of succeeded pods",
        }
        status["conditions"] = [
            condition(kind, "True", **what) for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status["completionTime"] = timestamp()
    elif failed > int(spec.get("backoffLimit", 6)):
        message = "Job has reached the specified backoff limit"
        what = {"reason": "BackoffLimitExceeded", "message": message}
        status["conditions"] = [
            condition(kind, "True", **what) for kind in ("FailureTarget", "Failed")
        ]


def _make(
    world: World, one: Object, template: dict[str, Any], status: dict[str, Any], going: int
) -> list[Object]:
    spec = one["spec"]
    wanted = int(spec.get("parallelism", 1))
    done = int(status.get("succeeded") or 0)
    if spec.get("completions") is not None:
        wanted = min(wanted, int(spec["completions"]) - done)
    elif done:
        return []
    annotations = {RUN_SECONDS: RUNS} | ((template.get("metadata") or {}).get("annotations") or {})
    return [
        world.make_pod(one, template, finalizers=[FINALIZER], annotations=annotations)
        for _ in range(min(wanted - going, BATCH))
    ]
