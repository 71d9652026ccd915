"""All pods that the session knows, by lane and by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.web import readers, words
from schedviz.web.views.parts import session_page, wants_rows

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session

LANES = tuple(words.LANE_TITLES.items())


@session_page("session.view")
@require_safe
def pods(request: HttpRequest, session: Session) -> HttpResponse:
    lane = request.GET.get("lane", "")
    if lane not in words.LANE_TITLES:
        lane = ""
    text = request.GET.get("q", "").strip()[:200]
    after = request.GET.get("after")
    counts = readers.pods_per_lane(session) if after is None else {}
    context = {
        "session": session,
        "tab": "pods",
        "page": readers.pods_page(session, after=after, lane=lane, text=text),
        "counts": [(name, title, counts[name]) for name, title in LANES if name in counts],
        "n_pods": sum(counts.values()),
        "lane": lane,
        "q": text,
    }
    template = "pods/rows.html" if wants_rows(request) else "pods/page.html"
    return render(request, template, context)
