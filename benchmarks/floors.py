"""The least that a command can cost: the same data moved by plain Python and SQLite.

python floors.py start [connect]            a bare Django command under the lean settings; with its
                                            store's driver, on a server, connected
python floors.py warm ROOT STORE            stat all notes, load an index, fetch integer pairs
python floors.py cold ROOT STORE            and read, hash and split the frontmatter of all
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def start(*words: str) -> None:
    """Set Django up with the app and run a command that does nothing, or connects to its store."""
    sys.path.insert(0, str(PROJECT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.cli"
    import django

    django.setup()
    from django.core.management.base import BaseCommand

    class Nothing(BaseCommand):
        requires_system_checks: list[str] = []

        def handle(self, *args: object, **options: object) -> None:
            """Do nothing."""
            if words:
                from django.db import connection

                connection.ensure_connection()

    Nothing().run_from_argv(["manage.py", "nothing"])


def scan(folder: str) -> dict[str, tuple[int, int, int, int]]:
    """Stat signatures of all files below a folder."""
    found = {}
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    pending.append(entry.path)
                else:
                    info = entry.stat()
                    found[entry.path] = (
                        info.st_size,
                        info.st_mtime_ns,
                        info.st_ctime_ns,
                        info.st_ino,
                    )
    return found


def fetch(store: str) -> int:
    """The integer snapshot pairs of one partition, as a set.

    :param store: a path, or a `postgres://` URL.
    """
    statement = (
        "SELECT note_id, note_snapshot_id, gate_snapshot_id FROM review_current_acceptances"
        " WHERE model_partition_id = 1"
    )
    if "://" not in store:
        return len({row[1:] for row in sqlite3.connect(store).execute(statement)})
    sys.path.insert(0, str(PROJECT))
    import psycopg

    from benchmarks.stores import connection_words

    with psycopg.connect(**connection_words(store)) as connection:
        return len({row[1:] for row in connection.execute(statement)})


def warm(root: str, store: str) -> None:
    """Do the minimum work of a warm selector."""
    import json

    scan(f"{root}/kb/notes")
    index = Path(f"{root}/floor-index.json")
    if index.exists():
        json.loads(index.read_bytes())
    fetch(store)


def cold(root: str, store: str) -> None:
    """Do the minimum work of a selector without an index; leaves the index for `warm`."""
    import json

    import yaml

    index = {}
    for path, signature in scan(f"{root}/kb/notes").items():
        data = Path(path).read_bytes()
        head = data.partition(b"\n---\n")[0].removeprefix(b"---\n")
        yaml.load(head, Loader=yaml.CBaseLoader)  # noqa: S506
        index[path] = (signature, hashlib.sha256(data).hexdigest())
    Path(f"{root}/floor-index.json").write_text(json.dumps(index))
    fetch(store)


if __name__ == "__main__":
    if sys.argv[1] == "start":
        start(*sys.argv[2:])
    elif sys.argv[1] == "warm":
        warm(*sys.argv[2:4])
    else:
        cold(*sys.argv[2:4])
