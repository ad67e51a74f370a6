"""The page of a review: its text, its decision, where it comes from, and the texts it judged."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import DecisionEvent, ReviewJob, ReviewPair, ReviewText
from review.vocabulary import AcceptanceKind
from tests.builders import NOW, PARTITION, gate_path, note_path, write_gate, write_note
from tests.helpers.pages import messages_of, text_of, twin
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, current, review_pairs
from tests.hostile import HOSTILE, faults_of

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def pair(root) -> int:
    (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return pair_id


class TestReview:
    def test_shows_what_it_says_and_how_it_was_read(self, web, pair):
        shown = text_of(web.get(f"/reviews/{pair}/"))

        assert "the claim has no source" in shown
        assert "Decision read warn, from its result line" in shown
        assert PARTITION in shown

    def test_shows_what_the_reviewer_opened(self, web, root):
        said = f"### Summary\nIt holds.\nopened: kb/notes/b.md\n\n{WARN}"
        (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=said)

        assert "opened: kb/notes/b.md" in text_of(web.get(f"/reviews/{pair_id}/"))

    def test_is_the_document_of_the_command(self, web, pair):
        document = twin(web, f"/reviews/{pair}/")

        assert document["schema"] == "render-review/1"
        assert document["reviews"][0]["review_pair_id"] == pair
        assert document["reviews"][0]["decision"] == "warn"

    def test_one_that_is_none_is_not_found(self, web, db, root):
        response = web.get("/reviews/999/")

        assert response.status_code == 404
        assert "no review pair 999" in text_of(response)

    def test_shows_the_note_it_judged_with_its_finding_in_place(self, web, pair):
        body = web.get(f"/reviews/{pair}/?show=note").content.decode()

        note_at, quote_at = body.index('class="finding-note warn"'), body.index("A reader finds")
        assert note_at < quote_at

    def test_shows_texts_as_they_are_written(self, web, pair):
        body = web.get(f"/reviews/{pair}/?show=note&as=lines").content.decode()

        assert 'id="text-L1"># Retrieval basics</div>' in body

    def test_shows_the_gate_it_asked(self, web, pair):
        assert "A finding is a line that fails prose/x." in text_of(
            web.get(f"/reviews/{pair}/?show=gate")
        )

    def test_an_unknown_filter_is_named_with_the_known_ones(self, web, pair):
        response = web.get(f"/reviews/{pair}/?showing=note")

        assert response.status_code == 400
        assert "it has: after, as, format, from, lens, partition, show, why" in text_of(response)


class TestProvenance:
    def test_stands_beside_what_telemetry_says(self, web, pair):
        ReviewJob.objects.update(
            runner="claude-code",
            runner_model=PARTITION,
            telemetry={"model": PARTITION},
            self_reported_model="gpt-5-1-codex",
        )

        shown = text_of(web.get(f"/reviews/{pair}/"))

        assert f"Model {PARTITION} {PARTITION} ✓ same partition" in shown
        assert "gpt-5-1-codex ✕ another partition" in shown
        assert "a claim, not provenance" in shown

    def test_telemetry_that_contradicts_is_said(self, web, pair):
        ReviewJob.objects.update(runner_model=PARTITION, telemetry={"model": "gpt-5-1-codex"})

        shown = text_of(web.get(f"/reviews/{pair}/"))

        assert f"Model {PARTITION} gpt-5-1-codex ✕ another partition" in shown


class TestWhatBecameOfIt:
    def test_a_later_review_supersedes_it(self, web, root, pair):
        (later,) = review_pairs(root, ("a.md", "prose/x"), now=LATER)

        shown = text_of(web.get(f"/reviews/{pair}/"))

        assert f"There is a later review of the same pair: review {later}" in shown

    def test_a_changed_note_leads_to_the_change(self, web, root, pair):
        write_note(root, "a.md", "# Other words\n")

        body = web.get(f"/reviews/{pair}/").content.decode()

        assert "The note changed since the review." in body
        assert f"/diff/{note_path('a.md')}?gate=prose%2Fx&amp;model={PARTITION}" in body

    def test_a_note_that_is_gone_keeps_its_text(self, web, root, pair):
        (root / note_path("a.md")).unlink()

        assert "The note is gone." in text_of(web.get(f"/reviews/{pair}/"))
        assert "A reader finds a note by its title" in text_of(
            web.get(f"/reviews/{pair}/?show=note")
        )

    def test_a_gate_that_is_gone_keeps_its_text(self, web, root, pair):
        (root / gate_path("prose/x")).unlink()

        assert "The gate is gone." in text_of(web.get(f"/reviews/{pair}/"))
        assert "fails prose/x" in text_of(web.get(f"/reviews/{pair}/?show=gate"))


class TestRawTexts:
    ODD = "\ufeff# A\r\n\r\nno last line end \u2028 <script>alert(1)</script>"

    @pytest.fixture
    def odd(self, root) -> int:
        write_note(root, "odd.md", self.ODD)
        return review_pairs(root, ("odd.md", "prose/x"))[0]

    def test_are_the_bytes_that_were_judged(self, web, root, odd):
        (root / note_path("odd.md")).unlink()

        response = web.get(f"/reviews/{odd}/note.txt")

        assert response.content == self.ODD.encode()

    def test_are_plain_text_and_nothing_else(self, web, odd):
        for address in (
            f"/reviews/{odd}/note.txt",
            f"/reviews/{odd}/gate.txt",
            f"/reviews/{odd}/review.txt",
            f"/texts/{ReviewPair.objects.get(pk=odd).note_snapshot_id}",
        ):
            response = web.get(address)

            assert response["Content-Type"] == "text/plain; charset=utf-8"
            assert response["X-Content-Type-Options"] == "nosniff"

    def test_a_snapshot_is_reached_by_its_key(self, web, odd):
        key = ReviewPair.objects.get(pk=odd).note_snapshot_id

        assert web.get(f"/texts/{key}").content == self.ODD.encode()

    @pytest.mark.parametrize(
        "address", ["/texts/999", "/reviews/999/note.txt", "/reviews/999/review.txt"]
    )
    def test_what_is_not_kept_is_not_found(self, web, root, address):
        assert web.get(address).status_code == 404

    def test_a_text_is_for_those_who_are_logged_in(self, client, odd):
        response = client.get(f"/reviews/{odd}/note.txt")

        assert response.status_code == 302
        assert b"script" not in response.content


class TestDeciding:
    @pytest.fixture
    def undecided(self, root) -> int:
        return review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)[0]

    def test_offers_it_where_nobody_could_read_one(self, web, undecided):
        body = web.get(f"/reviews/{undecided}/").content.decode()

        assert '<details class="act" open>' in body
        assert "Set decision" in body

    def test_is_recorded_with_the_persons_name_and_accepted(self, web, undecided):
        response = web.post(
            f"/reviews/{undecided}/decision",
            {"decision": "pass", "reason": "it finds nothing"},
            follow=True,
        )

        event = DecisionEvent.objects.get()
        assert response.redirect_chain == [(f"/reviews/{undecided}/#decision", 303)]
        assert (event.decision, event.actor, event.reason) == (
            "pass", "human:ana", "it finds nothing",
        )  # fmt: skip
        assert current().decision == "pass"
        assert messages_of(response) == ["Decided: prose/x is pass for kb/notes/a.md."]

    def test_says_when_it_does_not_count(self, web, root, undecided):
        write_note(root, "a.md", "# Later text\n")
        review_pairs(root, ("a.md", "prose/x"), now=LATER)

        response = web.post(
            f"/reviews/{undecided}/decision", {"decision": "fail", "reason": "x"}, follow=True
        )

        assert "It does not move the acceptance" in messages_of(response)[0]

    @pytest.mark.parametrize(
        ("form", "said"),
        [
            pytest.param({"decision": "unknown", "reason": "x"}, "pass, warn or fail", id="word"),
            pytest.param({"decision": "pass", "reason": "  "}, "reason is missing", id="blank"),
            pytest.param({"reason": "x"}, "pass, warn or fail", id="none"),
        ],
    )
    def test_refuses(self, web, undecided, form, said):
        response = web.post(f"/reviews/{undecided}/decision", form)

        assert response.status_code == 400
        assert said in text_of(response)
        assert not DecisionEvent.objects.exists()

    def test_a_reader_sees_no_form_and_may_not_send_one(self, reader, undecided):
        assert "Set decision" not in reader.get(f"/reviews/{undecided}/").content.decode()

        response = reader.post(
            f"/reviews/{undecided}/decision", {"decision": "pass", "reason": "x"}
        )

        assert response.status_code == 403
        assert not DecisionEvent.objects.exists()

    def test_is_no_get(self, web, undecided):
        assert web.get(f"/reviews/{undecided}/decision").status_code == 405


class TestOverriding:
    def form(self, web, pair, **changes):
        context = web.get(f"/reviews/{pair}/").context
        return {
            "note": note_path("a.md"),
            "gate": "prose/x",
            "model": PARTITION,
            "note_sha256": context["note_now"].sha256,
            "gate_sha256": context["gate_now"].sha256,
            "reason": "a quotation",
        } | changes

    def test_accepts_the_text_of_the_page_in_the_persons_name(self, web, root):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=FAIL)

        response = web.post("/override/", self.form(web, pair), follow=True)

        row = current()
        assert (row.decision, row.event.kind) == ("pass", AcceptanceKind.OVERRIDE)
        assert (row.event.actor, row.event.reason) == ("human:ana", "a quotation")
        assert "Overridden: prose/x passes" in messages_of(response)[0]

    def test_refuses_a_note_that_was_edited_behind_the_page(self, web, root, pair):
        form = self.form(web, pair)
        write_note(root, "a.md", "# Edited\n")

        response = web.post("/override/", form)

        assert response.status_code == 409
        assert "edited since you read it" in text_of(response)

    def test_refuses_a_gate_that_was_edited_behind_the_page(self, web, root, pair):
        form = self.form(web, pair)
        write_gate(root, "prose/x", "# X\n\nAnother question.\n")

        assert web.post("/override/", form).status_code == 409

    def test_needs_a_reason(self, web, pair):
        response = web.post("/override/", self.form(web, pair, reason=" "))

        assert response.status_code == 400
        assert current().event.kind == AcceptanceKind.FULL_REVIEW

    def test_a_reader_may_not(self, web, reader, pair):
        assert reader.post("/override/", self.form(web, pair)).status_code == 403


class TestHostileReviews:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_are_inert_in_every_view(self, web, root, text):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=WARN)
        text = text.replace("\0", "\ufffd")
        ReviewText.objects.filter(pk=pair).update(text=f"{text}\n\n## Result: WARN")
        ReviewPair.objects.filter(pk=pair).update(problem=text)
        ReviewJob.objects.update(
            runner=text[:100],
            runner_model=text[:100],
            self_reported_model=text[:100],
            telemetry={"model": text},
            claimed_by=text[:100],
        )

        for view in ("", "?as=lines", "?show=note"):
            response = web.get(f"/reviews/{pair}/{view}")

            assert faults_of(response.content.decode(), whole_page=True) == []

    def test_json_is_no_page(self, web, pair):
        ReviewText.objects.filter(pk=pair).update(text="<script>alert(1)</script>")

        response = web.get(f"/reviews/{pair}/?format=json")

        assert response["Content-Type"] == "application/json"
        assert response["X-Content-Type-Options"] == "nosniff"


class TestCost:
    def test_no_more_queries_with_more_findings_and_pairs(
        self, web, root, django_assert_max_num_queries
    ):
        many = "### Findings\n" + "".join(
            f"- WARN: point {number}\n  > A reader finds a note\n" for number in range(60)
        )
        write_note(root, "b.md", "# B\n\nA reader finds a note.\n")
        review_pairs(root, ("b.md", "prose/x"), review=WARN)
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=f"{many}\n## Result: WARN")

        with django_assert_max_num_queries(15):
            response = web.get(f"/reviews/{pair}/?show=note")

        assert response.content.count(b'class="finding-note') == 60
