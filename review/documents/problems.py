"""Problems of files as documents show them."""

from __future__ import annotations

from collections.abc import Iterable

from review.documents.base import Document, from_row
from review.domain.problems import Problem


class ProblemJson(Document, kw_only=True):
    """A problem of one file; `skipped` if the file was left out for it."""

    path: str
    code: str
    message: str
    skipped: bool


def problem_json(problem: Problem) -> ProblemJson:
    """A problem as commands print it."""
    return from_row(ProblemJson, problem, code=problem.code.value)


def no_note_found(places: Iterable[str]) -> str:
    """Return why there is nothing to review, and where notes belong."""
    return (
        f"no note was found below {', '.join(places)}: put Markdown files there, or name other"
        " folders in kb/review.toml ([notes] roots)"
    )


def no_gate_found(folder: str) -> str:
    """Return why there is nothing to review by, and what adds gates."""
    return f"no gate was found below {folder}: commonplace review_init adds the starter gates"
