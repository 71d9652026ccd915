"""The one Django app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WebConfig(AppConfig):
    name = "schedviz.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from schedviz.web import auth  # noqa: F401  connects the signal that spends one-time passwords

        post_migrate.connect(make_roles, sender=self, dispatch_uid="schedviz.roles")


def make_roles(using: str, **_: Any) -> None:
    """The groups that `permissions` asks for are there whenever the tables are."""
    from django.contrib.auth.models import Group

    from schedviz.web.permissions import GROUPS

    for name in GROUPS:
        Group.objects.using(using).get_or_create(name=name)
