"""What every request passes beside Django's own middleware: the demo's login, and the change of a one-time password."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from schedviz.web.auth import DEMO_OPERATOR
from schedviz.web.models import OneTimePassword

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse


EXTENDER = "/extender/"
"""Where schedulers ask the extenders that we serve."""


class LoginMiddleware(LoginRequiredMiddleware):
    """Sends who is not logged in to the login page; the whole page, also when only a part of it was asked for."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        if not request.headers.get("HX-Request"):
            return super().handle_no_permission(request, view_func)
        return HttpResponseClientRedirect(resolve_url(self.get_login_url(view_func)))


class DemoLoginMiddleware:
    """Logs the demo operator in: only with SCHEDVIZ_DEMO, from a loopback address, under a loopback name.

    Both are asked: the address keeps other machines out, the name a page of another site that a browser on this machine
    was led to under a name that points here. A forwarded request (a proxy on this machine) is not from this machine.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        asked_by_machines = request.path == reverse("healthz") or request.path.startswith(EXTENDER)
        wanted = settings.DEMO and not asked_by_machines
        if wanted and not request.user.is_authenticated and from_this_machine(request):
            user = get_user_model().objects.filter(username=DEMO_OPERATOR, is_active=True).first()
            if user is not None:
                login(request, user, backend=settings.MODEL_BACKEND)
        return self.get_response(request)


def from_this_machine(request: HttpRequest) -> bool:
    forwarded = any(
        name in request.META
        for name in ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")
    )
    if forwarded:
        return False
    try:
        peer = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    host = request.get_host()
    name = host[: host.rfind("]") + 1] if host.startswith("[") else host.partition(":")[0]
    return peer.is_loopback and name.lower() in settings.LOOPBACK_HOSTS


class OneTimePasswordMiddleware:
    """Who came with a one-time password sees nothing but the page that asks for an own one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if self._must_choose(request):
            return redirect("password_choose")
        return self.get_response(request)

    @staticmethod
    def _must_choose(request: HttpRequest) -> bool:
        if not request.user.is_authenticated or request.user.has_usable_password():
            return False
        if request.path in (reverse("password_choose"), reverse("logout")):
            return False
        return OneTimePassword.objects.filter(user_id=request.user.pk).exists()
