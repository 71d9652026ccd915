"""`manage.py first_admin`: the first admin, with a printed password that logs in once. Silent when there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError

from schedviz.web import auth

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(BaseCommand):
    help = "Makes the first admin, with a one-time password; does nothing when an admin can log in."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            password = auth.first_admin(options["name"])
        except IntegrityError as error:
            raise CommandError(
                f"there is a user {options['name']!r} who is no admin: choose another --name"
            ) from error
        if password is not None:
            self.stdout.write(
                f"First admin: user {options['name']}, one-time password {password} "
                "(logs in once; you choose your own then)"
            )
