"""A pod's row: how many of its containers are ready, and the word for its state.

Called by `columns`. Mirrors printPod of pkg/printers/internalversion: the word is the most telling reason among the
pod's, its init containers' and its containers'.
"""

from __future__ import annotations

from typing import Any

from schedviz.sandbox.storage import Object
from schedviz.sandbox.tables.words import NONE, age, moment_of, since


def pod_cells(pod: Object) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    running = status.get("containerStatuses") or []
    ready = sum(1 for one in running if one.get("ready") and "running" in (one.get("state") or {}))
    total = len(spec.get("containers") or ()) + sum(1 for one in _init(spec) if _is_sidecar(one))
    gates = [one.get("conditionType") for one in spec.get("readinessGates") or ()]
    met = sum(1 for one in gates if _is_true(status, one))
    return [
        pod["metadata"]["name"],
        f"{ready}/{total}",
        pod_word(pod),
        _restarts(running),
        age(pod),
        status.get("podIP") or next((ip["ip"] for ip in status.get("podIPs") or ()), NONE),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]


def _init(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return spec.get("initContainers") or []


def _is_sidecar(container: dict[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def _is_true(status: dict[str, Any], condition: object) -> bool:
    return any(
        one.get("type") == condition and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )


def _restarts(running: list[dict[str, Any]]) -> str:
    count = sum(int(one.get("restartCount") or 0) for one in running)
    ended = [
        ((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in running
    ]
    known = [str(moment) for moment in ended if moment_of(moment)]
    return f"{count} ({since(max(known))} ago)" if count and known else str(count)


def pod_word(pod: Object) -> str:
    """Its phase, or a reason that says more."""
    status, meta = pod.get("status") or {}, pod["metadata"]
    word = str(status.get("reason") or status.get("phase") or "")
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    begun = _initialising(pod)
    word = begun or _containers_word(status, word)
    if meta.get("deletionTimestamp"):
        over = status.get("phase") in ("Succeeded", "Failed")
        return "Unknown" if status.get("reason") == "NodeLost" else word if over else "Terminating"
    return word


def _initialising(pod: Object) -> str:
    """Init:1/2 and the like, while init containers are not done."""
    status = pod.get("status") or {}
    every = status.get("initContainerStatuses") or []
    sidecars = {c.get("name") for c in _init(pod.get("spec") or {}) if _is_sidecar(c)}
    for number, one in enumerate(every):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended.get("exitCode") == 0:
            continue
        if one.get("name") in sidecars and one.get("started"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        reason = waiting.get("reason")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{number}/{len(_init(pod['spec']))}"
    return ""


def _containers_word(status: dict[str, Any], word: str) -> str:
    is_running = False
    for one in reversed(status.get("containerStatuses") or ()):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            word = waiting["reason"]
        elif ended is not None:
            word = ended.get("reason") or _exit(ended)
        elif one.get("ready") and "running" in state:
            is_running = True
    if word == "Completed" and is_running:
        return "Running" if _is_true(status, "Ready") else "NotReady"
    return word


def _exit(ended: dict[str, Any]) -> str:
    signal = ended.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"
