"""Runs a command whose connection to the server is cut: `python -m tests.helpers.losing N COMMAND …`.

Before its Nth statement the server ends the session, as a restart of the server or of a proxy does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection

from commonplace_site import console
from commonplace_site.loading import CLI_SETTINGS, load_apps


class Cut:
    """Counts statements, and ends the session before one of them."""

    def __init__(self, fatal: int) -> None:
        self._fatal = fatal
        self._seen = 0

    def __call__(
        self, execute: Any, sql: str, params: object, many: bool, context: dict[str, Any]
    ) -> Any:
        """See Django's execute wrappers."""
        self._seen += 1
        if self._seen == self._fatal and connection.connection is not None:
            pid = connection.connection.info.backend_pid
            with psycopg.connect(os.environ["COMMONPLACE_REVIEW_DB"], autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        return execute(sql, params, many, context)


def main(argv: Sequence[str]) -> int:
    """Run the command; its exit code."""
    fatal, *arguments = argv
    load_apps(CLI_SETTINGS)
    with connection.execute_wrapper(Cut(int(fatal))):
        return console.run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
