"""The notes that a note links to, for a worker who cannot see the knowledge base itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from review.corpus.reading import UnreadableFile, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from review.corpus.linking import Linker

_SUFFIX = ".md"
_MAX_FILES = 50
_MAX_BYTES = 2_000_000


def read_linked_files(
    notes: Iterable[tuple[str, str]], *, linker: Linker, root: str
) -> dict[str, bytes]:
    """Path to bytes of the Markdown files that the notes link to, as far as they fit the bounds.

    :param notes: path and text of each note; a note that links to another of them gets it too.
    """
    found: dict[str, bytes] = {}
    left = _MAX_BYTES
    for path in _targets(notes, linker):
        if len(found) == _MAX_FILES:
            break
        try:
            data = read_file(root, path, max_bytes=left).data
        except UnreadableFile:
            continue  # gone, no file, or too large for what is left
        found[path] = data
        left -= len(data)
    return found


def _targets(notes: Iterable[tuple[str, str]], linker: Linker) -> Iterable[str]:
    rows = (row for path, text in notes for row in linker.table(path, text))
    return dict.fromkeys(
        row.resolved for row in rows if row.resolved is not None and row.resolved.endswith(_SUFFIX)
    )
