"""Keeps the record of a run that mends notes, which has no rows: a file of its own below the reports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime

from review.job_files.errors import refusing_to
from review.private_files import FILE_MODE, make_private
from review.settings.config import REPORTS_FOLDER, Config


class FixRecord:
    """One JSON object a line, each written when it happens: whoever is killed leaves what was before.

    :param started: the moment the run began, of which the file has its name.
    """

    def __init__(self, config: Config, *, started: datetime) -> None:
        name = f"{started:%Y%m%dT%H%M%S.%f}Z-{os.getpid()}.jsonl"
        self.path = config.root / REPORTS_FOLDER / "fixes" / name

    def add(self, what: str, told: Mapping[str, object]) -> None:
        """Append a line that says `what`.

        :raises ArtifactNotWritten: the system refused.
        """
        line = json.dumps({"what": what, **told}, ensure_ascii=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with refusing_to(f"record what is mended in {self.path}"):
            make_private(self.path.parent)
            with os.fdopen(os.open(self.path, flags, FILE_MODE), "wb") as stream:
                stream.write(line.encode("utf-8", "replace"))
