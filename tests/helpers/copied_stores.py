"""Places for stores that are copied, and what stands in them."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connections

from review import models
from review.store_copy.copy import temporary_alias
from tests.helpers.commands import Result, run
from tests.helpers.filled_store import fill
from tests.helpers.servers import VARIABLE, new_database

ON_SERVER = bool(os.environ.get(VARIABLE))
Place = str | Path


@contextmanager
def nowhere_yet(folder: Path) -> Iterator[str]:
    """Where nothing is yet: a file, or a database of the server that the suite runs on."""
    if not ON_SERVER:
        yield str(folder / "target.sqlite")
        return
    with new_database() as url:
        yield url


@contextmanager
def cloned(place: str, folder: Path) -> Iterator[str]:
    """A store as the one at `place`, which nobody has open."""
    if not ON_SERVER:
        yield str(shutil.copy(place, folder / "target.sqlite"))
        return
    with new_database(like=place) as url:
        yield url


def copy(source: Place, target: Place, *options: str) -> Result:
    """Run the command."""
    return run("review_store_copy", "--from", source, "--to", target, *options)


def rows(place: Place) -> dict[str, list[dict[str, Any]]]:
    """Every row of a store, as values that two databases write alike."""
    with temporary_alias("looked_at", str(place), named="the test"):
        return {
            model._meta.db_table: [
                {
                    name: bytes(value) if isinstance(value, memoryview) else value
                    for name, value in row.items()
                }
                for row in model._base_manager.using("looked_at").order_by("pk").values()
            ]
            for model in apps.get_app_config("review").get_models()
        }


def change(place: Place, statement: str) -> None:
    """Do something to a store behind the program's back."""
    with (
        temporary_alias("changed", str(place), named="the test"),
        connections["changed"].cursor() as cursor,
    ):
        cursor.execute(statement)


def grow(place: Place, seed: int) -> None:
    """Let three more jobs come about."""
    with temporary_alias("grown", str(place), named="the test"):
        fill("grown", seed=seed, jobs=3)


def telemetry(place: Place) -> list[Any]:
    """That of each job, as the program reads it."""
    with temporary_alias("told", str(place), named="the test"):
        jobs = models.ReviewJob.objects.using("told").order_by("pk")
        return list(jobs.values_list("telemetry", flat=True))


def moments(path: Place) -> list[str]:
    """Moments as they are written in an SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT captured_at FROM review_file_snapshots ORDER BY id")
        return [moment for (moment,) in found]
