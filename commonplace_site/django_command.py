"""Runs a command of Django's own, with the refusals and exit codes of ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress

from django.core.management import ManagementUtility
from django.db import DatabaseError

from commonplace_site.catalogue import PROGRAM
from review import store
from review.errors import ExitCode, StoreRefused
from review.upkeep.open_store import open_store

_NEEDS_STORE = frozenset({"createsuperuser", "changepassword", "runserver", "dbshell"})
# They take one of any version, and SQLite would leave an empty file where none is.
_LOOKS_AT_STORE = frozenset(
    {
        "clearsessions", "dumpdata", "flush", "inspectdb", "loaddata",
        "remove_stale_contenttypes", "shell", "showmigrations", "sqlflush",
    }
)  # fmt: skip


def run(name: str, arguments: Sequence[str]) -> int:
    """Run the Django command `name`; give its exit code.

    :raises ReviewError: the store cannot be used.
    """
    try:
        if name in _NEEDS_STORE:
            open_store(write=True)
        elif name in _LOOKS_AT_STORE:
            with suppress(store.StoreOlder, store.StoreNewer):
                open_store(write=False, make=False)
        elif name == "migrate":
            with suppress(store.StoreOlder):
                open_store(write=True)
        with store.checks_without_reviews() if name == "migrate" else nullcontext():
            ManagementUtility([PROGRAM, name, *arguments]).execute()
    except SystemExit as leaving:
        code = leaving.code or ExitCode.DONE
        return code if isinstance(code, int) else int(ExitCode.FAILED)
    except DatabaseError as error:
        refusal = store.refusal_of(error)
        if refusal is None and store.says_no_table(error):
            refusal = StoreRefused(
                f"the store lacks a table that {name} needs: {str(error).splitlines()[0]}",
                "store-lacks-table",
                hint=f"run: {store.MIGRATE}",
            )
        if refusal is None:
            raise
        raise refusal from error
    return int(ExitCode.DONE)
