"""What can go wrong with job files."""

from __future__ import annotations

from typing import ClassVar

from review.errors import Conflict, ExitCode, InputRejected, ReviewError


class ForeignJobFolder(Conflict):
    """A job's folder is there already and belongs to another store."""


class ArtifactNotWritten(ReviewError):
    """The system refused to write a job file: no space, no permission."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class OutputNotReadable(InputRejected):
    """A bundle output is there, but is no ordinary file, is too large, or may not be read."""
