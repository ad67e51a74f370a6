"""Patterns of what is left out: any of them ends soon, and the two ways to fit one agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.corpus import excludes
from review.corpus.excludes import excluder

PARTS = st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "[b-a]", ".", "[!"])
patterns = st.lists(PARTS, min_size=1, max_size=8).map("".join).filter(lambda p: p.strip("/"))
paths = st.lists(st.text("ab.[]-!", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)


class TestSteps:
    @given(pattern=patterns, path=paths)
    def test_fit_what_the_regular_expression_fits(self, pattern, path):
        tokens = excludes._tokens(pattern)
        expression = "".join(map(excludes._translate_token, tokens))
        plain = re.fullmatch(f"(?:{expression})(?:/.*)?", path, re.DOTALL)

        assert excludes._Stepper(tokens).fits(path) == (plain is not None)

    @pytest.mark.parametrize(
        ("pattern", "path", "fits"),
        [
            pytest.param("*a*b*c*d*", "kb/notes/1a2b3c4d5.md", True, id="name-at-any-depth"),
            pytest.param("*a*b*c*d*", "kb/notes/1a2b3d4c5.txt", False, id="other-order"),
            pytest.param("kb/*a*/*b*/**/*.md", "kb/xa/b/c/d.md", True, id="across-folders"),
            pytest.param("kb/*a*/*b*/**/*.md", "kb/x/b/c/d.md", False, id="not-across-a-name"),
            pytest.param("*a*/*b*/*c*", "a/b/c/below.md", True, id="takes-what-is-below"),
        ],
    )
    def test_are_taken_where_many_parts_stretch(self, pattern, path, fits):
        assert excluder((pattern,))(path) is fits

    @pytest.mark.parametrize("beside", ["*.draft.md", "*a*b*c*d*e*"])
    def test_and_expressions_stand_side_by_side(self, beside):
        excluded = excluder(("*x*x*x*x*", beside))

        assert excluded("kb/1x2x3x4x5.md")
        assert excluded("kb/a.draft.md" if "draft" in beside else "kb/abcde.md")
        assert not excluded("kb/a.md")


class TestHostilePatterns:
    @pytest.mark.parametrize(
        "pattern",
        [
            "*a" * 3_000,
            "**/" * 300 + "x",
            "*" * 3_000 + "z",
            "?*" * 1_000,
            "[!" * 3_000,
            "**a" * 200,
            "*a" * 30 + "b",
            "**/a*b/" * 40,
            "**/*a" * 20,
            "a" * 50_000,
        ],
        ids=lambda pattern: pattern[:8],
    )
    def test_end(self, pattern):
        """With a regular expression alone the second of these ends after the sun does."""
        excluded = excluder((pattern,))

        assert not excluded("kb/notes/" + "c" * 200)
        excluded("kb/notes/" + "a" * 200)
        excluded("kb/notes/" + "a/" * 1_000 + "a")
