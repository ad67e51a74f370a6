"""Serves the pages and the admin on this machine."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.core.servers.basehttp import run
from django.core.wsgi import get_wsgi_application

from review.management.base import ReviewCommand
from review.management.options import positive_int, word

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000


class Command(ReviewCommand):
    """Adds the admin's tables to the store where they are missing, then answers requests."""

    help = "Serve the pages and the admin on this machine, until Ctrl-C."
    examples = ("commonplace serve", "commonplace serve --port 8080")

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", type=word, default=DEFAULT_HOST, help="address to listen on")
        parser.add_argument(
            "--port", type=positive_int, default=DEFAULT_PORT, help="port to listen on"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until interrupted."""
        host, port = options["host"], options["port"]
        call_command("migrate", verbosity=0)
        if not get_user_model().objects.exists():
            self.notice("nobody can log in yet; run: commonplace createsuperuser")
        self.notice(f"http://{host}:{port}/ (Ctrl-C stops)")
        run(host, port, get_wsgi_application(), ipv6=":" in host, threading=True)
