"""Prints problems of files, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from review.documents.problems import ProblemJson
    from review.domain.problems import Problem


def problem_lines(problems: Iterable[Problem | ProblemJson]) -> Iterator[str]:
    """A line for each problem; says whether the file was left out for it."""
    for problem in problems:
        left_out = " (left out)" if problem.skipped else ""
        yield f"{problem.path}: {problem.code}: {problem.message}{left_out}"
