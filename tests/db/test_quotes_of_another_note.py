"""Ingest: a review whose quotes stand in another note of its job is no review of its own note."""

from __future__ import annotations

import pytest

from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest
from review.models import Finding, ReviewPair
from review.vocabulary import Grouping, NotAccepted
from tests.builders import NOW, make_config, make_jobs, make_output, make_root
from tests.helpers.reviewed import current

pytestmark = pytest.mark.django_db
A, B = "Every tide is told apart by its name.", "No gull returns to the same rock twice."
CHINESE = "每个潮汐都有自己的名字\uff0c没有例外。"
NOTES = {"a.md": f"# A\n\n{A}\n", "b.md": f"# B\n\n{B}\n\n{CHINESE}\n"}


def review(*quotes: str) -> str:
    findings = "".join(f"- WARN: no source\n  > {quote}\n" for quote in quotes)
    return f"### Findings\n{findings}\n## Result: WARN"


def ingest(root, *reviews):
    job = make_jobs(root, ("a.md", "prose/x"), ("b.md", "prose/x"), grouping=Grouping.GATE)[0]
    output = make_output(job.review_job_id, *reviews)
    request = IngestRequest(actor="agent:test", output=output)
    ingest_job(job.review_job_id, request=request, config=make_config(root), now=NOW)
    return list(ReviewPair.objects.order_by("ordinal").values_list("decision", "not_accepted"))


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path, notes=NOTES)


class TestReviewsUnderEachOthersSentinels:
    def test_are_unknown(self, root):
        assert ingest(root, review(B), review(A)) == [
            ("unknown", NotAccepted.QUOTES_OF_ANOTHER_NOTE),
            ("unknown", NotAccepted.QUOTES_OF_ANOTHER_NOTE),
        ]
        assert current() is None
        problem = ReviewPair.objects.get(ordinal=1).problem
        assert problem == (
            "no quote of the review stands in kb/notes/a.md; they stand in kb/notes/b.md"
        )

    @pytest.mark.parametrize(
        "finding",
        [
            pytest.param(f'- WARN: no source: "{B}"', id="in-marks"),
            pytest.param(f"- WARN: no source\n  ```\n  {B}\n  ```", id="in-a-fence"),
            pytest.param(f"| WARN | no source | {B} |", id="in-a-table"),
            pytest.param(f"- WARN: no source\n  > {CHINESE}", id="in-chinese"),
        ],
    )
    def test_are_known_by_any_quote(self, root, finding):
        decided = ingest(root, f"### Findings\n{finding}\n\n## Result: WARN", review(B))

        assert decided[0] == ("unknown", NotAccepted.QUOTES_OF_ANOTHER_NOTE)

    def test_a_quote_within_a_text_places_its_finding(self, root):
        ingest(root, f'### Findings\n- WARN: no source for "{A}"\n\n## Result: WARN', review(B))

        found = Finding.objects.get(pair__ordinal=1)
        assert (found.quote, found.note_line) == (A, 3)


class TestReviewsOfTheirOwnNote:
    @pytest.mark.parametrize(
        "quotes",
        [
            pytest.param((A,), id="own-quote"),
            pytest.param((A, B), id="a-comparison-of-both-notes"),
            pytest.param(("Words that stand in no note at all.",), id="a-quote-of-no-note"),
            pytest.param(("the same rock",), id="a-quote-too-short-to-tell"),
            pytest.param((), id="no-quote"),
        ],
    )
    def test_are_accepted(self, root, quotes):
        assert ingest(root, review(*quotes), review(B)) == [("warn", ""), ("warn", "")]

    def test_may_name_the_note_that_they_quote(self, root):
        compared = f'- WARN: b.md says otherwise: "{B}"\n\n## Result: WARN'

        assert ingest(root, compared, review(B)) == [("warn", ""), ("warn", "")]
