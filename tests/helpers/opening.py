"""Opens a store from a process of its own, as a command does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.commands import REPOSITORY, process_environment

# A process of its own for each look at a file: a connection remembers how it was opened.
LOOK = """
import os, sys
from commonplace_site.loading import CLI_SETTINGS, load_apps
load_apps(CLI_SETTINGS)
from django.db import DatabaseError, connection, transaction
from review import store
from review.errors import ReviewError
from review.models import ReviewStore
write = sys.argv[1] == "write"
if "as-nobody" in sys.argv:
    assert connection.vendor  # loads the driver, which nobody may not be able to
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for word in sys.argv:
    if word.startswith("pages="):
        from django.db.backends.signals import connection_created
        def limit(connection, pages=int(word[6:]), **_others):
            connection.cursor().execute(f"PRAGMA max_page_count = {pages}")
        connection_created.connect(limit, weak=False)
try:
    store.ensure_store(write=write)
    with transaction.atomic():
        if write:
            ReviewStore.objects.move_acceptances()
        row = ReviewStore.objects.get()
    print(row.store_id, row.acceptance_revision)
except ReviewError as refusal:
    print(refusal.code, refusal.message, refusal.hint, sep="|")
except DatabaseError as error:
    known = store.refusal_of(error)
    print(known and known.code, known and known.message, sep="|")
"""


def start(root: Path, *how: str, database: str = "") -> subprocess.Popen[str]:
    """Start a process that opens the store of `root`, else `database`, and says what it found.

    :param how: `read` or `write`, `as-nobody` to give up root's rights first, and `pages=N` for a
        database that is full with so many pages.
    """
    environment = process_environment(root) | {"PYTHONPATH": str(REPOSITORY)}
    if database:
        environment["COMMONPLACE_REVIEW_DB"] = database
    return subprocess.Popen(
        [sys.executable, "-c", LOOK, *how],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=root, env=environment,
    )  # fmt: skip


def look(root: Path, *how: str, database: str = "") -> str:
    """What a process that opens the store says: its id and revision, or the refusal."""
    return start(root, *(how or ("read",)), database=database).communicate(timeout=60)[0].strip()
