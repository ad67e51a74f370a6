"""Opens the configured store, and refuses to make a new one where a store was lost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from review import settings, store
from review.errors import StoreRefused

_JOB_FOLDER = re.compile(r"review-job-[0-9]+", re.ASCII)


def open_store(*, write: bool, make: bool = True) -> None:
    """Open the configured store as `ensure_store` does, but make none in place of a lost one."""
    store.ensure_store(write=write, make=make, before_making=refuse_lost)


def refuse_lost() -> None:
    """Refuse to make a new store where folders of jobs name the store that made them."""
    # Imported only where a store is made: other commands start without it.
    from review.job_files import ArtifactStore

    config = settings.current()
    database, usual = Path(config.database), config.root / settings.REPORTS_FOLDER
    places = [config.artifacts]
    if database.parent == usual and config.artifacts != usual / settings.JOBS_FOLDER:
        places.append(usual / settings.JOBS_FOLDER)
    for place in places:
        files = ArtifactStore(replace(config, artifacts=place))
        names = [name for name in files.folders() if _JOB_FOLDER.fullmatch(name)]
        owner = next(filter(None, map(files.owner, names)), "")
        # Another process may have made the store, and the folders of its first jobs, meanwhile.
        if not owner or store.has_content(database):
            continue
        folders = f"{len(names)} folders" if len(names) > 1 else "a folder"
        left = " and ".join(file.name for file in store.companions_of(database))
        raise StoreRefused(
            f"there is no store at {database}, but {folders} of jobs in {place}, made by the store"
            f" {owner}: no new one was made",
            "store-lost",
            hint="see that COMMONPLACE_REVIEW_DB names the store (a path or a postgres:// URL); or"
            f" {f'move {left} away, then ' if left else ''}put a copy of the store in its place"
            " (docs/commands.md, Backup and restore); or, to start anew without it, move the folders"
            f" in {place} away; or, for another store, set both COMMONPLACE_REVIEW_DB and"
            " COMMONPLACE_REVIEW_ARTIFACTS to places of its own",
        )
