"""The page of a change: the accepted text against today's, findings in the margin, and the ack."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance.ack import AckRequest, ack_gate_review
from review.vocabulary import AcceptanceKind
from tests.builders import (
    NOTE,
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.pages import messages_of, text_of, twin, values_of
from tests.helpers.reviewed import WARN, current, open_corpus, review_pairs
from tests.hostile import HOSTILE, faults_of

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
DIFF = f"/diff/{note_path('a.md')}?gate=prose/x&model={PARTITION}"
EDITED = NOTE.replace("by its links", "by what links to it")


@pytest.fixture
def changed(root):
    """A note that was warned about and edited since."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    write_note(root, "a.md", EDITED)
    return root


class TestDiff:
    def test_shows_the_words_that_changed(self, web, changed):
        body = web.get(DIFF).content.decode()

        assert "by <del>its</del><ins>what</ins> links<ins> to it</ins>." in body

    def test_has_the_findings_at_the_lines_they_quote(self, web, changed):
        body = web.get(DIFF).content.decode()

        row = body.index("A reader finds")
        assert row < body.index('class="finding-note warn"') < body.index("</section>", row)

    def test_shows_a_quoted_line_far_from_any_change(self, web, root):
        text = NOTE + "".join(f"\nline {number}\n" for number in range(40))
        write_note(root, "a.md", text)
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        write_note(root, "a.md", text + "\nThe end.\n")

        body = web.get(DIFF).content.decode()

        assert "A reader finds a note by its title" in body
        assert "line 3\n" not in body
        assert "lines the same" in body

    def test_gives_all_lines_on_demand(self, web, changed):
        write_note(changed, "a.md", NOTE + "\n" * 20 + "far\n")

        assert text_of(web.get(f"{DIFF}&lines=all")).count("lines the same") == 0

    def test_is_the_document_of_the_selector(self, web, changed):
        document = twin(web, DIFF)

        assert document["schema"] == "review-target-selector/1"
        assert [target["reason"] for target in document["targets"]] == ["note-changed"]
        assert document["diffs"][0]["diff"].startswith("--- a/kb/notes/a.md\n")

    def test_shows_a_changed_gate_too(self, web, changed):
        write_gate(changed, "prose/x", make_gate("prose/x", body="Quote nothing.\n"))

        response = web.get(DIFF)

        assert "<ins>Quote nothing.</ins>" in response.content.decode()
        assert "the changed gate too" in text_of(response)

    def test_a_fresh_pair_has_nothing_to_show(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))

        shown = text_of(web.get(DIFF))

        assert "Nothing changed" in shown
        assert "Ack exactly this text" not in shown

    def test_an_acked_pair_can_be_held_against_the_text_that_was_judged(self, web, changed):
        request = AckRequest(
            note=note_path("a.md"), gates=("prose/x",), model_partition=PARTITION, actor="human:ana"
        )
        ack_gate_review(request, corpus=open_corpus(changed), now=LATER)
        write_note(changed, "a.md", EDITED + "\nMore.\n")

        accepted = web.get(DIFF).content.decode()
        reviewed = web.get(f"{DIFF}&against=reviewed").content.decode()

        assert "<del>its</del>" not in accepted
        assert "<del>its</del>" in reviewed

    def test_a_note_that_is_gone_shows_what_was_accepted(self, web, changed):
        (changed / note_path("a.md")).unlink()

        shown = text_of(web.get(DIFF))

        assert "The note is gone" in shown
        assert "A reader finds a note by its title" in shown
        assert "Ack exactly" not in shown

    def test_a_gate_that_is_gone_is_said(self, web, changed):
        (changed / gate_path("prose/x")).unlink()

        assert "The gate is gone" in text_of(web.get(DIFF))

    @pytest.mark.parametrize(
        "query",
        [
            pytest.param(f"gate=prose/y&model={PARTITION}", id="another-gate"),
            pytest.param("gate=prose/x&model=nobody", id="another-model"),
            pytest.param(f"gate=../../x&model={PARTITION}", id="no-gate"),
        ],
    )
    def test_what_was_never_accepted_is_not_found(self, web, changed, query):
        assert web.get(f"/diff/{note_path('a.md')}?{query}").status_code == 404

    def test_without_a_gate_the_pairs_are_there_to_choose_from(self, web, changed):
        body = web.get(f"/diff/{note_path('a.md')}").content.decode()

        assert f"?gate=prose%2Fx&amp;model={PARTITION}" in body

    def test_a_note_called_diff_collides_with_nothing(self, web, root):
        write_note(root, "kb/notes/diff.md")
        review_pairs(root, ("kb/notes/diff.md", "prose/x"))

        assert web.get("/notes/kb/notes/diff.md").status_code == 200
        assert web.get(
            f"/diff/kb/notes/diff.md?gate=prose/x&model={PARTITION}"
        ).status_code == 200  # fmt: skip


