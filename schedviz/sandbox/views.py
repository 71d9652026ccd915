"""An object as one API group shows it: Events are kept once and seen under core/v1 and events.k8s.io/v1.

Called by `rest` for what comes in and by `watching` for what goes out. Kept is the events.k8s.io/v1 form; every other
kind is shown as it is kept. Mirrors pkg/apis/events/v1/conversion.go.
"""

from __future__ import annotations

from typing import Any

import orjson

from schedviz.kube.kinds import KINDS, Kind
from schedviz.sandbox.storage import Event, Object, line_of

CORE_EVENT = Kind("Event", "", "v1", "events", True)
ROUTES: dict[tuple[str, str, str], Kind] = {
    (kind.group, kind.version, kind.plural): kind for kind in (*KINDS.values(), CORE_EVENT)
}
_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_KEPT_NAMES = {core: kept for kept, core in _CORE_NAMES.items()}


def _renamed(one: Object, names: dict[str, str]) -> Object:
    return {names.get(field, field): value for field, value in one.items()}


def kept(kind: Kind, body: Object) -> Object:
    """What a client of this API sent, as it is stored."""
    if kind.kind != "Event":
        return body
    if kind is CORE_EVENT:
        body = _renamed(body, _KEPT_NAMES)
        source = body.get("deprecatedSource")
        if not body.get("reportingController") and isinstance(source, dict):
            body["reportingController"] = source.get("component", "")
    moment = body.get("deprecatedLastTimestamp") or body.get("deprecatedFirstTimestamp")
    if not body.get("eventTime") and moment:
        body = {**body, "eventTime": moment}
    return {**body, "apiVersion": KINDS["Event"].api_version}


def kept_part(kind: Kind, patch: Object) -> Object:
    """A patch that a client of this API sent, under the names that are stored."""
    return _renamed(patch, _KEPT_NAMES) if kind is CORE_EVENT else patch


def shown(kind: Kind, one: Object) -> Object:
    """A stored object, as a client of this API sees it."""
    if kind is not CORE_EVENT:
        return one
    core: dict[str, Any] = {**_renamed(one, _CORE_NAMES), "apiVersion": "v1"}
    core.setdefault("involvedObject", {})
    if "source" not in core and core.get("reportingComponent"):
        core["source"] = {"component": core["reportingComponent"]}
    return core


def line(kind: Kind, event: Event) -> bytes:
    """A committed change, as a watcher of this API reads it: the same bytes for all where nothing is converted."""
    if kind is not CORE_EVENT:
        return event.line
    return line_of(event.type, orjson.dumps(shown(kind, event.object)))
