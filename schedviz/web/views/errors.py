"""What a visitor reads when a page fails: for a database that does not answer, that it is the database."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from django.db import InterfaceError, OperationalError
from django.shortcuts import render
from django.views.defaults import server_error

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


def failed(request: HttpRequest) -> HttpResponse:
    """handler500. 503 when waiting helps."""
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError):
        return render(None, "503.html", {"error": str(error)}, status=503)
    return server_error(request)
