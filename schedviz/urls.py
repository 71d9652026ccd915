"""Every address of the product but the websocket's (see asgi)."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from schedviz.web.auth import LoginView, PasswordChooseView
from schedviz.web.health import healthz
from schedviz.web.views import audit, board, cycles, pod_actions, pods, sessions

urlpatterns = [
    path("", sessions.home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", PasswordChooseView.as_view(), name="password_choose"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/<slug:name>/", board.board, name="board"),
    path("sessions/<slug:name>/start", sessions.start, name="session_start"),
    path("sessions/<slug:name>/stop", sessions.stop, name="session_stop"),
    path("sessions/<slug:name>/cycles/", cycles.cycles, name="cycles"),
    path("sessions/<slug:name>/cycles/<int:number>/", cycles.cycle, name="cycle"),
    path("sessions/<slug:name>/cycles/<int:number>/matrix", cycles.matrix, name="matrix"),
    path("sessions/<slug:name>/pods/", pods.pods, name="pods"),
    path("sessions/<slug:name>/pods/<path:uid>/retry", pod_actions.retry, name="pod_retry"),
    path("sessions/<slug:name>/pods/<path:uid>/move", pod_actions.move, name="pod_move"),
    path("sessions/<slug:name>/pods/<path:uid>/", pods.pod, name="pod"),
    path("commands/<int:pk>/", pod_actions.command, name="command"),
    path("audit/", audit.audit, name="audit"),
]
