"""Writes an edit that a person requested, only over the text that it was made from."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from review.errors import Conflict, ReviewError
from review.knowledge_base import NoteText
from review.knowledge_base.reader import UnreadableFile, read_file, resolve_inside
from review.private_files import replace_file


class NoteEditedMeanwhile(Conflict):
    """The note is not what the edit was made from."""


class NoteNotWritten(ReviewError):
    """The system refused to write the note."""


def replace_note(root: str, note: NoteText, data: bytes) -> None:
    """Put `data` in the place of the note's text, whole or not at all; its permissions stay.

    :param note: as it was when the edit was made.
    :raises NoteEditedMeanwhile: it is gone, or holds other bytes by now.
    :raises NoteNotWritten: the system refused.
    """
    real_root = os.path.realpath(root)
    try:
        # Through a link, so that the link stays one.
        place = Path(real_root, resolve_inside(real_root, note.path, note.disk_path))
        now = read_file(real_root, note.path, note.disk_path, max_bytes=len(note.data)).data
        mode = stat.S_IMODE(place.stat().st_mode)
    except (UnreadableFile, OSError) as error:
        raise NoteEditedMeanwhile(f"{note.path} is gone, or was changed meanwhile") from error
    if now != note.data:
        raise NoteEditedMeanwhile(f"{note.path} was changed while it was being mended")
    try:
        replace_file(place, [data], mode=mode)
        place.chmod(mode)  # whatever the umask took away
    except OSError as error:
        raise NoteNotWritten(f"cannot write {note.path}: {error.strerror or error}") from error
