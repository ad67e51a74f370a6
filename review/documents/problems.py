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
    """Return the warning that the folders hold no note, which counts of zero do not show."""
    return (
        f"no note was found below {', '.join(places)}: that nothing is stale says nothing;"
        " the folders are those of kb/review.toml, or that were named"
    )
