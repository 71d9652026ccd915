"""All nodes as a table: what they have, what is requested of them. The map's twin for who cannot see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.web import readers
from schedviz.web.node_map import share
from schedviz.web.views.parts import session_page, wants_rows

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import NodeState, Session

USUAL = ("cpu", "memory", "pods", "ephemeral-storage")


@session_page("session.view")
@require_safe
def nodes(request: HttpRequest, session: Session) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:253]
    after = request.GET.get("after")
    page = readers.nodes_page(session, after=after, text=text)
    context = {
        "session": session,
        "tab": "nodes",
        "next": page.next,
        "rows": [(node, _use(node)) for node in page.rows],
        "q": text,
    }
    template = "nodes/rows.html" if wants_rows(request) else "nodes/page.html"
    return render(request, template, context)


def _use(node: NodeState) -> dict[str, object]:
    has, uses = node.allocatable, node.requested
    row = {"allocatable": has, "requested": uses}
    return {
        "cpu": (uses.get("cpu", 0), has.get("cpu", 0), share(row, "cpu")),
        "memory": (uses.get("memory", 0), has.get("memory", 0), share(row, "memory")),
        "pods": (node.n_pods, has.get("pods", 0)),
        "promised": _promised(node),
        "more": [(name, uses.get(name, 0), n) for name, n in has.items() if name not in USUAL],
    }


def _promised(node: NodeState) -> list[str]:
    """Resources of which the nominated pods alone want more than the node has: two preemptors wait for one room."""
    wanted: dict[str, int] = {}
    for one in node.nominated:
        for name, n in one["requests"].items():
            wanted[name] = wanted.get(name, 0) + n
    return sorted(name for name, n in wanted.items() if n > node.allocatable.get(name, 0))
