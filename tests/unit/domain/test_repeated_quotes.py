"""Findings that quote the same words stay apart, from one review of a note to the next."""

from __future__ import annotations

import pytest

from review.domain.finding_identity import KnownFinding, choose_fingerprints
from review.protocol.findings import ReviewFinding
from review.protocol.quote_location import locate_findings, quote_lines
from review.vocabulary import Severity

PATHS = {"note_path": "kb/notes/a.md", "gate_path": "kb/instructions/review-gates/prose/x.md"}
WARN, FAIL = Severity.WARN, Severity.FAIL


def section(title: str, *lines: str) -> str:
    return f"## {title}\n\n" + "\n\n".join(lines or ("TBD",)) + "\n\n"


def note(*sections: str) -> str:
    return "# Plan\n\nSome words on the plan.\n\n" + "".join(sections)


class Reviews:
    """Reviews of one note, each held against all before it."""

    def __init__(self) -> None:
        self.known: list[KnownFinding] = []

    def add(self, text: str, *findings: tuple[str, str, Severity]) -> tuple[str, ...]:
        """Review `text`; gives the fingerprints of the findings (quote, text, severity)."""
        parsed = [
            ReviewFinding(severity, words, quote)
            for number, (quote, words, severity) in enumerate(findings, start=1)
        ]
        lines = locate_findings(text, parsed)
        reported = [
            KnownFinding(
                "",
                item.quote,
                item.text,
                item.severity,
                line,
                lines=quote_lines(text, item.quote),
            )
            for item, line in zip(parsed, lines, strict=True)
        ]
        values = choose_fingerprints(**PATHS, note_text=text, reported=reported, earlier=self.known)
        self.known = [
            *(
                KnownFinding(value, item.quote, item.text, item.severity, item.line, text)
                for value, item in zip(values, reported, strict=True)
            ),
            *self.known,
        ]
        return values


TBD = ("TBD", "this placeholder was never filled in", WARN)
SENTENCE = "The store meets ISO, SOC and HIPAA, and was the fastest of 2019."


def undefined(name: str) -> tuple[str, str, Severity]:
    return (SENTENCE, f"{name} is used and never expanded", WARN)


class TestOneReview:
    @pytest.mark.parametrize(
        ("text", "findings"),
        [
            pytest.param(
                note(section("Costs"), section("Risks"), section("Owners")),
                [TBD, TBD, TBD],
                id="a-quote-under-three-headings",
            ),
            pytest.param(
                note(SENTENCE),
                [undefined("ISO"), undefined("SOC"), undefined("HIPAA")],
                id="three-terms-of-one-sentence",
            ),
            pytest.param(
                note(SENTENCE),
                [(SENTENCE, "no source", WARN), (SENTENCE, "no source", FAIL)],
                id="two-severities-of-one-sentence",
            ),
            pytest.param(note(), [("", "too long", WARN), ("", "too long", FAIL)], id="no-quote"),
        ],
    )
    def test_each_finding_has_its_own_fingerprint_and_keeps_it(self, text, findings):
        reviews = Reviews()

        first = reviews.add(text, *findings)

        assert len(set(first)) == len(findings)
        assert reviews.add(text, *findings) == first
        assert reviews.add(text, *reversed(findings)) in (first, tuple(reversed(first)))


