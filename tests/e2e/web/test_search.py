"""The search page: notes, findings and reviews by their words, kept up as things change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Finding, ReviewPair
from review.overview.search import search
from tests.builders import NOW, make_config, make_jobs, note_path, write_note
from tests.helpers.pages import text_of, twin
from tests.helpers.reviewed import WARN, ingest, open_corpus, review_pairs
from tests.hostile import HOSTILE, faults_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def base(root):
    """Two notes, one of them warned about."""
    write_note(root, "b.md", "# Cataloguing\n\nA shelf mark says where a book stands.\n")
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return root


def names(document) -> tuple[list[str], list[str], list[str]]:
    """Note names, findings' texts, and gates of reviews."""
    return (
        [item["note_path"].rpartition("/")[2] for item in document["notes"]],
        [item["text"] for item in document["findings"]],
        [item["gate_id"] for item in document["reviews"]],
    )


class TestSearch:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            pytest.param("shelf", (["b.md"], [], []), id="note"),
            pytest.param("catalog", (["b.md"], [], []), id="begun-word"),
            pytest.param('"shelf mark"', (["b.md"], [], []), id="phrase"),
            pytest.param(
                "claim source", ([], ["the claim has no source"], ["prose/x"]), id="review"
            ),
            pytest.param("nowhere", ([], [], []), id="nothing"),
        ],
    )
    def test_finds(self, web, base, query, found):
        assert names(twin(web, f"/search?q={query}")) == found

    def test_goes_on_on_the_next_page(self, web, base):
        for number in range(68):
            write_note(base, f"n{number}.md", f"# {number}\n\nA librarian.\n")

        first = twin(web, "/search?q=librarian&kind=note")
        second = web.get(first["next"]).json()

        found = {item["note_path"] for page in (first, second) for item in page["notes"]}
        assert first["counts"]["note"] == len(found) == 68
        assert (len(first["notes"]), second["next"]) == (50, None)
        assert "68 hits" in text_of(web.get("/search?q=librarian"))

    def test_leads_to_a_job_by_its_number_and_to_a_finding_by_its_fingerprint(self, web, base):
        finding, pair = Finding.objects.get(), ReviewPair.objects.get()

        by_number = twin(web, f"/search?q={pair.job_id}")["jumps"]
        by_fingerprint = twin(web, f"/search?q={finding.fingerprint[:8]}")["jumps"]

        assert {"kind": "job", "key": str(pair.job_id), "text": ""} in by_number
        assert [jump["key"] for jump in by_fingerprint] == [finding.fingerprint]
        for spelling in (f"job {pair.job_id}", f"Job %23{pair.job_id}", f"JOB-{pair.job_id}"):
            jumps = twin(web, f"/search?q={spelling}")["jumps"]
            assert jumps == [{"kind": "job", "key": str(pair.job_id), "text": ""}]
        jumps = twin(web, f"/search?q=pair {pair.pk}")["jumps"]
        assert jumps == [{"kind": "review", "key": str(pair.pk), "text": ""}]
        (jump,) = twin(web, "/search?q=prose/x")["jumps"]
        assert (jump["kind"], jump["key"]) == ("gate", "prose/x")
        printed = twin(web, f"/search?q=[{finding.fingerprint}]")["jumps"]
        assert printed == by_fingerprint
        assert (
            f'href="/findings/{finding.fingerprint}/"'
            in web.get(f"/search?q={finding.fingerprint}").content.decode()
        )

    def test_marks_the_words_in_their_place(self, web, base):
        body = web.get("/search?q=shelf").content.decode()

        assert "A <mark>shelf</mark> mark says" in body

    def test_keeps_to_a_kind(self, web, base):
        assert names(twin(web, "/search?q=claim&kind=finding")) == (
            [], ["the claim has no source"], [],
        )  # fmt: skip

    def test_follows_what_changes(self, web, base):
        twin(web, "/search?q=shelf")
        write_note(base, "b.md", "# Cataloguing\n\nNo more marks.\n")
        write_note(base, "c.md", "# Another shelf\n")
        (base / note_path("a.md")).unlink()

        assert names(twin(web, "/search?q=shelf"))[0] == ["c.md"]
        assert names(twin(web, "/search?q=retrieval"))[0] == []

    def test_finds_what_was_ingested_since(self, web, base):
        twin(web, "/search?q=shelf")
        later = WARN.replace("the claim has no source", "it mentions no librarian")
        review_pairs(base, ("b.md", "prose/x"), review=later, now=NOW + timedelta(hours=1))

        assert names(twin(web, "/search?q=librarian"))[1:] == (
            ["it mentions no librarian"], ["prose/x"],
        )  # fmt: skip

    def test_finds_a_review_that_came_after_those_of_later_pairs(self, web, root):
        (early,) = make_jobs(root, ("a.md", "prose/x"))
        write_note(root, "b.md")
        review_pairs(root, ("b.md", "prose/x"), review=WARN)
        twin(web, "/search?q=claim")

        ingest(root, early.review_job_id, review=WARN.replace("the claim", "a late librarian"))

        assert len(names(twin(web, "/search?q=librarian"))[2]) == 1

    def test_starts_again_when_its_file_is_gone_or_broken(self, web, base):
        twin(web, "/search?q=shelf")
        path = make_config(base).index_path.with_suffix(".words")
        path.write_bytes(b"broken")
        assert web.get("/search?q=shelf").status_code == 503

        assert names(twin(web, "/search?q=shelf"))[0] == ["b.md"]

    def test_asks_for_words_where_there_are_none(self, web, base):
        assert "Find notes, findings and reviews by their words." in text_of(web.get("/search"))
        assert "contains no word" in text_of(web.get("/search?q=***"))

    def test_says_when_nothing_is_found(self, web, base):
        assert "Nothing contains all these words." in text_of(web.get("/search?q=no+such"))

    @pytest.mark.parametrize(
        "query", ['"', "a AND", "body:", "NEAR(a b)", "^a", "-x", "'; --", "%00"]
    )
    def test_no_query_breaks_it(self, web, base, query):
        assert web.get("/search", {"q": query}).status_code in (200, 400)

    def test_says_when_not_all_is_read(self, base):
        found = search(open_corpus(base), ["shelf"], seconds=-1)

        assert not found.complete

    def test_a_reader_may_search_and_a_stranger_not(self, reader, stranger, client, base):
        assert reader.get("/search?q=shelf").status_code == 200
        assert stranger.get("/search?q=shelf").status_code == 403
        assert client.get("/search?q=shelf").status_code == 302

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_texts_and_words_are_inert(self, web, root, text):
        write_note(root, "b.md", f"# findme\n\n{text.replace(chr(0), '')}\n")
        review = WARN.replace("the claim has no source", f"findme {' '.join(text.split())}")
        review_pairs(root, ("a.md", "prose/x"), review=review)

        for query in ("findme", text.replace("\0", "")):
            response = web.get("/search", {"q": query})

            assert response.status_code == 200
            assert faults_of(response.content.decode(), whole_page=True) == []

    def test_no_more_queries_with_more_hits(self, web, base, django_assert_max_num_queries):
        for number in range(30):
            write_note(base, f"n{number}.md", f"# {number}\n\nA reader and a source.\n")
            review_pairs(base, (f"n{number}.md", "prose/x"), review=WARN)
        web.get("/search?q=source")

        with django_assert_max_num_queries(8):
            response = web.get("/search?q=source")

        assert len(response.content) < 200_000
