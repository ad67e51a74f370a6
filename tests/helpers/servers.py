"""Databases of their own on the test server."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg

VARIABLE = "COMMONPLACE_TEST_DATABASE_URL"


def url_of(database: str) -> str:
    """The test server's URL with another database."""
    return urlunsplit(urlsplit(os.environ[VARIABLE])._replace(path=f"/{database}"))


@contextmanager
def new_database(like: str = "") -> Iterator[str]:
    """The URL of a database that is gone afterwards: an empty one, or one as the URL `like` names."""
    name = f"own_{secrets.token_hex(6)}"
    template = f" TEMPLATE {urlsplit(like).path[1:]}" if like else ""
    _tell_server(f"CREATE DATABASE {name}{template}")
    try:
        yield url_of(name)
    finally:
        _tell_server(f"DROP DATABASE {name} WITH (FORCE)")


def change(database: str, statement: str) -> None:
    """Do something to a database, and commit."""
    with psycopg.connect(database) as connection:
        connection.execute(statement.encode())


def as_role(database: str, role: str, password: str = "") -> str:
    """The same database for another user."""
    parts = urlsplit(database)
    account = f"{quote(role)}:{quote(password, safe='')}" if password else quote(role)
    return urlunsplit(parts._replace(netloc=f"{account}@"))


def _tell_server(statement: str) -> None:
    with psycopg.connect(url_of("postgres"), autocommit=True) as server:
        server.execute(statement.encode())
