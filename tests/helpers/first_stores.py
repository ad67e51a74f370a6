"""Stores for the commands of one test, copied from one that a command made: to migrate takes longer.

What a first command makes, and how, is tested where no store is laid: `tests/db/test_store.py`,
`tests/db/test_store_server.py` and whatever runs its commands on a root of its own.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

from tests.builders import make_root
from tests.helpers.forked import run_forked
from tests.helpers.servers import VARIABLE, change, new_database

_STORE = Path("kb", "reports", "review-store.sqlite")
_kept = ExitStack()
atexit.register(_kept.close)


def own_store(root: Path) -> dict[str, str]:
    """Lay a store for the processes of one test; gives what their environment needs besides.

    It is the file below `root`, or a database of the suite's server.
    """
    its_own_id = f"UPDATE review_store SET store_id = '{secrets.token_hex(16)}'"  # noqa: S608
    if os.environ.get(VARIABLE):
        url = _kept.enter_context(new_database(like=_made_on_server()))
        change(url, its_own_id)
        return {"COMMONPLACE_REVIEW_DB": url}
    store = root / _STORE
    store.parent.mkdir(mode=0o700, parents=True)
    shutil.copy(_made_file(), store)
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(its_own_id).rowcount == 1
    return {}


@cache
def _made_file() -> Path:
    root = _root()
    _make(root, {})
    return root / _STORE


@cache
def _made_on_server() -> str:
    url = _kept.enter_context(new_database())
    _make(_root(), {"COMMONPLACE_REVIEW_DB": url})
    return url


def _root() -> Path:
    folder = _kept.enter_context(tempfile.TemporaryDirectory(prefix="first-store-"))
    return make_root(Path(folder))


def _make(root: Path, env: dict[str, str]) -> None:
    done = run_forked("review_job_list", root=root, env=env)
    assert done.exit == 0, done.err
