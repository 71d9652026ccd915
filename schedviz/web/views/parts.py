"""What several pages do alike: find the session of the URL, answer a poll with 204 when nothing is new."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.views.decorators.cache import never_cache

from schedviz.web import actions, permissions, readers

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    from schedviz.web.models import Session


def session_page(
    action: str,
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorator: the view gets the Session in place of its name; 404 without one, 403 for who may not."""

    permissions.LEAST_ROLE[action]  # a misspelt action fails when the view is imported

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @never_cache
        @functools.wraps(view)
        def found(request: HttpRequest, name: str, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                permissions.check(request.user, action)
            except PermissionDenied as why:
                if request.method == "POST":
                    actions.denied(request.user, action, name, kwargs.get("uid", ""), str(why))
                raise
            return view(request, find_session(name), *args, **kwargs)

        return found

    return decorate


def find_session(name: str) -> Session:
    session = readers.session_by_name(name)
    if session is None:
        raise Http404(f"There is no session {name!r}.")
    return session


def wants_rows(request: HttpRequest) -> bool:
    """The page is there already: only the next rows of its table are asked for."""
    return request.headers.get("HX-Request") == "true" and "after" in request.GET


def digest(*facts: Any) -> str:
    """A short name for what a page shows: a poll that already knows it is answered with nothing."""
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def is_known(request: HttpRequest, version: str) -> bool:
    return request.GET.get("known") == version


def nothing_new() -> HttpResponse:
    return HttpResponse(status=204)
