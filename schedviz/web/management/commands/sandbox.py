"""`manage.py sandbox`: the API server in a box, in this process, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from aiohttp import web
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from schedviz.sandbox.server import Server


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
        except OSError as error:
            where = f"{options['host']}:{options['port']}"
            raise CommandError(
                f"the sandbox can't listen on {where} or keep its data in {data}: {error}"
            ) from None

    async def _serve(self, data: Path, host: str, port: int) -> None:
        server = Server(data)
        server.url = f"http://{host}:{port}"
        runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        self.stdout.write(f"sandbox: listening on {server.url}")
        self.stdout.flush()
        stop = asyncio.Event()
        for one in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(one, stop.set)
        await stop.wait()
        await runner.cleanup()
