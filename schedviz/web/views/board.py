"""The live board's page; what is on it comes over the websocket (see consumers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.views.decorators.http import require_GET

from schedviz.web import permissions
from schedviz.web.board import LANES
from schedviz.web.views.common import page, session_or_404

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_GET
@permissions.require("session.view")
def board(request: HttpRequest, name: str) -> HttpResponse:
    return page(
        request, "board.html", {"session": session_or_404(name), "lanes": LANES}, nav="board"
    )
