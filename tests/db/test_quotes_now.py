"""A quote in the note as it is now: on a line, gone by an edit, or neither."""

from __future__ import annotations

import pytest

from review.findings.states import QuoteFinder
from tests.builders import NOTE, make_root, note_path, write_note
from tests.helpers.reviewed import WARN, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
QUOTE = "A reader finds a note by its title"
LINE = next(n for n, line in enumerate(NOTE.split("\n"), 1) if QUOTE in line)


@pytest.mark.parametrize(
    ("quote", "text", "expected"),
    [
        pytest.param(QUOTE, f"New.\n{NOTE}", (LINE + 1, False), id="moved"),
        pytest.param(QUOTE, NOTE.replace(QUOTE, "Someone"), (None, True), id="deleted"),
        pytest.param("no such words", f"New.\n{NOTE}", (None, False), id="was-never-there"),
        pytest.param(QUOTE, b"\xff", (None, False), id="unreadable-note"),
        pytest.param("", NOTE, (None, False), id="no-quote"),
    ],
)
def test_is_followed_from_the_text_that_was_reviewed(tmp_path, quote, text, expected):
    root = make_root(tmp_path)
    (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
    write_note(root, "a.md", text)

    found = QuoteFinder(open_corpus(root)).follow(
        note_path("a.md"), quote, pair_id=pair_id, line=LINE
    )

    assert found == expected
