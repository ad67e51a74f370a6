"""Stores whose last writes are in a log beside them, as a process that was killed leaves them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_WRITE = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute(sys.argv[2])
os._exit(0)
"""
# A transaction whose pages went into the file before it was committed: its journal is hot.
_SPILL = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = DELETE")
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN")
db.execute(sys.argv[2])
os._exit(0)
"""


def write_and_die(store: Path, statement: str) -> None:
    """Leave what `statement` writes in the log of `store`, committed."""
    subprocess.run([sys.executable, "-c", _WRITE, str(store), statement], check=True)
    assert Path(f"{store}-wal").stat().st_size


def half_write_and_die(store: Path, statement: str) -> None:
    """Leave what `statement` writes half in `store`, with a journal that takes it back."""
    subprocess.run([sys.executable, "-c", _SPILL, str(store), statement], check=True)
    assert Path(f"{store}-journal").stat().st_size
