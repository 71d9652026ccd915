"""The audit log: who did what, when, on what, with what result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from schedviz.web import permissions, readers
from schedviz.web.views.parts import wants_rows

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@permissions.require("audit.view")
@never_cache
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    user = request.GET.get("user", "").strip()[:200]
    after = request.GET.get("after")
    page = readers.audit_page(after=after, user=user)
    context = {
        "tab": "audit",
        "page": page,
        "undoable": readers.moves_to_undo(page.rows),
        "user_name": user,
    }
    template = "audit/rows.html" if wants_rows(request) else "audit/page.html"
    return render(request, template, context)
