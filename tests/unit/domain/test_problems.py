"""A fault of a file says where it is."""

from __future__ import annotations

from review.domain.problems import Problem
from review.vocabulary import ProblemCode


class TestProblem:
    def test_puts_a_known_line_before_the_message(self):
        problem = Problem("kb/notes/a.md", ProblemCode.INVALID_FRONTMATTER, "found a tab", False, 3)

        assert problem.message == "line 3: found a tab"

    def test_does_not_repeat_a_line_that_is_there(self):
        problem = Problem("a.md", ProblemCode.INVALID_GATE, "line 3: found a tab", True, 3)

        assert problem.message == "line 3: found a tab"

    def test_leaves_a_message_without_a_line_alone(self):
        assert Problem("a.md", ProblemCode.NOT_UTF8, "byte 3", skipped=True).message == "byte 3"
