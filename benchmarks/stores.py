"""The measured store: a file below the base, or a database of a server started for the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    import psycopg

# A server as it comes, with more memory: what is committed is on the disk, as it is with SQLite.
_SERVER_OPTIONS = (
    "-c listen_addresses='' -c shared_buffers=512MB -c work_mem=32MB -c max_connections=20 "
    "-c max_wal_size=8GB -c checkpoint_timeout=30min"
)


@dataclass(frozen=True)
class Place:
    """A base and its store.

    :param database: a `postgres://` URL; "" is the file below the base.
    """

    root: Path
    database: str = ""

    @property
    def kind(self) -> str:
        """For titles."""
        return "PostgreSQL" if self.database else "SQLite"

    @property
    def store(self) -> str:
        """The path or URL that `floors.py` opens."""
        return self.database or str(self.root / "kb/reports/review-store.sqlite")

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of a command that works on it."""
        return {
            "COMMONPLACE_ROOT": str(self.root),
            "COMMONPLACE_REVIEW_DB": self.store,
            "PYTHONDONTWRITEBYTECODE": "",
            "NO_COLOR": "1",
        }


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str

    def new_database(self, name: str) -> str:
        """The URL of an empty database of this name."""
        with _connected(self.url, "postgres") as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        parts = urlsplit(self.url)
        return parts._replace(path=f"/{name}").geturl()

    def megabytes(self, url: str) -> float:
        """Return the size of the database on disk, in MB."""
        with _connected(url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return float(row[0]) / 1e6 if row else 0.0


@contextmanager
def server() -> Iterator[Server | None]:
    """A PostgreSQL server of our own; None where this machine has no binaries for one."""
    from tests.postgres import cluster, find_binaries

    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    with cluster(binaries, options=_SERVER_OPTIONS) as url:
        yield Server(url)


def connection_words(url: str, database: str = "") -> dict[str, Any]:
    """Return the connection arguments of psycopg from a `postgres://` URL."""
    parts = urlsplit(url)
    words: dict[str, Any] = dict(parse_qsl(parts.query))
    words["dbname"] = database or parts.path.removeprefix("/")
    words["user"] = parts.username or ""
    if parts.hostname:
        words["host"] = parts.hostname
    if parts.port:
        words["port"] = str(parts.port)
    if parts.password:
        words["password"] = parts.password
    return words


@contextmanager
def _connected(url: str, database: str = "") -> Iterator[psycopg.Connection[Any]]:
    import psycopg

    connection = psycopg.connect(autocommit=True, **connection_words(url, database))
    try:
        yield connection
    finally:
        connection.close()
