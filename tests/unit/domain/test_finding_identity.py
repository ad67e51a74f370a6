"""A finding that comes again keeps its fingerprint; another one does not take it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.finding_identity import (
    KnownFinding,
    choose_fingerprints,
)
from review.domain.paths import fingerprint

NOTE_TEXT = """# Claims

A claim moves a job from queued to running in one guarded update, and counts the rows.
Two parents that claim at once cannot both win, because the second one moves no row.

> A **quoted** line that goes on \u201chere\u201d
> and on.

The word TODO stands here. And TODO again.
"""
PATHS = {"note_path": "kb/notes/claims.md", "gate_path": "kb/instructions/review-gates/prose/x.md"}
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


def known(quote: str, text: str, *, of: str = "") -> KnownFinding:
    return KnownFinding(of or fingerprint(**PATHS, quote=quote, text=text), quote, text)


def chosen(quote: str, text: str, *earlier: KnownFinding, note_text: str = NOTE_TEXT) -> str:
    reported = (KnownFinding("", quote, text),)
    (found,) = choose_fingerprints(**PATHS, note_text=note_text, reported=reported, earlier=earlier)
    return found


class TestChooseFingerprint:
    def test_a_first_finding_has_its_own(self):
        own = chosen("in one guarded update", "no source")

        assert own == fingerprint(**PATHS, quote="in one guarded update", text="no source")

    @pytest.mark.parametrize(
        ("earlier", "again"),
        [
            pytest.param(
                "in one guarded update",
                "from queued to running in one guarded update, and",
                id="longer",
            ),
            pytest.param(
                "A claim moves a job from queued to running in one guarded update",
                "guarded update",
                id="shorter",
            ),
            pytest.param(
                "from queued to running in one", "to running in one guarded", id="half-shared"
            ),
            pytest.param(
                "A **quoted** line that goes on",
                'a quoted line\nthat goes on "here" and on',
                id="markup",
            ),
            pytest.param(
                "A claim moves a job ... and counts the rows",
                "in one guarded update",
                id="shortened-with-dots",
            ),
        ],
    )
    def test_the_same_place_quoted_at_another_length_is_the_same_finding(self, earlier, again):
        before = known(earlier, "no source is given", of="seen")

        assert chosen(again, "the source is missing", before) == "seen"
        assert chosen(again, "it goes on for too long", before) != "seen"

    @pytest.mark.parametrize(
        ("earlier", "again"),
        [
            pytest.param("in one guarded update", "cannot both win", id="another-sentence"),
            pytest.param(
                "from queued to running in one",
                "in one guarded update, and counts",
                id="a-few-letters-shared",
            ),
            pytest.param("A claim moves a job from queued to running", "job", id="a-word-inside"),
            pytest.param("not in the note", "cannot both win", id="earlier-quote-is-gone"),
        ],
    )
    def test_another_place_is_another_finding(self, earlier, again):
        own = fingerprint(**PATHS, quote=again, text="worded quite otherwise")

        assert (
            chosen(again, "worded quite otherwise", known(earlier, "no source is given", of="seen"))
            == own
        )

    def test_the_place_shared_most_wins(self):
        wide = known("A claim moves a job from queued to running in one guarded", "x", of="wide")
        exact = known("one guarded update, and counts the rows", "y", of="exact")

        assert chosen("guarded update, and counts the rows", "z", wide, exact) == "exact"

    def test_an_earlier_fingerprint_of_the_same_words_comes_first(self):
        overlapping = known("running in one guarded update, and counts", "x", of="seen")
        same = known("in one guarded update", "y")

        assert chosen("in one guarded update", "z", overlapping, same) == same.fingerprint

    @pytest.mark.parametrize(
        ("earlier", "again"),
        [
            pytest.param("", "", id="neither-quotes"),
            pytest.param("", "cannot both win", id="only-the-new-one-quotes"),
            pytest.param("cannot both win", "", id="only-the-old-one-quotes"),
            pytest.param(
                "Two parents that claim at once can not both win",
                "Two parents that claim at once cannot both win",
                id="quoted-sentence-was-edited",
            ),
        ],
    )
    def test_nearly_the_same_text_is_the_same_finding(self, earlier, again):
        before = (
            "The term snapshot is used in the third section before the note has said what it means."
        )
        after = "The term snapshot is used in the third section before this note has said what it means."

        assert chosen(again, after, known(earlier, before, of="seen")) == "seen"

    def test_a_text_that_differs_in_more_is_another_finding(self):
        own = fingerprint(**PATHS, quote="", text="The term snapshot is undefined.")

        assert (
            chosen(
                "",
                "The term snapshot is undefined.",
                known("", "The term pair is undefined.", of="seen"),
            )
            == own
        )

    @pytest.mark.parametrize(
        ("before", "after", "is_same"),
        [
            ("The acronym KB is never spelled out.", "Nobody is told what KB means.", True),
            ("`guarded update` is not explained.", "The term “guarded update” is assumed.", True),
            ("The acronym KB is never spelled out.", "KB and ISO are never spelled out.", False),
            ("The title does not state the claim of this note.", "The title does not state a claim of this note.", True),
            ("The title states no claim of the note at all here.", "The lead states no claim of the note at all here.", False),
            ("The lead does not carry the point.", "The first paragraph misses it.", False),
        ],
    )  # fmt: skip
    def test_without_a_quote_what_is_named_stands_for_the_place(self, before, after, is_same):
        assert (chosen("", after, known("", before, of="seen")) == "seen") == is_same

    def test_the_same_words_about_two_places_are_two_findings(self):
        text = "This sentence names no source."
        own = fingerprint(**PATHS, quote="cannot both win", text=text)

        assert (
            chosen("cannot both win", text, known("in one guarded update", text, of="seen")) == own
        )

    def test_the_same_words_about_a_place_that_is_gone_are_another_finding(self):
        text = "The target of this link does not exist."
        own = fingerprint(**PATHS, quote="cannot both win", text=text)

        assert (
            chosen("cannot both win", text, known("[gone](gone.md) for long", text, of="seen"))
            == own
        )

    def test_a_long_list_of_earlier_findings_is_quick(self):
        earlier = [
            known(f"quote number {n} that is gone", f"finding number {n}") for n in range(500)
        ]
        started = time.process_time()

        chosen("in one guarded update", "worded otherwise", *earlier, note_text=NOTE_TEXT * 20)

        assert time.process_time() - started < 0.5

    @settings(deadline=None)
    @given(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=3))
    def test_is_total_and_gives_its_own_or_an_earlier_one(self, quote, text, note_text, earlier):
        findings = [known(one, other) for one, other in earlier]

        value = chosen(quote, text, *findings, note_text=note_text)

        own = fingerprint(**PATHS, quote=quote, text=text)
        assert value in {own, *(finding.fingerprint for finding in findings)}


class TestChooseFingerprints:
    WIDE = "A claim moves a job from queued to running in one guarded update, and counts the rows"

    def values(self, *quotes: str, earlier: list[KnownFinding]) -> tuple[str, ...]:
        reported = [KnownFinding("", quote, f"finding {quote}") for quote in quotes]
        return choose_fingerprints(**PATHS, note_text=NOTE_TEXT, reported=reported, earlier=earlier)

    def test_two_findings_do_not_share_an_earlier_fingerprint(self):
        first, second = self.values(
            "moves a job from queued", "counts the rows", earlier=[known(self.WIDE, "x", of="wide")]
        )

        assert first == "wide"
        assert second == fingerprint(**PATHS, quote="counts the rows", text="")

    def test_the_same_quote_keeps_its_fingerprint_from_an_overlapping_one(self):
        same = known("counts the rows", "x")

        values = self.values(
            "guarded update, and counts the rows", "counts the rows", earlier=[same]
        )

        assert values[1] == same.fingerprint
        assert values[0] != same.fingerprint

    def test_several_reports_of_one_earlier_finding_count_once(self):
        earlier = [known(self.WIDE, "x", of="wide"), known("counts the rows", "y", of="wide")]

        assert (
            self.values("in one guarded update", "and counts the rows", earlier=earlier)[1]
            != "wide"
        )

    def test_no_finding_has_no_fingerprint(self):
        assert self.values(earlier=[known(self.WIDE, "x")]) == ()
