"""Errors of job files, and of files that an operator asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from review.errors import Conflict, InputRejected, ReviewError


class ForeignJobFolder(Conflict):
    """A job's folder is there already and belongs to another store."""


class ArtifactNotWritten(ReviewError):
    """The system refused to write a file: no space, no permission."""


class OutputNotReadable(InputRejected):
    """A bundle output is there, but is no ordinary file, is too large, or may not be read."""


@contextmanager
def refusing_to(what: str) -> Iterator[None]:
    """Turn a refusal of the system into ours: "cannot `what`: the reason"."""
    try:
        yield
    except OSError as error:
        raise ArtifactNotWritten(
            f"cannot {what}: {error.strerror or error}",
            hint="see to the space and permissions there, then run it again",
        ) from error
