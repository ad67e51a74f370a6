"""The one way a note is ever written: an edit that a person asked to apply, over the text it was made from."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from review.errors import Conflict, ReviewError
from review.knowledge_base.reader import UnreadableFile, read_file, resolve_inside
from review.private_files import FILE_MODE

if TYPE_CHECKING:
    from review.knowledge_base import NoteText


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
        now = read_file(real_root, str(place.relative_to(real_root)), max_bytes=len(note.data)).data
        mode = stat.S_IMODE(place.stat().st_mode)
    except (UnreadableFile, OSError) as error:
        raise NoteEditedMeanwhile(f"{note.path} is gone, or was changed meanwhile") from error
    if now != note.data:
        raise NoteEditedMeanwhile(f"{note.path} was changed while it was being mended")
    draft = place.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _write(draft, data, mode)
        draft.replace(place)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise NoteNotWritten(f"cannot write {note.path}: {error.strerror or error}") from error


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