class TestAcking:
    def form(self, web):
        (pick,) = values_of(web.get(DIFF), "pick")
        return {"note": note_path("a.md"), "pick": pick, "reason": "wording"}

    def test_takes_exactly_this_text(self, web, changed):
        response = web.post("/ack/", self.form(web), follow=True)

        row = current()
        assert (row.event.kind, row.event.reason) == (AcceptanceKind.ACK, "wording")
        assert row.note_snapshot.text == EDITED
        assert row.decision == "warn"
        assert messages_of(response) == ["Acked: prose/x."]

    def test_takes_the_changed_gate_that_was_shown(self, web, changed):
        write_gate(changed, "prose/x", make_gate("prose/x", body="Shown.\n"))

        web.post("/ack/", self.form(web))

        assert "Shown." in current().gate_snapshot.text

    @pytest.mark.parametrize("edited", ["note", "gate"])
    def test_takes_nothing_else(self, web, changed, edited):
        form = self.form(web)
        if edited == "note":
            write_note(changed, "a.md", "# Behind the page\n")
        else:
            write_gate(changed, "prose/x", make_gate("prose/x", body="Behind the page.\n"))

        response = web.post("/ack/", form, follow=True)

        assert f"the {edited} was edited since" in messages_of(response)[0]
        assert current().event.kind == AcceptanceKind.FULL_REVIEW

    def test_a_reader_sees_the_change_and_no_button(self, reader, changed):
        body = reader.get(DIFF).content.decode()

        assert "<del>its</del>" in body
        assert "Ack exactly" not in body


class TestHostileChanges:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_are_inert(self, web, root, text):
        text = text.replace("\0", "")
        write_note(root, "a.md", f"# A\n\nA reader finds a note by its title {text}\n\n{text}\n")
        write_gate(root, "prose/x", make_gate("prose/x", body=f"{text}\n"))
        review = WARN.replace("the claim has no source", " ".join(text.split()))
        review_pairs(root, ("a.md", "prose/x"), review=review)
        write_note(root, "a.md", f"# A\n\n{text} and {text}\n")
        write_gate(root, "prose/x", make_gate("prose/x", body=f"{text} {text}\n"))

        response = web.get(DIFF)

        assert faults_of(response.content.decode(), whole_page=True) == []


class TestCost:
    def test_no_more_queries_with_more_findings(self, web, root, django_assert_max_num_queries):
        many = "### Findings\n" + "".join(
            f"- WARN: point {number}\n  > A reader finds a note\n" for number in range(50)
        )
        review_pairs(root, ("a.md", "prose/x"), review=f"{many}\n## Result: WARN")
        write_note(root, "a.md", EDITED)

        with django_assert_max_num_queries(11):
            web.get(DIFF)

    def test_a_page_stays_below_half_a_megabyte(self, web, root):
        before = "".join(f"line {number} of <b>words</b> & more\n" for number in range(12_000))
        write_note(root, "a.md", before)
        review_pairs(root, ("a.md", "prose/x"))
        write_note(root, "a.md", before.replace("words", "other words"))

        response = web.get(DIFF)

        assert len(response.content) < 500_000
        assert "Cut here" in text_of(response)
