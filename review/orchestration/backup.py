"""Makes a backup of the store: one file that can be put in its place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from review import store
from review.conf import Config
from review.errors import UsageRefused
from review.store.backup_file import BackedUp, back_up_file
from review.store.refusals import StoreNewer, StoreNotOpened, StoreOlder


class BackupIsTheServers(UsageRefused):
    """The store is on a database server, which has its own way of making backups."""

    code = "backup-is-the-servers"


@dataclass(frozen=True)
class BackupRequest:
    """Where the backup goes; `overwrite` replaces a file that is there."""

    target: Path
    overwrite: bool = False


def back_up(request: BackupRequest, *, config: Config) -> BackedUp:
    """Back the store up as it is at one moment; nobody has to stop writing.

    A store of an older or newer version is backed up as it is: that is what one does before
    `migrate`.

    :raises BackupIsTheServers: the store is on a server.
    :raises StoreNotOpened: there is no store yet.
    :raises StoreRefused: the file is no store of ours, or cannot be read.
    :raises BackupExists, BackupFolderMissing, BackupFailed: see there.
    """
    if not config.uses_sqlite:
        raise BackupIsTheServers(
            "the store is on a PostgreSQL server: the server makes its backups",
            hint='pg_dump --format=custom --file FILE "$COMMONPLACE_REVIEW_DB"; or copy it into'
            " another store: commonplace review_store_copy --to PATH",
        )
    path = Path(config.database)
    if not path.exists() or not path.stat().st_size:
        raise StoreNotOpened(f"there is no store at {path} to back up")
    with suppress(StoreOlder, StoreNewer):
        store.ensure_store(write=False)
    return back_up_file(path, request.target, overwrite=request.overwrite)
