"""Keeps a store of today's schema on PostgreSQL: `python -m tests.postgres tests.stores.make_dump`.

It copies a kept SQLite store (`tests/stores/make.py`) to the server as a team does that moves, and
keeps a plain dump of it as `tests/stores/<latest migration>.sql.gz`, statements alone, so that no
client is needed to restore it; made before a migration is added, like the other. With `--back-to MIGRATION` the database is migrated back before the dump.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from review.store.opening import known_migrations
from tests.helpers.commands import Result, run_process
from tests.helpers.servers import new_database
from tests.stores.make import FOLDER, unpack

# Words of the client alone, which a server does not read.
_OF_THE_CLIENT = re.compile(r"^\\(un)?restrict \w+\n", re.MULTILINE)


def main() -> None:
    """Make one kept dump."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--back-to", metavar="MIGRATION", help="the schema to keep; default: today's"
    )
    wanted = parser.parse_args().back_to
    with tempfile.TemporaryDirectory() as folder, new_database() as url:
        root, here = Path(folder), {"COMMONPLACE_REVIEW_DB": url}
        today = max(known_migrations())
        unpack(today, root)
        _must(run_process("review_store_copy", "--to", url, root=root))
        if wanted:
            _must(run_process("migrate", "review", wanted, root=root, env=here))
        _keep(dumped(url), FOLDER / f"{wanted or today}.sql.gz")


def restore(name: str, url: str) -> None:
    """Put a kept dump into an empty database."""
    text = gzip.decompress((FOLDER / f"{name}.sql.gz").read_bytes())
    with psycopg.connect(url) as connection:
        connection.execute(text)


def kept_dumps() -> list[str]:
    """The names of the schemas of which a dump is kept, in their order."""
    return sorted(file.name.removesuffix(".sql.gz") for file in FOLDER.glob("*.sql.gz"))


def dumped(url: str) -> str:
    """The tables of the reviews and the migrations of a database, as SQL that any server reads."""
    tables = ("review_*", "acceptance_*", "current_gate_acceptances", "django_migrations")
    done = subprocess.run(
        ["pg_dump", "--inserts", "--no-owner", "--no-acl", *(f"--table={name}" for name in tables), url],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    return _OF_THE_CLIENT.sub("", done.stdout)


def _must(done: Result) -> None:
    if done.exit:
        sys.exit(done.err)


def _keep(text: str, target: Path) -> None:
    target.write_bytes(gzip.compress(text.encode(), mtime=0))
    sys.stderr.write(f"{target.name}: {target.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
