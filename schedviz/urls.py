"""Every address of the product but the websocket's (see asgi)."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from schedviz.web.auth import LoginView, PasswordChooseView
from schedviz.web.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", PasswordChooseView.as_view(), name="password_choose"),
]