class TestEditedNote:
    def test_a_finding_added_above_does_not_shift_the_others(self):
        reviews = Reviews()
        costs, risks = reviews.add(note(section("Costs"), section("Risks")), TBD, TBD)

        text = note(section("Aims"), section("Costs"), section("Risks"))

        assert reviews.add(text, TBD, TBD, TBD)[1:] == (costs, risks)

    def test_a_finding_added_above_in_the_same_section_does_not_shift_the_others(self):
        reviews = Reviews()
        owner, date = reviews.add(note(section("Facts", "Owner: TBD", "Date: TBD")), TBD, TBD)

        text = note(section("Facts", "Budget: TBD", "Owner: TBD", "Date: TBD"))

        assert reviews.add(text, TBD, TBD, TBD)[1:] == (owner, date)

    def test_a_deleted_finding_does_not_shift_the_others(self):
        reviews = Reviews()
        costs, _risks, owners = reviews.add(
            note(section("Costs"), section("Risks"), section("Owners")), TBD, TBD, TBD
        )

        text = note(section("Costs"), section("Risks", "There are none."), section("Owners"))

        assert reviews.add(text, TBD, TBD) == (costs, owners)

    def test_sections_in_another_order_keep_theirs(self):
        reviews = Reviews()
        costs, risks = reviews.add(note(section("Costs"), section("Risks")), TBD, TBD)

        assert reviews.add(note(section("Risks"), section("Costs")), TBD, TBD) == (risks, costs)

    def test_a_section_of_another_name_keeps_its_finding(self):
        reviews = Reviews()
        costs, risks = reviews.add(note(section("Costs"), section("Risks")), TBD, TBD)

        assert reviews.add(note(section("Costs"), section("Dangers")), TBD, TBD) == (costs, risks)

    def test_a_quote_that_moved_under_another_heading_keeps_its_own(self):
        reviews = Reviews()
        (costs,) = reviews.add(note(section("Costs"), section("Risks", "None.")), TBD)

        text = note(section("Costs", "Five a month."), section("Risks", "None.", "TBD"))

        assert reviews.add(text, TBD) == (costs,)

    @pytest.mark.parametrize(
        ("sentence", "quote", "is_same"),
        [
            ("For teams of ten, the store is often quick enough.", "often quick enough", True),
            ("For teams of ten, it was rarely quick enough by day.", "rarely quick enough", False),
            ("For teams of ten, the log is often quick enough to read.", "to read", False),
            ("For teams of ten, the store is cheap. Often quick enough!", "Often quick", False),
        ],
        ids=["a-few-words-changed", "most-words-changed", "beside-it", "another-sentence"],
    )
    def test_a_few_quoted_words_keep_theirs_while_most_of_their_sentence_stays(
        self, sentence, quote, is_same
    ):
        reviews = Reviews()
        first = ("usually fast enough", "no figure supports the claim", WARN)
        then = (quote, "the claim has no figure", WARN)

        before = reviews.add(
            note("For teams of ten, the store is usually fast enough.\n\nMore."), first
        )

        assert (reviews.add(note(f"{sentence}\n\nMore."), then) == before) == is_same

    def test_the_same_words_at_another_place_are_new_while_the_old_ones_stand(self):
        reviews = Reviews()
        (costs,) = reviews.add(note(section("Costs"), section("Risks", "None.")), TBD)

        text = note(section("Costs"), section("Risks", "None.", "TBD"))
        under_risks = ("TBD", 'this placeholder under "Risks" was never filled in', WARN)

        assert reviews.add(text, under_risks) != (costs,)


class TestAnotherThing:
    @pytest.mark.parametrize(
        ("earlier", "again"),
        [
            pytest.param(undefined("ISO"), undefined("SOC"), id="another-acronym"),
            pytest.param(
                (SENTENCE, "the claim 'fastest' has no source", WARN),
                (SENTENCE, "the claim 'meets' has no source", WARN),
                id="another-word-in-marks",
            ),
            pytest.param(
                (SENTENCE, "the store is not introduced", WARN),
                (SENTENCE, "nobody says how the fastest was measured", WARN),
                id="another-word-of-the-quote",
            ),
            pytest.param((SENTENCE, "no source", WARN), (SENTENCE, "no source", FAIL), id="graver"),
            pytest.param(
                ("", "The term snapshot comes before its definition.", WARN),
                ("", "The term plan comes before its definition.", WARN),
                id="another-term-and-no-quote",
            ),
        ],
    )
    def test_is_another_finding(self, earlier, again):
        reviews = Reviews()
        text = note(SENTENCE, "\n\nA snapshot is a plan.\n")
        (first,) = reviews.add(text, earlier)

        assert reviews.add(text, again) != (first,)
        assert reviews.add(text, again, earlier)[1] == first

    @pytest.mark.parametrize(
        "again",
        [
            pytest.param((SENTENCE, "ISO is nowhere spelled out", WARN), id="named-again"),
            pytest.param((SENTENCE, "Say what the first acronym means.", WARN), id="unnamed"),
            pytest.param(
                (SENTENCE.removesuffix(" of 2019."), "expand ISO at its first use", WARN),
                id="quote-cut",
            ),
        ],
    )
    def test_worded_anew_about_the_same_quote_is_the_same_finding(self, again):
        reviews = Reviews()
        (first,) = reviews.add(note(SENTENCE), undefined("ISO"))

        assert reviews.add(note(SENTENCE), again) == (first,)


class TestSeverity:
    def test_a_milder_report_is_the_same_finding_and_a_graver_one_after_it_is_not(self):
        reviews = Reviews()
        fail, warn = (SENTENCE, "no source", FAIL), (SENTENCE, "no source", WARN)
        (first,) = reviews.add(note(SENTENCE), fail)

        assert reviews.add(note(SENTENCE), warn) == (first,)
        assert reviews.add(note(SENTENCE), fail) != (first,)

    def test_the_same_severity_is_likest(self):
        reviews = Reviews()
        fail, warn = (SENTENCE, "no source", FAIL), (SENTENCE, "no source", WARN)
        first = reviews.add(note(SENTENCE), fail, warn)

        assert reviews.add(note(SENTENCE), warn) == first[1:]
        assert reviews.add(note(SENTENCE), fail) == first[:1]


class TestSharedFingerprints:
    def test_of_findings_stored_earlier_the_likest_keeps_it(self):
        reviews = Reviews()
        text = note(SENTENCE)
        reviews.known = [
            KnownFinding("shared", *undefined(name), None, text) for name in ("ISO", "SOC")
        ]

        values = reviews.add(text, undefined("HIPAA"), undefined("SOC"), undefined("ISO"))

        assert values.count("shared") == 1
        assert "shared" in values[1:]
        assert len(set(values)) == 3
