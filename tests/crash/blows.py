"""What happens to a server in the middle of a command: `python -m tests.crash.blows ACTION URL`.

`terminate` ends every connection to the database that the URL names; `stop` stops the server.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests import postgres

_OTHERS = "FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


def server_of(url: str) -> str:
    """The URL of the database that every server has."""
    return urlsplit(url)._replace(path="/postgres").geturl()


def terminate(url: str) -> None:
    """End every other connection to the database."""
    with psycopg.connect(server_of(url), autocommit=True) as server:
        server.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}", [urlsplit(url).path[1:]])


def connections(url: str) -> int:
    """How many connections to the database there are: the server notices a dead client in time."""
    with psycopg.connect(server_of(url), autocommit=True) as server:
        found = server.execute(f"SELECT count(*) {_OTHERS}", [urlsplit(url).path[1:]])
        return int((found.fetchone() or (0,))[0])


def control(url: str, action: str) -> None:
    """Stop the server, or start it again."""
    binaries = postgres.find_binaries()
    assert binaries is not None
    postgres.control(binaries, Path(urlsplit(url).query.partition("host=")[2]), action)


def main(action: str, url: str) -> None:
    """Do it."""
    if action == "terminate":
        terminate(url)
    else:
        control(url, action)


if __name__ == "__main__":
    main(*sys.argv[1:])
