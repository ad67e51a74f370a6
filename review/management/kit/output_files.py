"""Checks of output paths: files that this program did not write are not overwritten."""

from __future__ import annotations

from pathlib import Path

from review.errors import InputRejected
from review.settings.config import REPORTS_FOLDER, Config

_HEAD = 4096


class OutputRefused(InputRejected):
    """The place named for output holds something that is not an earlier output of the command."""


def refuse_to_overwrite(path: Path, *, config: Config, starts_with: bytes) -> None:
    """Refuse a place where writing would lose something.

    :param starts_with: how every output of this command begins; such a file may be replaced.
    :raises OutputRefused: it lies in `kb/` outside the reports, or an existing file is not ours.
    """
    refuse_knowledge_base(path, config=config)
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputRefused(f"{path}: {error.strerror or error}", hint="name a file") from error
    if head and not head.startswith(starts_with):
        raise OutputRefused(
            f"{path} is there already and was not written by this command",
            hint="name another place, or remove the file first",
        )


def refuse_knowledge_base(path: Path, *, config: Config) -> None:
    """Refuse a place among the notes, gates and settings, where a person's files are.

    :raises OutputRefused: it lies in `kb/` outside the reports.
    """
    if config.holds_sources(path):
        raise OutputRefused(
            f"{path} lies in the knowledge base",
            hint=f"write below {REPORTS_FOLDER}/, or outside kb/",
        )
