"""Opens the configured store, and refuses to make a new one where a store was lost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from review import settings, store
from review.errors import StoreRefused
from review.store.sqlite.file import companions_of, has_content

_JOB_FOLDER = re.compile(r"review-job-[0-9]+", re.ASCII)


class StoreLost(StoreRefused):
    """There is no store where one is configured, and the folders of its jobs are there."""


def open_store(*, write: bool, make: bool = True) -> None:
    """Make sure that the configured store can be used; a first one is made.

    :param make: whether a missing one is made; else it is refused.
    :raises StoreLost: it is missing, and folders of jobs say that there was one.
    :raises StoreRefused: as for `store.ensure_store`.
    """
    store.ensure_store(write=write, make=make, before_making=refuse_lost)


def refuse_lost() -> None:
    """Refuse to make a new store where folders of jobs name the store that made them.

    :raises StoreLost: there are some, and there is still no store.
    """
    # Imported only where a store is made: other commands start without it.
    from review.job_files import ArtifactStore

    config = settings.current()
    for place in _places_of_jobs(config):
        files = ArtifactStore(replace(config, artifacts=place))
        names = [name for name in files.folders() if _JOB_FOLDER.fullmatch(name)]
        owner = next(filter(None, map(files.owner, names)), "")
        # Another process may have made the store, and the folders of its first jobs, meanwhile.
        if owner and not has_content(Path(config.database)):
            folders = f"{len(names)} folders" if len(names) > 1 else "a folder"
            raise StoreLost(
                f"there is no store at {config.database}, but {folders} of jobs in {place},"
                f" made by the store {owner}: no new one was made",
                hint=_hint(config, place),
            )


def _places_of_jobs(config: settings.Config) -> list[Path]:
    """The configured folder of job files, and the one that goes with a store in its usual place."""
    usual = config.root / settings.REPORTS_FOLDER
    places = [config.artifacts]
    if Path(config.database).parent == usual and config.artifacts != usual / settings.JOBS_FOLDER:
        places.append(usual / settings.JOBS_FOLDER)
    return places


def _hint(config: settings.Config, place: Path) -> str:
    left = companions_of(Path(config.database))
    first = f"move {' and '.join(file.name for file in left)} away, then " if left else ""
    return (
        "see that COMMONPLACE_REVIEW_DB names the store (a path or a postgres:// URL);"
        f" or {first}put a copy of the store in its place (docs/commands.md, Backup and restore);"
        f" or, to start anew without it, move the folders in {place} away; or, for another store,"
        " set both COMMONPLACE_REVIEW_DB and COMMONPLACE_REVIEW_ARTIFACTS to places of its own"
    )
