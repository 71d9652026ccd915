"""The list of cycles, one cycle in full, and its filter verdicts as a binary frame for the canvas."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from schedviz.web import cycle_page, permissions, readers
from schedviz.web.views.common import page, session_or_404

if TYPE_CHECKING:
    from django.http import HttpRequest

    from schedviz.web.models import Session
    from schedviz.web.readers import CycleDetail


@require_GET
@permissions.require("session.view")
def cycles(request: HttpRequest, name: str) -> HttpResponse:
    session = session_or_404(name)
    outcome = request.GET.get("outcome", "")
    found = readers.cycles_page(session, after=request.GET.get("after"), outcome=outcome)
    context = {
        "session": session,
        "page": found,
        "outcome": outcome,
        "ring": readers.ring_state(session),
    }
    return page(request, "cycles.html", context, nav="cycles")


@require_GET
@permissions.require("session.view")
def cycle(request: HttpRequest, name: str, number: int) -> HttpResponse:
    session = session_or_404(name)
    detail = _detail_or_404(session, number)
    context = {"session": session, "row": detail.row, "view": cycle_page.of(detail)}
    return page(request, "cycle.html", context, nav="cycles")


@require_GET
@permissions.require("session.view")
def matrix(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """uint32 nodes, uint32 plugins; int16 [node] first failure; uint8 [plugin][node] codes. Little-endian."""
    detail = _detail_or_404(session_or_404(name), number)
    filters = [step.nodes for step in detail.record.steps if step.nodes is not None]
    first = detail.record.first_failure
    if first is None:
        raise Http404("This cycle has no detail any more.")
    parts = [struct.pack("<II", len(first), len(filters)), first.astype("<i2").tobytes()]
    parts += [nodes.codes.tobytes() for nodes in filters]
    return HttpResponse(b"".join(parts), content_type="application/octet-stream")


def _detail_or_404(session: Session, number: int) -> CycleDetail:
    detail = readers.cycle_detail(session, number)
    if detail is None:
        raise Http404(f"Session {session.name!r} has no cycle {number} (any more).")
    return detail
