"""`review-doctor/1`: what was checked, and what is wrong."""

from __future__ import annotations

from review.documents.base import Document


class CheckJson(Document, kw_only=True):
    """One check; `state` is `ok`, `warning`, `problem`, `repaired`, `repairable` or `skipped`."""

    name: str
    state: str
    message: str
    details: list[str]


class BackupJson(Document, kw_only=True):
    """A backup that was written and checked; `rows` are those of each table."""

    path: str
    byte_size: int
    rows: dict[str, int]


class DoctorJson(Document, kw_only=True):
    """The answer of `review_doctor`; `problems` counts the checks that found what remains."""

    schema: str = "review-doctor/1"
    checks: list[CheckJson]
    problems: int


class DoctorBackupJson(DoctorJson, kw_only=True):
    """The answer of `review_doctor --backup`."""

    backup: BackupJson
