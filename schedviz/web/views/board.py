"""The live board: an empty stage; `consumers` fills it over the websocket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from schedviz.web import words
from schedviz.web.views.parts import session_page

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session


@session_page("session.view")
@require_safe
def board(request: HttpRequest, session: Session) -> HttpResponse:
    context = {
        "session": session,
        "tab": "board",
        "q": request.GET.get("q", "")[:200],
        "lanes": [words.LANES[lane] for lane in words.BOARD_LANES],
        "malformed": words.LANES["malformed"],
    }
    return render(request, "board/page.html", context)
