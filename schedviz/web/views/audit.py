"""Who did what, when, with what result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.views.decorators.http import require_GET

from schedviz.web import permissions, readers
from schedviz.web.views.common import page

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_GET
@permissions.require("audit.view")
def audit(request: HttpRequest) -> HttpResponse:
    user = request.GET.get("user", "")
    found = readers.audit_page(after=request.GET.get("after"), user=user)
    return page(request, "audit.html", {"page": found, "user": user}, nav="audit")
