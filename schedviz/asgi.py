"""The web process: HTTP to Django, websockets to the consumers, both only for hosts and origins that are ours."""

from __future__ import annotations

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import path, re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedviz.settings")
http = get_asgi_application()

from schedviz.web.consumers import (  # noqa: E402  Django must be set up first
    BoardConsumer,
    NobodyConsumer,
)

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(
                URLRouter(
                    [
                        path("ws/sessions/<slug:name>/board", BoardConsumer.as_asgi()),
                        re_path("", NobodyConsumer.as_asgi()),
                    ]
                )
            )
        ),
    }
)
