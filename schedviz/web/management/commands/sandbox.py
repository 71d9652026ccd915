"""`manage.py sandbox`: the API server in a box, in this process, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from schedviz.sandbox.server import CannotServe, Server, serve


class Command(BaseCommand):
    help = "Serve sandbox clusters over HTTP (started by `up`)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--folder", default="", help="where sandboxes are kept")

    def handle(self, *args: Any, **options: Any) -> None:
        data = Path(options["folder"]) if options["folder"] else Path(settings.DATA_DIR) / "sandbox"
        try:
            asyncio.run(self._serve(data, options["host"], options["port"]))
        except CannotServe as error:
            raise CommandError(str(error)) from None
        except (OSError, OverflowError, sqlite3.Error) as error:
            raise CommandError(f"the sandbox can't keep its data in {data}: {error}") from None

    async def _serve(self, data: Path, host: str, port: int) -> None:
        stop = asyncio.Event()
        for one in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(one, stop.set)
        await serve(data, host=host, port=port, stop=stop, started=self._started)

    def _started(self, server: Server) -> None:
        self.stdout.write(f"sandbox: listening on {server.url}")
        self.stdout.flush()
