"""Dispositions are appended, name the note's text of the moment, and find carried findings too."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
from review.domain.paths import fingerprint, sha256_hex
from review.findings.states import find_finding
from review.models import Disposition, Finding, FindingState
from review.protocol.fix_answers import FixAnswer
from review.queue.triage import dispose_each
from review.vocabulary import DispositionState
from tests.builders import NOTE, NOW, gate_path, make_root, note_path, write_note
from tests.helpers.refusals import refuses
from tests.helpers.reviewed import WARN, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def root(tmp_path):
    return make_root(tmp_path)


@pytest.fixture
def finding(root) -> Finding:
    """The one finding of a reviewed note."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return Finding.objects.get()


def dispose(root, mark: str, state=DispositionState.FIXED, now=LATER, **overrides):
    said = {"actor": "human:ana", "reason": "mended"} | overrides
    answer = FixAnswer(mark, state, said["reason"])
    corpus = open_corpus(root)
    (done,) = dispose_each([answer], actor=said["actor"], corpus=corpus, now=now)
    return done


class TestDispose:
    @pytest.mark.parametrize("state", list(DispositionState))
    def test_records_who_decided_what_about_which_text(self, root, finding, state):
        result = dispose(root, finding.fingerprint, state)

        row = Disposition.objects.get()
        assert (row.fingerprint, row.state) == (finding.fingerprint, state)
        assert (row.actor, row.reason, row.at) == ("human:ana", "mended", LATER)
        assert row.note_sha256 == sha256_hex(NOTE.encode())
        assert (result.note_path, result.gate_id) == (note_path("a.md"), "prose/x")
        assert result.text == "the claim has no source"

    def test_takes_the_text_that_is_on_disk_now(self, root, finding):
        write_note(root, "a.md", "# Other\n\nText.\n")

        result = dispose(root, finding.fingerprint, DispositionState.DEFERRED)

        assert result.note_sha256 == sha256_hex(b"# Other\n\nText.\n")

    def test_appends_and_says_what_counted_before(self, root, finding):
        first = dispose(root, finding.fingerprint, DispositionState.REJECTED)

        second = dispose(root, finding.fingerprint, DispositionState.OPEN)

        assert (first.was, second.was) == (None, "rejected")
        assert Disposition.objects.count() == 2

    @pytest.mark.parametrize(
        "content", [pytest.param(None, id="gone"), pytest.param(b"\xff", id="unreadable")]
    )
    def test_of_a_note_without_text_has_no_digest(self, root, finding, content):
        path = root / note_path("a.md")
        path.unlink()
        if content is not None:
            path.write_bytes(content)

        assert dispose(root, finding.fingerprint).note_sha256 == ""

    def test_an_unknown_fingerprint_names_near_ones(self, root, finding):
        wrong = finding.fingerprint[:-1] + ("0" if finding.fingerprint[-1] != "0" else "1")

        with refuses("unknown-finding") as refused:
            dispose(root, wrong)

        assert finding.fingerprint in refused.value.hint
        assert not Disposition.objects.exists()


class TestOfACarriedReview:
    def test_is_known_by_its_fingerprint_at_the_new_path(self, root, finding):
        (root / note_path("a.md")).rename(root / note_path("b.md"))
        carry_over_acceptances(
            CarryRequest(note_path("a.md"), note_path("b.md"), "human:ana"),
            corpus=open_corpus(root),
            now=LATER,
        )
        mark = fingerprint(
            note_path=note_path("b.md"),
            gate_path=gate_path("prose/x"),
            quote=finding.quote,
            text=finding.text,
        )

        assert find_finding(mark).note_path == note_path("b.md")
        review_pairs(root, ("b.md", "prose/x"), now=LATER)
        assert find_finding(mark).note_path == note_path("b.md"), "the review counts no more"

        result = dispose(root, mark)

        assert result.note_path == note_path("b.md")
        assert result.note_sha256 == sha256_hex(NOTE.encode())
        assert Disposition.objects.get().fingerprint == mark

        result = dispose(root, finding.fingerprint, DispositionState.REJECTED)

        assert (result.fingerprint, result.was) == (mark, "fixed"), "the old one is followed"
        assert result.note_path == note_path("b.md")

    def test_is_decided_at_the_old_path_while_that_is_there(self, root, finding):
        write_note(root, "b.md", NOTE)
        request = CarryRequest(note_path("a.md"), note_path("b.md"), "human:ana")
        carry_over_acceptances(request, corpus=open_corpus(root), now=LATER)

        assert dispose(root, finding.fingerprint).note_path == note_path("a.md")

    def test_of_which_the_decision_is_disposed_of_is_followed_too(self, root):
        review_pairs(root, ("a.md", "prose/x"), review="It is bad.\n\n## Result: FAIL")
        mark = FindingState.objects.get().fingerprint
        (root / note_path("a.md")).rename(root / note_path("b.md"))
        request = CarryRequest(note_path("a.md"), note_path("b.md"), "human:ana")
        carry_over_acceptances(request, corpus=open_corpus(root), now=LATER)

        dispose(root, mark)

        state = FindingState.objects.get(note_path=note_path("b.md"))
        assert state.state == DispositionState.FIXED
