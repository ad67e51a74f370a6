"""The place on a note's page that says what makes it stale: word by word, and for which gates."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from tests.builders import NOTE, NOW, gate_path, make_gate, note_path, write_gate, write_note
from tests.helpers.pages import messages_of, twin
from tests.helpers.reviewed import WARN, current, review_pairs

pytestmark = pytest.mark.django_db
OTHER = "gpt-5-1-codex"
A = f"/notes/{note_path('a.md')}"


def changed(client):
    """What the page shows of the changes."""
    return client.get(A).context["changed"]


def gates(texts):
    """For each accepted text the gates that are stale for it."""
    return [list(dict.fromkeys(row.gate_id for row in text["rows"])) for text in texts]


@pytest.fixture
def three(root):
    """Two gates accepted on the first text of a note, a third on the second; now it has a third."""
    for gate in ("prose/y", "prose/z"):
        write_gate(root, gate)
    review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/y"), review=WARN)
    write_note(root, "a.md", NOTE + "\nA second thought.\n")
    review_pairs(root, ("a.md", "prose/z"), now=NOW + timedelta(hours=1))
    write_note(root, "a.md", NOTE + "\nA third thought.\n")
    return root


class TestChanges:
    def test_each_accepted_text_names_the_gates_that_are_stale_for_it(self, web, three):
        texts = changed(web)["texts"]

        assert gates(texts) == [["prose/x", "prose/y"], ["prose/z"]]
        assert [text["diff"].added_words for text in texts] == [3, 1]
        assert [text["diff"].removed_words for text in texts] == [0, 1]

    def test_a_gate_stands_once_with_its_partitions(self, web, three):
        write_note(three, "a.md", NOTE)
        review_pairs(three, ("a.md", "prose/x"), model_partition=OTHER)
        write_note(three, "a.md", NOTE + "\nA third thought.\n")

        first = changed(web)["texts"][0]

        assert Counter(row.gate_id for row in first["rows"]) == {"prose/x": 2, "prose/y": 1}

    def test_the_document_tells_which_pairs_share_an_accepted_text(self, web, three):
        pairs = {p["gate_id"]: p["accepted_note_sha256"] for p in twin(web, A)["pairs"]}

        assert pairs["prose/x"] == pairs["prose/y"] != pairs["prose/z"]

    def test_the_words_are_on_the_page(self, web, three):
        page = web.get(A).content.decode()

        assert "<del>second</del><ins>third</ins>" in page

    def test_counts_each_pair_under_the_first_reason(self, web, three):
        write_gate(three, "prose/y", make_gate("prose/y", body="Asks more.\n"))
        write_gate(three, "prose/new")

        found = changed(web)

        assert dict(found["reasons"]) == {"gate-changed": 1, "note-changed": 2}

    def test_gates_that_changed_are_named_too(self, web, three):
        write_gate(three, "prose/y", make_gate("prose/y", body="Asks more.\n"))

        found = changed(web)

        assert [gate.gate_id for gate in found["gates"]] == ["prose/y"]
        assert gates(found["texts"])[0] == ["prose/x", "prose/y"]

    def test_a_fresh_note_says_that_nothing_changed(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))

        page = web.get(A)

        assert page.context["changed"]["texts"] == []
        assert (
            "Nothing changed: the note and its gates are still the texts" in page.content.decode()
        )

    def test_a_note_that_nobody_accepted_has_nothing_to_compare(self, web, root):
        assert 'id="changed"' not in web.get(A).content.decode()

    def test_a_gate_that_is_gone_asks_for_nothing(self, web, three):
        (three / gate_path("prose/z")).unlink()

        assert gates(changed(web)["texts"]) == [["prose/x", "prose/y"]]

    def test_a_note_that_is_gone_changed_into_nothing(self, web, three):
        (three / note_path("a.md")).unlink()

        assert changed(web)["texts"] == []

    def test_what_has_no_room_is_a_link(self, web, three, monkeypatch):
        monkeypatch.setattr("review.web.pages.notes._ROOM", 10)

        page = web.get(A)

        assert [text["html"] for text in page.context["changed"]["texts"]] == ["", ""]
        assert (
            f'<a href="/diff/{note_path("a.md")}?gate=prose%2Fx&amp;model=' in page.content.decode()
        )

    def test_compares_only_as_many_texts_as_a_page_shows(self, web, three, monkeypatch):
        monkeypatch.setattr("review.web.pages.notes.MAX_COMPARED", 1)

        assert [text["diff"] is None for text in changed(web)["texts"]] == [False, True]

    def test_no_more_queries_with_more_accepted_texts(self, web, three, count_queries):
        write_note(three, "a.md", NOTE + "\nA second thought.\n")
        web.get(A)
        few = count_queries(lambda: web.get(A))
        write_note(three, "a.md", NOTE + "\nA third thought.\n")

        assert count_queries(lambda: web.get(A)) == few


class TestAck:
    def post(self, web, picks):
        form = {"note": note_path("a.md"), "pick": picks, "next": f"{A}#changed"}
        return web.post("/ack/", form | {"reason": "a thought more"}, follow=True)

    def test_takes_the_change_for_all_its_pairs(self, web, three):
        answer = self.post(web, changed(web)["texts"][0]["picks"])

        assert gates(changed(web)["texts"]) == [["prose/z"]]
        assert current("a.md", "prose/y").event.reason == "a thought more"
        assert answer.redirect_chain == [(f"{A}#changed", 303)]
        assert messages_of(answer) == ["Acked: prose/x, prose/y."]

    def test_leaves_out_pairs_whose_gate_changed_too(self, web, three):
        write_gate(three, "prose/y", make_gate("prose/y", body="Asks more.\n"))

        assert [pick.split()[-1] for pick in changed(web)["texts"][0]["picks"]] == ["prose/x"]

    def test_who_may_only_see_is_offered_none(self, reader, three):
        assert "Ack this change" not in reader.get(A).content.decode()


def test_words_of_others_are_inert(web, root):
    hostile = "<script>alert(1)</script>"
    write_note(root, "a.md", f"# A\n\nBefore {hostile}\n")
    review_pairs(root, ("a.md", "prose/x"))
    write_note(root, "a.md", f"# A\n\nAfter {hostile}\n")

    page = web.get(A).content.decode()

    assert "<script>alert" not in page
    assert "<del>Before</del>" in page
