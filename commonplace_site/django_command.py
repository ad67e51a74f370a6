"""Runs a command of Django's own, with the refusals and exit codes of ours."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management import ManagementUtility
from django.db import DatabaseError

from commonplace_site.catalogue import PROGRAM
from review import store
from review.errors import ExitCode
from review.orchestration.store_opening import open_store, refuse_lost

_NEEDS_STORE = frozenset({"createsuperuser", "changepassword", "runserver", "dbshell"})


def run(name: str, arguments: Sequence[str]) -> int:
    """Run the Django command `name`; give its exit code.

    :raises ReviewError: the store cannot be used.
    """
    try:
        if name == "migrate":
            store.prepare_migration(before_making=refuse_lost)
        elif name in _NEEDS_STORE:
            open_store(write=True)
        ManagementUtility([PROGRAM, name, *arguments]).execute()
    except SystemExit as leaving:
        return _exit_code(leaving.code)
    except DatabaseError as error:
        refusal = store.refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error
    return int(ExitCode.DONE)


def _exit_code(code: object) -> int:
    if code is None:
        return int(ExitCode.DONE)
    return code if isinstance(code, int) else int(ExitCode.FAILED)
