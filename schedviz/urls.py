"""Every address of the product but the websocket's (see asgi)."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path

from schedviz.web.auth import LoginView, PasswordChooseView
from schedviz.web.extender_rules import VERBS
from schedviz.web.health import healthz
from schedviz.web.views import (
    api,
    audit,
    board,
    commands,
    compare,
    cycle,
    cycles,
    extenders,
    nodes,
    pod,
    pods,
    sessions,
)

SESSION = "sessions/<slug:name>/"
API = "api/v1/"
API_POD = "namespaces/<str:namespace>/pods/<str:pod>/"
POD = SESSION + "pods/<path:uid>/"  # a uid is whatever the cluster says

handler500 = "schedviz.web.views.errors.failed"
urlpatterns = [
    *(
        path(f"extender/<slug:name>/{verb}", extenders.extender_ask, {"verb": verb}, name=verb)
        for verb in VERBS
    ),
    path("", sessions.home, name="home"),
    path("sessions/", sessions.sessions, name="sessions"),
    path(SESSION, board.board, name="board"),
    path(SESSION + "start", sessions.session_start, name="session_start"),
    path(SESSION + "stop", sessions.session_stop, name="session_stop"),
    path(SESSION + "pause", commands.session_pause, name="session_pause"),
    path(SESSION + "resume", commands.session_resume, name="session_resume"),
    path(SESSION + "flush", commands.session_flush, name="session_flush"),
    path(SESSION + "cycles/", cycles.cycles, name="cycles"),
    path(SESSION + "cycles/<int:number>/", cycle.cycle, name="cycle"),
    path(SESSION + "cycles/<int:number>/with/<int:other>/", compare.compare, name="compare"),
    path(SESSION + "cycles/<int:number>/matrix", cycle.matrix, name="matrix"),
    path(SESSION + "nodes/", nodes.nodes, name="nodes"),
    path(SESSION + "pods/", pods.pods, name="pods"),
    path(POD + "retry", commands.pod_retry, name="pod_retry"),
    path(POD + "move", commands.pod_move, name="pod_move"),
    path(POD + "hold", commands.pod_hold, name="pod_hold"),
    path(POD + "release", commands.pod_release, name="pod_release"),
    path(POD + "allow", commands.pod_allow, name="pod_allow"),
    path(POD + "reject", commands.pod_reject, name="pod_reject"),
    path(POD + "changes", pod.pod_changes, name="pod_changes"),
    path(POD, pod.pod, name="pod"),
    path(API + "openapi.json", api.openapi, name="api_openapi"),
    path(API + SESSION + API_POD + "explain", api.explain, name="api_explain"),
    path("commands/<int:pk>/", commands.command, name="command"),
    path("commands/<int:pk>/undo", commands.move_undo, name="move_undo"),
    path("extenders/", extenders.extenders, name="extenders"),
    path("extenders/new", extenders.extender_save, name="extender_new"),
    path("extenders/<slug:name>/", extenders.extender, name="extender"),
    path("extenders/<slug:name>/save", extenders.extender_save, name="extender_save"),
    path("extenders/<slug:name>/delete", extenders.extender_delete, name="extender_delete"),
    path("audit/", audit.audit, name="audit"),
    path("healthz", healthz, name="healthz"),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", PasswordChooseView.as_view(), name="password_choose"),
]
