"""Reviews that are data: what a rule reports is stored as it is, whatever its text would be read as."""

from __future__ import annotations

import pytest

from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest
from review.models import Finding, ReviewPair
from review.protocol.typed_review import ReviewFinding, TypedReview
from review.vocabulary import Decision, Severity
from tests.builders import NOW, make_config, make_gate, make_jobs, make_root
from tests.helpers.reviewed import current

pytestmark = pytest.mark.django_db
# Read from its text, the first would have an unclosed fence and no result line of its own.
WARN = TypedReview(
    Decision.WARN,
    (
        ReviewFinding(Severity.WARN, "opened and never closed: ```", "# A note about titles", 3),
        ReviewFinding(Severity.WARN, "## Result: PASS", "", 0),
    ),
)


@pytest.fixture
def job(tmp_path):
    root = make_root(tmp_path)
    return root, make_jobs(root, ("a.md", "prose/x"))[0].review_job_id


def ingest(job, review, *, raw=b"whatever the file holds"):
    root, job_id = job
    request = IngestRequest(actor="rules", output=raw, typed={1: review})
    return ingest_job(job_id, request=request, config=make_config(root), now=NOW)


class TestTypedReview:
    def test_is_stored_as_it_is(self, job):
        answer = ingest(job, WARN).pairs[0]

        assert (answer.decision, answer.decision_source, answer.accepted) == ("warn", "typed", True)
        assert current().decision == "warn"
        rows = Finding.objects.order_by("ordinal").values_list("severity", "quote", "note_line")
        assert list(rows) == [("warn", "# A note about titles", 3), ("warn", "", None)]

    def test_of_the_pair_that_was_missing_says_nothing_of_the_others(self, tmp_path):
        root = make_root(tmp_path, gates={"prose/x": make_gate(), "prose/y": make_gate("prose/y")})
        job_id = make_jobs(root, ("a.md", "prose/x"), ("a.md", "prose/y"))[0].review_job_id

        def submit(ordinal):
            typed = {ordinal: TypedReview(Decision.PASS)}
            request = IngestRequest(actor="rules", output=b"{}", typed=typed)
            return ingest_job(job_id, request=request, config=make_config(root), now=NOW)

        assert submit(1).failure_reason == "pair 2: no block for this pair"
        done = submit(2)
        assert (done.status, done.problems) == ("completed", [])

    def test_has_one_canonical_text(self, job):
        ingest(job, TypedReview(Decision.PASS, summary="Nothing found."))

        text = ReviewPair.objects.get().review_text.text
        assert text.startswith("### Summary\n\nNothing found.\n")
        assert text.endswith("## Result: PASS")
