"""The one Django app."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "schedviz.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from schedviz.web import auth  # noqa: F401  connects the signal that spends one-time passwords
