"""Problems of files as documents show them."""

from __future__ import annotations

from review.contracts.selection import ProblemJson
from review.domain.problems import Problem


def problem_json(problem: Problem) -> ProblemJson:
    """A problem as commands print it."""
    return ProblemJson(
        path=problem.path,
        code=problem.code.value,
        message=problem.message,
        skipped=problem.skipped,
    )
