#!/usr/bin/env python
"""Django's command line: `python manage.py help` lists the commands."""

from __future__ import annotations

import os
import sys


def data_folder_asked_for(argv: list[str]) -> str | None:
    """`up --data DIR`: the settings are read before any command sees its options, so it is looked up here."""
    for position, word in enumerate(argv):
        if word == "--data":
            return next(iter(argv[position + 1 :]), None)
        if word.startswith("--data="):
            return word.removeprefix("--data=")
    return None


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedviz.settings")
    if sys.argv[1:2] == ["up"] and (folder := data_folder_asked_for(sys.argv)):
        os.environ["SCHEDVIZ_DATA"] = os.path.abspath(folder)
    try:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "schedviz: this Python has no Django; `make install`, then .venv/bin/python manage.py"
        )
    try:
        _ = settings.INSTALLED_APPS
    except ImproperlyConfigured as error:
        sys.exit(f"schedviz: {error}")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
